package crawler_test

import (
	"context"
	"fmt"
	"log"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// Which URLs are in the scopes of this package. New passes the seeds to the scope.
func ExampleScope() {
	for _, s := range []struct {
		name  string
		scope crawler.Scope
	}{
		{"host", crawler.SameHost()}, {"domain", crawler.SameDomain()}, {"prefix", crawler.SamePrefix()},
		{"seeds", crawler.SeedsOnly()}, {"anywhere", crawler.Anywhere()},
	} {
		seed, _ := frontier.ParseURL("https://www.example.org/docs/")
		s.scope.Admit(seed)
		fmt.Print(s.name, ":")
		for _, raw := range []string{"https://www.example.org/docs/a", "https://www.example.org/b", "https://shop.example.org/", "https://example.net/"} {
			u, _ := frontier.ParseURL(raw)
			fmt.Print(" ", s.scope.Contains(frontier.Entry{URL: u}))
		}
		fmt.Println()
	}
	// Output:
	// host: true true false false
	// domain: true true true false
	// prefix: true false false false
	// seeds: false false false false
	// anywhere: true true true true
}

// With Together as Options.Same, URLs count as one page if they differ only in the order of the
// query or in the name of the index page.
func ExampleTogether() {
	same := crawler.Together(crawler.SortQuery, crawler.StripIndex)
	u, err := frontier.ParseURL("https://example.org/a/index.html?b=2&a=1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(same(u))
	// Output: https://example.org/a/?a=1&b=2
}

// A program that gets the identity from flags can check it early. New checks it, too.
func ExampleIdentity_Check() {
	id := crawler.Identity{Token: "titlebot", Contact: "me@example.org"}
	fmt.Println(id.From(), id.Check())
	fmt.Println(crawler.Identity{Token: "titlebot"}.Check())
	// Output:
	// me@example.org <nil>
	// crawler: Identity.Contact: "" is neither an http(s) URL nor an e-mail address: site owners must be able to reach you
}

// A handler can read the other URLs of a page, and how it has changed.
func ExamplePage() {
	site := library()
	defer site.Close()
	c, err := crawler.New(optionsFor(site, ""))
	if err != nil {
		log.Fatal(err)
	}
	handler := crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if p.NotModified() {
			return nil // the page has not changed since the previous crawl
		}
		if canonical := p.Canonical(); !canonical.IsZero() {
			fmt.Println("also", canonical)
		}
		if og := p.OpenGraphURL(); !og.IsZero() {
			fmt.Println("also", og)
		}
		if p.URL.Target() == "/1" {
			fmt.Println(p.Title(), "with text:", p.TextDigest() != "")
		}
		return nil
	})
	if err := c.Run(context.Background(), handler); err != nil {
		log.Fatal(err)
	}
	fmt.Println("Page.Change is one of", crawler.ChangeClasses())
	// Output:
	// Book 1 with text: true
	// Page.Change is one of [new modified same-text not-modified]
}
