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

// parse returns the book of a page that a list has named, and follows the links of the page. It
// gives each link a tag, because otherwise the link would have the tag of this page.
func parse(ctx context.Context, p *crawler.Page) ([]book, error) {
	err := errors.Join(p.FollowAll("a[rel=item]", "book"), p.FollowAll("a:not([rel=item])", ""))
	if err != nil || p.Entry.Tag != "book" || p.Status != 200 {
		return nil, err
	}
	doc, err := p.Doc()
	if err != nil {
		return nil, err
	}
	return []book{{p.URL.String(), p.Title(), doc.Find(".price").First().Text()}}, nil
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
