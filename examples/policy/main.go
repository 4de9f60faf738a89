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
	"errors"
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
		return teach(p)
	}))
}

// rank makes the rank of a link its age in days. A link without a date keeps its rank, the
// depth, so that the main pages of a site are requested among the articles of the last days.
func rank(_ *crawler.Page, l *crawler.Link) bool {
	if m := dated.FindStringSubmatch(l.URL.Target()); m != nil {
		l.Tag = m[1] + "-" + m[2] + "-" + m[3]
	}
	if day, err := time.Parse(time.DateOnly, l.Tag); err == nil {
		l.Rank = uint8(min(254, max(0, time.Since(day).Hours()/24)))
	}
	if archive.MatchString(l.Text()) {
		l.Rank = 255
	}
	return true
}

// teach makes the first date that a page shows the tag of its links. If the page shows no date,
// its links get the tag of the page. The handler is called before Options.Links, so the tag
// decides the ranks of the links.
func teach(p *crawler.Page) error {
	doc, err := p.Doc()
	if err != nil {
		return err
	}
	day := doc.Find("time").AttrOr("datetime", "")
	if len(day) < len(time.DateOnly) || p.Directives.NoFollow {
		return nil
	}
	for _, l := range p.Links() {
		if !l.NoFollow {
			err = errors.Join(err, p.FollowLink(l, day[:len(time.DateOnly)]))
		}
	}
	return err
}
