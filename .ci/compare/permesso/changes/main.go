// Command changes prints which pages of the sitemaps of a site are new, modified or gone since
// an earlier crawl.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: changes NEW-DIRECTORY OLD-DIRECTORY URL...")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

// run crawls into dir. If there is no crawl in old, all pages are new.
func run(ctx context.Context, dir, old string, seeds []string) error {
	opts := crawler.Options{
		Identity: crawler.Identity{Token: "changesbot", Contact: "https://example.org/changesbot"},
		Seeds:    seeds,
		Dir:      dir,
	}
	opts.Sitemaps = crawler.SitemapsOnly
	before, err := pages(ctx, old)
	switch {
	case err == nil:
		opts.Previous = old
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	err = c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		switch url := p.URL.String(); {
		case p.Status == http.StatusOK && before[url] && p.Change() == crawler.ChangeModified:
			fmt.Println("modified", url)
		case p.Status == http.StatusOK && !before[url]:
			fmt.Println("new", url)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	now, err := pages(ctx, dir)
	for url := range before {
		if err == nil && !now[url] {
			fmt.Println("gone", url)
		}
	}
	return err
}

// pages returns the URLs of the pages of a crawl.
func pages(ctx context.Context, dir string) (map[string]bool, error) {
	all := map[string]bool{}
	for p, err := range crawler.ReadPages(ctx, dir) {
		if err != nil {
			return nil, err
		}
		if p.Status == http.StatusOK && p.Entry.Page() {
			all[p.URL.String()] = true
		}
	}
	return all, nil
}
