// Command policy crawls news sites, a hundred pages of each, and spends these pages on the newest
// articles: it requests new articles first, then older ones, and archives last.
//
//	go run ./examples/policy news.crawl https://example.org/ https://example.com/
//
// The tag of each URL is its date: the date in the URL, or else the date of the page on which the
// URL was found. Options.Links makes the date the rank of the URL. A rank orders the queue of
// one site. It does not make requests more frequent, and a queued URL keeps its rank.
//
// After a kill the same command continues: queue, ranks and tags are in the directory. A few
// pages may be printed twice.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: policy DIRECTORY URL...")
	}
	err := run(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "newsbot", Contact: "https://example.org/newsbot"},
		Seeds:    os.Args[2:],
		Dir:      os.Args[1],
		Budget:   crawler.Budget{MaxHostPages: 100},
	}, func(p *crawler.Page) { fmt.Println(p.URL, p.Title()) })
	if err != nil {
		log.Fatal(err)
	}
}

var (
	dated   = regexp.MustCompile(`/(\d{4})[/-](\d\d)[/-](\d\d)\b`)
	archive = regexp.MustCompile(`(?i)\b(archives?|older|previous)\b`)
)

// run calls tell for each page.
func run(ctx context.Context, opts crawler.Options, tell func(*crawler.Page)) error {
	opts.Links = rank
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		tell(p)
		return nil
	}))
}

// rank makes the rank of a link its age in days. The date of a link is the one in its URL, or
// else the first one that its page shows, or else that of the page. A link without a date keeps
// its rank, the depth, so that the main pages of a site are requested among the articles of the
// last days.
func rank(p *crawler.Page, l *crawler.Link) bool {
	if m := dated.FindStringSubmatch(l.URL.Target()); m != nil {
		l.Tag = m[1] + "-" + m[2] + "-" + m[3]
	} else if doc, err := p.Doc(); err == nil {
		if day := doc.Find("time").AttrOr("datetime", ""); len(day) >= len(time.DateOnly) {
			l.Tag = day[:len(time.DateOnly)]
		}
	}
	if day, err := time.Parse(time.DateOnly, l.Tag); err == nil {
		l.Rank = uint8(min(254, max(0, time.Since(day).Hours()/24)))
	}
	if archive.MatchString(l.Text()) {
		l.Rank = 255
	}
	return true
}
