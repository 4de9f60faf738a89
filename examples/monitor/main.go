// Command monitor prints which pages in the sitemaps of sites are new, modified or gone. A page
// is modified if its visible text differs. The command does not end.
//
//	go run ./examples/monitor monitor.crawl https://example.org/ https://example.com/
//
// The URLs of the command are watched, too. Sitemaps are fetched at intervals from an hour to a
// day, those that change often more often. A page is fetched when it appears in a sitemap, soon
// after its sitemap has a newer date (lastmod) for it, and once a week. A page that is removed
// from its sitemap is reported as gone when its site redirects or refuses the request for it. If
// the page comes back, it is new.
//
// If the command was stopped with Ctrl-C, or killed, the same command continues. It remembers the
// pages that it has fetched. After a kill a line may be printed twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/revisit"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: monitor DIRECTORY URL...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := monitor(ctx, crawler.Options{
		Identity: crawler.Identity{Token: "monitorbot", Contact: "https://example.org/monitorbot"},
		Dir:      os.Args[1],
		Seeds:    os.Args[2:],
	}, func(line string) { fmt.Println(line) })
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// monitor calls tell for each page that is new, has another text, or is gone. Pages of one site
// come one after the other, pages of different sites also at the same time.
func monitor(ctx context.Context, opts crawler.Options, tell func(line string)) error {
	opts.Sitemaps = crawler.SitemapsOnly
	opts.Revisit = revisit.Hinted{Else: revisit.Fixed{Every: 7 * 24 * time.Hour}, Least: time.Hour, Most: 24 * time.Hour}
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		at := p.Exchange.Started.UTC().Format("2006-01-02 15:04")
		switch change := p.Change(); {
		case change == crawler.ChangeNew || change == crawler.ChangeModified:
			tell(fmt.Sprint(at, " ", change, " ", p.URL))
		case isGone(p.Status) && p.Entry.Visits != nil && !isGone(p.Entry.Visits.Last.Status):
			tell(fmt.Sprint(at, " gone ", p.URL))
		}
		return nil
	}))
}

// isGone reports whether a status says that there is no page at a URL any more: it is a redirect
// or an error of the client.
func isGone(status int) bool { return status/100 == 3 || status/100 == 4 }
