// Command canonical prints each page of a site once, even if links to it have tracking
// parameters, session ids, or the page's name as a parameter.
//
//	go run ./examples/canonical https://example.org/
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

func main() {
	err := run(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "oncebot", Contact: "https://example.org/oncebot"},
		Seeds:    os.Args[1:],
		Budget:   crawler.Budget{Limit: 1000},
	}, func(u frontier.URL) { fmt.Println(u) })
	if err != nil {
		log.Fatal(err)
	}
}

// run calls tell for each page that does not name another page as its original (rel=canonical).
func run(ctx context.Context, opts crawler.Options, tell func(frontier.URL)) error {
	opts.Rewrite = func(u frontier.URL) frontier.URL { return withoutIndex(crawler.StripTracking(u)) }
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		if p.Status != 200 {
			return nil
		}
		doc, err := p.Doc()
		if err != nil {
			return err
		}
		if ref, has := doc.Find(`link[rel="canonical"]`).Attr("href"); has {
			original, err := p.Resolve(ref)
			if err == nil && original.Key() != p.URL.Key() {
				return p.Follow(ref) // tell is called when that page is visited
			}
		}
		tell(p.URL)
		return nil
	}))
}

// withoutIndex removes index.html from the end of a URL. This is right only for sites on which
// / and /index.html are the same page.
func withoutIndex(u frontier.URL) frontier.URL {
	path, isIndex := strings.CutSuffix(u.Target(), "/index.html")
	if !isIndex {
		return u
	}
	directory, err := frontier.ParseURL(string(u.Site()) + path + "/")
	if err != nil {
		return u
	}
	return directory
}
