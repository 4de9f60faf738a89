package content_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/content"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

func ExampleOf() {
	u, err := frontier.ParseURL("https://example.org/docs/")
	if err != nil {
		log.Fatal(err)
	}
	const page = `<title>Docs</title><h2>First steps</h2><p>Read the <a href="intro">introduction</a>.`
	c, err := content.Of([]byte(page), "text/html", u, content.Options{Whole: true, Markdown: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Title)
	fmt.Println(c.Markdown)
	// Output:
	// Docs
	// ## First steps
	//
	// Read the [introduction](https://example.org/docs/intro).
}

// This handler prints the main content of each page as Markdown.
func ExampleMarkdown() {
	handler := crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		text, err := content.Markdown(p)
		if errors.Is(err, content.ErrNoText) { // an image, for example
			return nil
		}
		fmt.Println(text)
		return err
	})
	page := crawltest.Page(new(testing.T), "https://example.org/docs/", `<h2>First steps</h2><ul><li>Read the <a href="intro">introduction</a>.</ul>`)
	if err := handler.Handle(context.Background(), page); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ## First steps
	//
	// - Read the [introduction](https://example.org/docs/intro).
}

func ExampleText() {
	page := crawltest.Page(new(testing.T), "https://example.org/docs/", `<h2>First steps</h2><p>Read the <a href="intro">introduction</a>.`)
	text, err := content.Text(page)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output:
	// First steps
	// Read the introduction.
}
