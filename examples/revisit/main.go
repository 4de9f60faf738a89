// Command revisit prints changes in the news. It does not end. Front pages are fetched every
// half hour, articles more often if they were found changed.
//
//	go run ./examples/revisit news.crawl https://example.org/ https://example.com/
//
// It can be stopped with Ctrl-C, or killed; the same command continues, and remembers the
// pages that it has fetched.
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
		log.Fatal("usage: revisit DIR FRONTPAGE...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, crawler.Options{
		Identity: crawler.Identity{Token: "newswatch", Contact: "https://example.org/newswatch"},
		Dir:      os.Args[1],
		Seeds:    os.Args[2:],
	}, func(line string) { fmt.Println(line) })
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// article says when an article is fetched again: sooner if it was found changed, but not within
// an hour, and after a month at the latest.
var article = revisit.Rate{Mean: 24 * time.Hour, Least: time.Hour, Most: 30 * 24 * time.Hour}

// policy distinguishes front pages, which are the seeds, from the articles they link to.
func policy(v revisit.Visit) time.Duration {
	if v.Depth == 0 {
		return 30 * time.Minute
	}
	return article.Next(v)
}

// run calls tell for each article that is new, has another text, or is gone.
func run(ctx context.Context, opts crawler.Options, tell func(line string)) error {
	opts.Revisit = revisit.PolicyFunc(policy)
	opts.Depth = 1 // front pages, and the pages that they link to
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		at := p.Exchange.Started.UTC().Format("2006-01-02 15:04")
		switch change := p.Change(); {
		case p.Entry.Depth == 0: // not reported: a front page changes with each new article
		case p.Status == 404 || p.Status == 410:
			if before := p.Entry.Visits; before != nil && before.Last.Status != p.Status {
				tell(fmt.Sprint(at, " gone ", p.URL))
			}
		case change == crawler.ChangeNew || change == crawler.ChangeModified:
			tell(fmt.Sprint(at, " ", change, " ", p.URL, " ", p.Title()))
		}
		return nil
	}))
}
