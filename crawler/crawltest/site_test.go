package crawltest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// crawled crawls w from one seed to its end. It returns the source of each page, and the protocols
// that were used.
func crawled(t *testing.T, w *crawltest.Web, seed string, limit int) (pages, protos []string) {
	t.Helper()
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"},
		Seeds:    []string{seed}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Budget: crawler.Budget{Limit: limit},
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		mu.Lock()
		defer mu.Unlock()
		pages, protos = append(pages, p.URL.Target()), append(protos, p.Exchange.Proto)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return pages, protos
}

// A calendar has no end.
func TestACalendarHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/cal">cal</a> <a href="/cal/x">x</a> <a href="/cal?month=May">May</a>`).Calendar("/cal")
		pages, _ := crawled(t, w, "http://a.example/", 50)
		for _, want := range []string{"/cal", "/cal?month=1999-12", "/cal?month=2000-02", "/cal?month=1999-01", "/cal?month=2001-01"} {
			if !slices.Contains(pages, want) {
				t.Errorf("%s is not among %q", want, pages)
			}
		}
		if len(pages) != 52 { // 52, because two pages have status 404
			t.Errorf("%d pages", len(pages))
		}
		w.AssertPolite()
	})
}

// A site with HTTP2 uses HTTP/2. Another site at the same address does not.
func TestSitesSpeakHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://two.example").HTTP2().Addr("16.1.2.3").Robots("User-agent: *\nDisallow: /no").Page("/", `<a href="/1">1</a> <a href="/no">no</a>`).Page("/1", "")
		w.Site("https://one.example").Addr("16.1.2.3").Page("/", "")
		if pages, protos := crawled(t, w, "https://two.example/", 0); !slices.Equal(protos, []string{"h2", "h2"}) {
			t.Errorf("%q by %q", pages, protos)
		}
		if pages, protos := crawled(t, w, "https://one.example/", 0); !slices.Equal(protos, []string{"http/1.1"}) {
			t.Errorf("%q by %q", pages, protos)
		}
		w.AssertPolite()
		w.AssertNeverFetched("https://two.example/no")
	})
}
