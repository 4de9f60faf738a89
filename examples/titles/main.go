// Command titles prints the titles of a site's pages.
//
//	go run ./examples/titles https://example.org/
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
		Seeds:    os.Args[1:],
		Budget:   crawler.Budget{Limit: 50},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		fmt.Println(p.Status, p.URL, p.Title())
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	if s := c.Summary(); s.Fetched == 0 {
		log.Fatal(s)
	}
}
