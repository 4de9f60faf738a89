package postgres_test

import (
	"context"
	"errors"
	"log"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// Each machine runs this program, with a directory of its own. If its session is over, the node
// starts again.
func Example() {
	for {
		err := crawlOnce()
		if !errors.Is(err, postgres.ErrSession) {
			if err != nil {
				log.Print(err)
			}
			return
		}
	}
}

func crawlOnce() error {
	state, err := postgres.New("postgres://crawler@db.example.org/news")
	if err != nil {
		return err
	}
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "newsbot", Contact: "https://example.org/newsbot"},
		Seeds:    []string{"https://news.example.org/"},
		Dir:      "node1.crawl",
		State:    state,
	})
	if err != nil {
		return err
	}
	return c.Run(context.Background(), nil)
}

// New accepts a connection string of PostgreSQL, as a URL or as words.
func ExampleNew() {
	if _, err := postgres.New("host=db.example.org dbname=news"); err != nil {
		log.Print(err)
	}
}
