package crawler_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

type contextT = context.Context

var testIdentity = crawler.Identity{Token: "benchbot", Contact: "https://example.org/benchbot"}

// crawl runs a crawl of w from the seeds to its end. It returns the sorted URLs of the pages that
// the handler got.
func crawl(t *testing.T, w *crawltest.Web, change func(*crawler.Options), seeds ...string) ([]string, crawler.Summary) {
	t.Helper()
	opts := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}}
	if change != nil {
		change(&opts)
	}
	c, err := crawler.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var pages []string
	err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		mu.Lock()
		defer mu.Unlock()
		pages = append(pages, p.URL.String())
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pages)
	return pages, c.Summary()
}

func wantPages(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("pages:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestCrawlFollowsLinksPolitely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nDisallow: /private/").
			Page("/", `<a href="/about">x</a> <a href="/private/x">y</a> <a href="http://b.example/">z</a> <a href="about#top">x</a>`).
			Page("/about", "<title>About</title>")
		w.Site("http://b.example").Page("/", "")
		pages, sum := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/about")
		w.AssertPolite()
		w.AssertFetched("http://a.example/robots.txt", "http://a.example/", "http://a.example/about")
		w.AssertNeverFetched("http://a.example/private/x", "http://b.example/")
		w.AssertDelay("", time.Second)
		if sum.SkippedURLs[frontier.RobotsDisallowed] != 1 || sum.SkippedLinks[frontier.OutOfScope] != 1 || sum.End != crawler.EndDone {
			t.Errorf("summary: %+v", sum)
		}
	})
}
