package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"go.uber.org/goleak"
)

// A wayIn is a way to run a crawl.
type wayIn struct {
	run   func(context.Context, *crawler.Crawler, func(*crawler.Page) error) error
	fails bool // the way returns the error of the function
}

// waysIn lists the ways to run a crawl. Each calls a function with each page.
var waysIn = map[string]wayIn{
	"Run": {func(ctx context.Context, c *crawler.Crawler, f func(*crawler.Page) error) error {
		return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error { return f(p) }))
	}, false},
	"Tags": {func(ctx context.Context, c *crawler.Crawler, f func(*crawler.Page) error) error {
		return c.Run(ctx, crawler.Tags{"": crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error { return f(p) })})
	}, false},
	"parse": {func(ctx context.Context, c *crawler.Crawler, f func(*crawler.Page) error) (err error) {
		for _, err = range crawler.Batches(ctx, c, 3, 0, func(_ context.Context, p *crawler.Page) ([]int, error) { return []int{1}, f(p) }) {
		}
		return err
	}, true},
	"Pages": {func(ctx context.Context, c *crawler.Crawler, f func(*crawler.Page) error) error {
		for p, err := range c.Pages(ctx) {
			if err == nil {
				err = f(p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, true},
	"Batches": {func(ctx context.Context, c *crawler.Crawler, f func(*crawler.Page) error) error {
		parse := func(_ context.Context, p *crawler.Page) ([]*crawler.Page, error) { return []*crawler.Page{p}, nil }
		for pages, err := range crawler.Batches(ctx, c, 2, -1, parse) {
			for _, p := range pages {
				err = errors.Join(err, f(p))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, true},
}

// No goroutine of a crawl is left after its end. The test combines each way to run a crawl with
// each way to end it.
func TestNoGoroutineOutlivesACrawl(t *testing.T) {
	bad := errors.New("a bad page")
	ends := map[string]func(*crawler.Crawler, context.CancelFunc) error{
		"the end":   func(*crawler.Crawler, context.CancelFunc) error { return nil },
		"an error":  func(*crawler.Crawler, context.CancelFunc) error { return bad },
		"a panic":   func(*crawler.Crawler, context.CancelFunc) error { panic(bad) },
		"cancel":    func(_ *crawler.Crawler, cancel context.CancelFunc) error { cancel(); return nil },
		"Stop":      func(c *crawler.Crawler, _ context.CancelFunc) error { c.Stop(); return nil },
		"goroutine": func(*crawler.Crawler, context.CancelFunc) error { runtime.Goexit(); return nil },
	}
	for in, way := range waysIn {
		for out, end := range ends {
			for _, dir := range []string{"", t.TempDir()} {
				name := fmt.Sprintf("%s, %s, directory: %v", in, out, dir != "")
				before := goleak.IgnoreCurrent()
				t.Run(name, func(t *testing.T) {
					w := crawltest.New(t)
					book(w, "http://a.example", 3)
					w.Site("http://a.example").Addr("127.0.0.1")
					c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w, AllowPrivate: true}, Dir: dir, Pace: crawler.Pace{Delay: crawler.NoDelay}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					began := make(chan struct{})
					var ran error
					go func() {
						defer close(began)
						defer func() { recover() }()
						ran = way.run(ctx, c, func(p *crawler.Page) error { return end(c, cancel) })
					}()
					<-began
					// A panic of parse is returned as an error of the loop. The caller must recover
					// from a panic of the loop's body.
					fails := way.fails && out == "an error" || in == "parse" && out == "a panic"
					if got := errors.Is(ran, bad); got != fails {
						t.Errorf("%v", ran)
					}
					if out == "the end" && (ran != nil || c.Summary().Fetched != 3) {
						t.Errorf("%v, %v", ran, c.Summary())
					}
				})
				if err := goleak.Find(before); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
