// Command lines keeps the pages of a crawl as JSON lines.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/crawler"
)

type row struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	Title  string `json:"title"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "linesbot", Contact: "https://example.org/linesbot"},
		Seeds:    []string{"http://shop.test/"},
		Dir:      "crawl",
	})
	if err != nil {
		return err
	}
	f, err := os.OpenFile("items.jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	for rows, err := range crawler.Batches(ctx, c, 100, 0, parse) {
		var b bytes.Buffer
		for _, r := range rows {
			err = errors.Join(err, json.NewEncoder(&b).Encode(r))
		}
		if err == nil {
			_, err = f.Write(b.Bytes())
		}
		if err != nil {
			return err
		}
	}
	return f.Close()
}

func parse(_ context.Context, p *crawler.Page) ([]row, error) {
	return []row{{p.URL.String(), p.Status, p.Title()}}, nil
}
