// Command focused crawls pages about a topic, the most promising links first.
//
//	go run ./examples/focused https://example.org/ walnut oil
//
// The score of a link is the number of topic words in its URL and on the page with the link.
// The score orders the queue of each site; it does not make requests to a site more frequent.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: focused URL WORD...")
	}
	err := run(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "topicbot", Contact: "https://example.org/topicbot"},
		Seeds:    os.Args[1:2],
		Budget:   crawler.Budget{Limit: 100},
	}, os.Args[2:], func(p *crawler.Page, score int) { fmt.Println(score, p.URL, p.Title()) })
	if err != nil {
		log.Fatal(err)
	}
}

// run calls tell for each page with the number of words found on it.
func run(ctx context.Context, opts crawler.Options, words []string, tell func(p *crawler.Page, score int)) error {
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	opts.Links = func(p *crawler.Page, l *crawler.Link) bool {
		own := count([]byte(l.URL.Target()), words)
		if p.Status/100 != 2 || own == 0 && count(p.Text(), words) == 0 {
			l.Rank = 255 // last, and in the order in which they were found
			return true
		}
		l.Rank = uint8(200 - min(100, 20*own) - min(100, count(p.Text(), words)))
		return true
	}
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		tell(p, count(p.Text(), words))
		return nil
	}))
}

// count returns how often the words occur in a text, ignoring case.
func count(text []byte, words []string) (n int) {
	text = bytes.ToLower(text)
	for _, w := range words {
		n += bytes.Count(text, []byte(w))
	}
	return n
}
