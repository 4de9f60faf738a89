package crawler_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/permesso-crawler/permesso/crawler"
)

// library returns a server with a small site for the examples.
func library() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /cellar")
		case "/":
			io.WriteString(w, `<!doctype html><a href=/1>1</a> <a href=/2>2</a> <a href=/cellar>cellar</a>`)
		default:
			fmt.Fprintf(w, `<!doctype html><title>Book %s</title>`, r.URL.Path[1:])
		}
	}))
}

// The rows are stored in batches. If Options.Dir names a directory, the next run after a kill
// continues without losing a row.
func ExampleBatches() {
	site := library()
	defer site.Close()
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
		Seeds:    []string{site.URL},
		Wire:     crawler.Wire{AllowPrivate: true}, Pace: crawler.Pace{Delay: -1}, // the site of this example is on this machine
	})
	if err != nil {
		log.Fatal(err)
	}
	type book struct{ Title string }
	parse := func(ctx context.Context, p *crawler.Page) ([]book, error) {
		if p.Title() == "" {
			return nil, nil
		}
		return []book{{p.Title()}}, nil
	}
	for books, err := range crawler.Batches(context.Background(), c, 100, 0, parse) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("insert", len(books), "books")
	}
	// Output: insert 2 books
}

// Pages runs a crawl in a loop over its pages.
func ExampleCrawler_Pages() {
	site := library()
	defer site.Close()
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
		Seeds:    []string{site.URL},
		Wire:     crawler.Wire{AllowPrivate: true}, Pace: crawler.Pace{Delay: -1}, // the site of this example is on this machine
	})
	if err != nil {
		log.Fatal(err)
	}
	for p, err := range c.Pages(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s %q\n", p.Status, p.URL.Target(), p.Title())
	}
	// Unordered output:
	// 200 / ""
	// 200 /1 "Book 1"
	// 200 /2 "Book 2"
}
