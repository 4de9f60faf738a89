// Command linkcheck prints the broken links of a site, including links to other sites, which
// it requests with HEAD.
//
//	go run ./examples/linkcheck https://example.org/
//
// It exits with 1 if there are any broken links. main_test.go shows how to test a job with
// crawltest: without a network, without waiting for pauses, and with assertions on the
// requests. TestParse of examples/catalogue shows how to test the handling of one page without
// a crawl.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

func main() {
	broken, err := check(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "linkbot", Contact: "https://example.org/linkbot"},
		Seeds:    os.Args[1:],
	})
	for _, b := range broken {
		fmt.Println(b)
	}
	if err != nil {
		log.Fatal(err)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}

// A link is a broken link, on the first page that has it.
type link struct {
	on, to, why string
}

func (l link) String() string {
	if l.on == "" {
		return fmt.Sprintf("%s: %s", l.to, l.why)
	}
	return fmt.Sprintf("%s, on %s: %s", l.to, l.on, l.why)
}

// everywhere is the scope of all URLs. The embedded scope is that of the site whose links are
// checked.
type everywhere struct{ crawler.Scope }

func (everywhere) Contains(frontier.Entry) bool { return true }

// check crawls and returns the broken links. Links that robots.txt forbids are not broken.
func check(ctx context.Context, opts crawler.Options) (broken []link, err error) {
	var mu sync.Mutex // sites are visited concurrently
	note := func(l link) {
		mu.Lock()
		defer mu.Unlock()
		broken = append(broken, l)
	}
	opts.OnSkip = func(s crawler.Skip) {
		if s.Code == frontier.Failed || s.Code == frontier.SiteDead {
			note(link{s.Via, s.URL.String(), s.Detail})
		}
	}
	site := everywhere{crawler.SameHost()}
	opts.Scope = site
	opts.Links = func(p *crawler.Page, l *crawler.Link) bool {
		l.Head = !site.Scope.Contains(frontier.Entry{URL: l.URL})
		return site.Scope.Contains(p.Entry)
	}
	c, err := crawler.New(opts)
	if err != nil {
		return nil, err
	}
	err = c.Run(ctx, crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if p.Status >= 400 {
			note(link{p.Entry.Via, p.URL.String(), fmt.Sprint("status ", p.Status)})
		}
		for _, bad := range p.Broken() {
			note(link{p.URL.String(), bad.Raw, bad.Err.Error()})
		}
		return nil
	}))
	if s := c.Summary(); err == nil && s.Fetched == 0 {
		err = fmt.Errorf("nothing was fetched: %s", s)
	}
	return broken, err
}
