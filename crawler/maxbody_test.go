package crawler_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Options.MaxBody can decide by the header how much of a body is read. The archive records that the
// body was cut.
func TestAHeaderDecidesHowMuchIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/film"><a href="/short"><a href="/gone"><a href="/packed"><a href="/end">`).
			File("/film", "video/mp4", strings.Repeat("x", 100_000)).File("/short", "video/mp4", "tiny").
			Bomb("/packed", 1<<20).Status("/gone", 404).Page("/end", strings.Repeat("y", 5000))
		dir, calls := filepath.Join(t.TempDir(), "crawl"), atomic.Int32{}
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Dir: dir, Seeds: []string{"http://a.example/"},
			Wire: crawler.Wire{Network: w, MaxSize: 50_000},
			Hooks: crawler.Hooks{MaxBody: func(x *fetch.Exchange) int64 {
				calls.Add(1)
				switch {
				case x.URL.Target() == "/packed":
					return 0
				case x.Header.Get("Content-Type") == "video/mp4":
					return 16
				}
				return 1 << 40
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[string]int{}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			if sizes[p.URL.Target()] = len(p.Body); (p.Truncated == "length") != (p.URL.Target() == "/film" || p.URL.Target() == "/packed") {
				t.Errorf("%s: %q", p.URL, p.Truncated)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for target, want := range map[string]int{"/film": 16, "/short": 4, "/packed": 0, "/gone": 0, "/end": 5000} {
			if got, ok := sizes[target]; got != want || !ok {
				t.Errorf("%s: %d bytes, want %d", target, got, want)
			}
		}
		if n := calls.Load(); n != 5 {
			t.Errorf("%d calls, want one for each answer with status 200", n)
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Error(err)
		}
		w.AssertDelay("http://a.example", time.Second)
		w.AssertPolite()
	})
}

// A panic in MaxBody ends the crawl without loss.
func TestAPanicInMaxBodyEndsTheCrawl(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">`).Page("/1", "one")
		dir, bad := filepath.Join(t.TempDir(), "crawl"), true
		run := func() error {
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Dir: dir, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w},
				Hooks: crawler.Hooks{MaxBody: func(x *fetch.Exchange) int64 {
					if bad && x.URL.Target() == "/1" {
						panic("oops")
					}
					return 100
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return c.Run(t.Context(), nil)
		}
		var panicked *crawler.PanicError
		if err := run(); !errors.As(err, &panicked) || panicked.Where != "MaxBody" {
			t.Errorf("%v", err)
		}
		bad = false
		if err := run(); err != nil {
			t.Error(err)
		}
		if n := len(records(t, dir)); n != 2 || w.Fetched("http://a.example/1") != 2 {
			t.Errorf("%d pages, %d requests", n, w.Fetched("http://a.example/1"))
		}
		w.AssertPolite()
	})
}
