package crawltest_test

import (
	"context"
	"fmt"
	"net/http"
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

// job crawls w from seed, and returns the sorted results of f for the pages.
func job(t *testing.T, w *crawltest.Web, seed string, f func(*crawler.Page) string) []string {
	t.Helper()
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "jobbot", Contact: "https://example.org/jobbot"},
		Seeds:    []string{seed}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs(), MaxSize: 1 << 20}, Budget: crawler.Budget{Patience: frontier.Forever, Limit: 400},
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var found []string
	err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		mu.Lock()
		defer mu.Unlock()
		if one := f(p); one != "" {
			found = append(found, one)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// This job looks for dead links, on a site that is slow, sometimes fails, and requires pauses.
func TestAJobThatLooksForDeadLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("shop.example").Latency(3*time.Second).
			Robots("User-agent: *\nDisallow: /cart\nCrawl-delay: 10").
			Page("/", `<a href="/gone">x</a><a href="/busy">x</a><a href="/cart">x</a><a href="/old">x</a><link rel=stylesheet href="/x.css">`).
			Status("/gone", http.StatusGone).
			Flaky("/busy", "at last", "3600", http.StatusTooManyRequests, http.StatusServiceUnavailable).
			Redirect("/old", "/").File("/x.css", "text/css", "p {}")
		began := time.Now()
		dead := job(t, w, "http://shop.example/", func(p *crawler.Page) string {
			if p.Status < 400 {
				return ""
			}
			return fmt.Sprint(p.URL.Target(), " ", p.Status)
		})
		if want := []string{"/gone 410"}; !slices.Equal(dead, want) {
			t.Errorf("%q, want %q", dead, want)
		}
		if took := time.Since(began); took < 2*time.Hour {
			t.Errorf("Retry-After was not kept: %v", took)
		}
		w.AssertPolite()
		w.AssertDelay("shop.example", 10*time.Second)
		w.AssertFetched("http://shop.example", "HTTP://Shop.Example:80/gone")
		w.AssertNeverFetched("http://shop.example/cart", "http://shop.example/x.css")
	})
}

// This job reads all pages of a site with decompression bombs.
func TestAJobThatMeetsBombs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("Sitemap: /sitemap.xml.gz").SitemapBomb("/sitemap.xml.gz", "/page/", 300).
			Page("/", `<a href="/gzip">x</a><a href="/br">x</a><a href="/zstd">x</a><a href="/both">x</a><a href="/default">x</a>`).
			Bomb("/gzip", 8<<20, "gzip").Bomb("/br", 8<<20, "br").Bomb("/zstd", 8<<20, "zstd").Bomb("/both", 8<<20, "br", "gzip").Bomb("/default", 8<<20)
		cut := job(t, w, "http://a.example/", func(p *crawler.Page) string {
			if p.Truncated == "" {
				return ""
			}
			return fmt.Sprint(p.URL.Target(), " ", p.Truncated, " ", len(p.Body), " ", p.Header.Get("Content-Encoding"))
		})
		want := []string{"/both length 1048576 br, gzip", "/br length 1048576 br", "/default length 1048576 gzip", "/gzip length 1048576 gzip", "/zstd length 1048576 zstd"}
		if !slices.Equal(cut, want) {
			t.Errorf("%q, want %q", cut, want)
		}
		if n := len(w.Log()); n != 308 || w.Fetched("http://a.example/both") != 1 {
			t.Errorf("%d requests: what became of the sitemap?", n)
		}
		w.AssertPolite()
	})
}

// This job crawls a site with TLS and HTTP/2, which has an endless space of URLs.
func TestAJobThatMeetsAMaze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").HTTP2().Page("/", `<a href="/maze">x</a><a href="/about">x</a>`).
			Page("/about", "<title>About</title>").Trap("/maze", 3)
		titles := job(t, w, "https://a.example/", func(p *crawler.Page) string {
			if strings.HasPrefix(p.URL.Target(), "/maze") {
				return ""
			}
			return p.Exchange.Proto + " " + p.URL.Target() + " " + p.Title()
		})
		if want := []string{"h2 / ", "h2 /about About"}; !slices.Equal(titles, want) {
			t.Errorf("%q, want %q", titles, want)
		}
		if n := len(w.Log()); n < 400 {
			t.Errorf("the maze ends after %d requests", n)
		}
		w.AssertPolite()
		w.AssertDelay("https://a.example", time.Second)
	})
}
