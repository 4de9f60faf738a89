package crawler_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// The scope of one host, limited to its pages in English.
func ExampleBoth() {
	english := crawler.ScopeFunc(func(e frontier.Entry) bool { return strings.HasPrefix(e.URL.Target(), "/en/") })
	scope := crawler.Both(crawler.SameHost(), english)
	root, _ := frontier.ParseURL("https://example.org/")
	scope.Admit(root) // New does this for each seed
	for _, raw := range []string{"https://example.org/en/a", "https://example.org/de/a", "https://elsewhere.example/en/a"} {
		u, _ := frontier.ParseURL(raw)
		fmt.Println(u, scope.Contains(frontier.Entry{URL: u}))
	}
	// Output:
	// https://example.org/en/a true
	// https://example.org/de/a false
	// https://elsewhere.example/en/a false
}

// With StripTracking as Options.Rewrite a page is requested once, even if links to it differ in
// tracking parameters.
func ExampleStripTracking() {
	u, _ := frontier.ParseURL("https://example.org/a?id=7&utm_source=letter&fbclid=x")
	fmt.Println(crawler.StripTracking(u))
	// Output: https://example.org/a?id=7
}

// Left yields the URLs that were not fetched, each with the reason.
func ExampleCrawler_Left() {
	site := library()
	defer site.Close()
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
		Seeds:    []string{site.URL},
		Budget:   crawler.Budget{Limit: 2},
		Wire:     crawler.Wire{AllowPrivate: true}, Pace: crawler.Pace{Delay: crawler.NoDelay}, // the site of this example is on this machine
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	for s, err := range c.Left() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.URL.Target(), s.Code)
	}
	// Output:
	// /2 limit
	// /cellar limit
}

// ReadSeeds reads the seeds of a file, and reports invalid lines by their numbers.
func ExampleReadSeeds() {
	file := "# first\nexample.org\nhttps://example.org/list\tlist\nnot a seed\n"
	seeds, bad, err := crawler.ReadSeeds(strings.NewReader(file), "seeds.txt")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", seeds)
	for _, b := range bad {
		fmt.Println(b.File, b.Line)
	}
	// Output:
	// ["example.org" "https://example.org/list\tlist"]
	// seeds.txt 4
}

// An opt-out list names sites and URLs that get no request. Its method Why is a function for
// Options.OptOut.
func ExampleReadOptOutList() {
	list, err := crawler.ReadOptOutList(strings.NewReader("example.org # asked us to\nhttps://example.net/~joe/\n"), "opt-out.txt")
	if err != nil {
		log.Fatal(err)
	}
	for _, raw := range []string{"https://www.example.org/", "https://example.net/~joe/x", "https://example.net/"} {
		u, _ := frontier.ParseURL(raw)
		fmt.Printf("%s %q\n", u, list.Why(u))
	}
	// Output:
	// https://www.example.org/ "opt-out.txt:1: example.org"
	// https://example.net/~joe/x "opt-out.txt:2: https://example.net/~joe/"
	// https://example.net/ ""
}

// Settings can be set from texts, for instance from flags.
func ExampleOptions_Settings() {
	var o crawler.Options
	for _, s := range o.Settings() {
		if s.Name == "delay" {
			fmt.Println(s.Name, s.Value, s.Larger)
			if err := s.Value.Set("5s"); err != nil {
				log.Fatal(err)
			}
		}
	}
	fmt.Println(o.Delay)
	// Output:
	// delay 1s tighter
	// 5s
}
