// Command sitemap lists the pages that a site's sitemaps name, with their titles. It follows
// no links.
//
//	go run ./examples/sitemap https://example.org/
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	err := list(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "mapbot", Contact: "https://example.org/mapbot"},
		Seeds:    os.Args[1:],
	}, func(line string) { fmt.Println(line) })
	if err != nil {
		log.Fatal(err)
	}
}

// list calls tell for each page in the sitemaps that robots.txt names. Pages of one site come
// one after the other, pages of different sites also at the same time. If a site's robots.txt
// names no sitemap, only its seed is fetched.
func list(ctx context.Context, opts crawler.Options, tell func(line string)) error {
	opts.Sitemaps = crawler.SitemapsOnly
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	err = c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		if p.Status == 200 {
			tell(fmt.Sprintf("%s\t%s\tin %s", p.URL, p.Title(), p.Entry.Via))
		}
		return nil
	}))
	if s := c.Summary(); err == nil && s.Pages == 0 {
		err = fmt.Errorf("nothing was fetched: %s", s)
	}
	return err
}
