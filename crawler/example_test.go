package crawler_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

func Example() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
		Seeds:    []string{"https://example.org/"},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		fmt.Println(p.URL, p.Title())
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	if s := c.Summary(); s.Fetched == 0 {
		log.Fatal(s)
	}
}

// A crawl in a directory survives a kill: the same program resumes it. The first interrupt stops it
// gracefully.
func ExampleCrawler_Stop() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
		Seeds:    []string{"https://example.org/"},
		Dir:      "example.crawl",
	})
	if err != nil {
		log.Fatal(err)
	}
	interrupted, forget := signal.NotifyContext(context.Background(), os.Interrupt)
	defer forget()
	context.AfterFunc(interrupted, c.Stop)
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Summary().End)
}

// A handler may parse a page as a goquery document, follow URLs that are not links, and stop the
// crawl.
func ExampleHandlerFunc() {
	h := crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if p.Status == 404 {
			return nil
		}
		doc, err := p.Doc()
		if err != nil {
			return err
		}
		if next, ok := doc.Find("[data-next]").Attr("data-next"); ok {
			if err := p.Follow(next); err != nil {
				return err
			}
		}
		if doc.Find("h1").Text() == "The end" {
			return crawler.ErrStop
		}
		return nil
	})
	_ = h
}

func ExampleIdentity_UserAgent() {
	id := crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"}
	fmt.Println(id.UserAgent())
	// Output: titlebot (+https://example.org/titlebot) permesso/0.1.0
}

// A job is tested with a web in memory, in virtual time.
func TestExampleOfATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nDisallow: /private/\nCrawl-delay: 5").
			Page("/", `<a href="/about">about</a> <a href="/private/x">private</a>`).
			Page("/about", "<title>About</title>")
		c, err := crawler.New(crawler.Options{
			Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
			Seeds:    []string{"http://a.example/"},
			Wire:     crawler.Wire{Network: w},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		w.AssertPolite()
		w.AssertFetched("http://a.example/about")
		w.AssertNeverFetched("http://a.example/private/x")
	})
}
