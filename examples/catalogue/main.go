// Command catalogue writes the books of a shop as CSV and JSON lines. The pages of books are
// those to which links with rel=item lead.
//
//	go run ./examples/catalogue books https://shop.example/
//
// After a kill the same command continues: no book is missing, some may be written twice.
package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/crawler"
)

type book struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Price string `json:"price,omitempty"`
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: catalogue DIRECTORY URL...")
	}
	dir := os.Args[1]
	err := run(context.Background(), dir, crawler.Options{
		Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
		Seeds:    os.Args[2:],
		Dir:      filepath.Join(dir, "crawl"),
	})
	if err != nil {
		log.Fatal(err)
	}
}

// run appends the books that a crawl finds to two files in dir.
func run(ctx context.Context, dir string, opts crawler.Options) error {
	opts.Sitemaps = crawler.SitemapsNone // a book that is found in a sitemap may be fetched before the list that gives it its tag
	c, err := crawler.New(opts)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	var files [2]*os.File
	for i, name := range []string{"books.csv", "books.jsonl"} {
		if files[i], err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
			return err
		}
		defer files[i].Close()
	}
	for books, err := range crawler.Batches(ctx, c, 100, 0, parse) {
		if err == nil {
			err = write(books, files[0], files[1])
		}
		if err != nil {
			return err // these books are not lost: the next run delivers them again
		}
	}
	return errors.Join(files[0].Close(), files[1].Close())
}

// parse returns the books of a page, and follows its links. It gives each link a tag, because
// otherwise the link would have the tag of this page.
func parse(ctx context.Context, p *crawler.Page) (books []book, err error) {
	for _, l := range p.Links() {
		tag := map[bool]string{true: "book"}[l.Rel == "item"]
		if !l.NoFollow {
			err = errors.Join(err, p.FollowLink(l, tag))
		}
	}
	pages := crawler.Tags{
		"": nil, // a page without a tag is a list: its links are already followed
		"book": crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			doc, err := p.Doc()
			if err == nil && p.Status == 200 {
				books = append(books, book{p.URL.String(), p.Title(), doc.Find(".price").First().Text()})
			}
			return err
		}),
	}
	err = errors.Join(err, pages.Handle(ctx, p))
	return books, err
}

func write(books []book, table, lines io.Writer) error {
	rows, objects := csv.NewWriter(table), json.NewEncoder(lines)
	var err error
	for _, b := range books {
		err = errors.Join(err, rows.Write([]string{b.URL, b.Title, b.Price}), objects.Encode(b))
	}
	rows.Flush()
	return errors.Join(err, rows.Error())
}
