package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// failingMethods call the methods of a Crawler that return an error.
var failingMethods = map[string]func(c *crawler.Crawler) error{
	"Add":     func(c *crawler.Crawler) error { return second(c.Add("http://a.example/2")) },
	"Add()":   func(c *crawler.Crawler) error { return second(c.Add()) },
	"Seed":    func(c *crawler.Crawler) error { return c.Seed("x", "http://a.example/2") },
	"Allow":   func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Pages = 50 }) },
	"Limit":   func(c *crawler.Crawler) error { return c.Limit("x", func(l *crawler.Limits) { l.Bytes = 1 << 30 }) },
	"Pause":   func(c *crawler.Crawler) error { return c.Pause("x") },
	"Resume":  func(c *crawler.Crawler) error { return c.Resume("x") },
	"Slow":    func(c *crawler.Crawler) error { return c.Slow("a.example", 2*time.Second, "x") },
	"Exclude": func(c *crawler.Crawler) error { return c.Exclude("b.example", "x") },
	"Records": func(c *crawler.Crawler) error { _, err := c.Records(); return err },
	"Left": func(c *crawler.Crawler) (failed error) {
		for _, err := range c.Left() {
			failed = errors.Join(failed, err)
		}
		return failed
	},
	"Left, left": func(c *crawler.Crawler) (failed error) {
		for _, err := range c.Left() {
			return err
		}
		return nil
	},
}

// readAll calls the methods of a Crawler that return no error.
func readAll(c *crawler.Crawler) {
	_, _, _, _, _ = c.Status(), c.Stats(), c.Summary().String(), c.Orders(), c.Limits()
	c.Oldest()
	c.Longest(time.Time{})
	c.Longest(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
}

// runs call the methods that run a Crawler.
var runs = map[string]func(ctx context.Context, c *crawler.Crawler) error{
	"Run": func(ctx context.Context, c *crawler.Crawler) error { return c.Run(ctx, nil) },
	"Pages": func(ctx context.Context, c *crawler.Crawler) (failed error) {
		for _, err := range c.Pages(ctx) {
			failed = errors.Join(failed, err)
		}
		return failed
	},
	"Batches": func(ctx context.Context, c *crawler.Crawler) (failed error) {
		for _, err := range crawler.Batches(ctx, c, 0, 0, books) {
			failed = errors.Join(failed, err)
		}
		return failed
	},
}

// A moment is a state of a Crawler in which the test calls each method.
type moment struct {
	reach func(t *testing.T, c *crawler.Crawler, call func()) // calls the function call in this state
	ended bool                                                // methods that change the run return ErrEnded
	begun bool                                                // the directory is open
}

// duringRun runs a crawl and calls call once, in the handler.
func duringRun(t *testing.T, c *crawler.Crawler, call func()) {
	called := false
	if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
		if !called {
			called = true
			call()
			c.Resume("")
		}
		return nil
	})); err != nil {
		t.Errorf("Run: %v", err)
	}
}

var moments = map[string]moment{
	"before Run": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		call()
		c.Resume("")
		duringRun(t, c, func() {})
	}},
	"during Run": {reach: duringRun, begun: true},
	"during Run, after Stop": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		duringRun(t, c, func() { c.Stop(); call() })
	}, begun: true, ended: true},
	"after Stop, before Run": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		c.Stop()
		call()
		duringRun(t, c, func() { t.Error("a page was requested") })
	}, ended: true},
	"after Run": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		duringRun(t, c, func() {})
		call()
	}, ended: true},
	"after Stop and Run": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		duringRun(t, c, c.Stop)
		c.Stop()
		call()
	}, ended: true},
	"after a context that had ended": {reach: func(t *testing.T, c *crawler.Crawler, call func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBug)
		if err := c.Run(ctx, nil); !errors.Is(err, errBug) {
			t.Errorf("Run: %v", err)
		}
		call()
	}, ended: true},
}

// Each method may be called at any time. Before and during a run it takes effect. After the end of
// the run it returns ErrEnded, and changes nothing. Records returns an error with the reason if it
// has no result.
func TestEachMethodAtEachMoment(t *testing.T) {
	for when, m := range moments {
		for name, call := range failingMethods {
			for _, dir := range []string{"", t.TempDir()} {
				t.Run(fmt.Sprintf("%s/%s/directory %v", when, name, dir != ""), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := crawltest.New(t)
						book(w, "http://a.example", 4)
						c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0", "http://a.example/1")
						var err error
						called := false
						m.reach(t, c, func() { called = true; err = call(c); readAll(c) })
						changes := name != "Records" && !strings.HasPrefix(name, "Left")
						switch ended := errors.Is(err, crawler.ErrEnded); {
						case !called:
							t.Error("the state was not reached")
						case changes && ended != m.ended, !changes && name != "Records" && err != nil, changes && !ended && err != nil:
							t.Errorf("%v", err)
						case name == "Records" && (err == nil) != (m.begun && dir != ""):
							t.Errorf("%v", err)
						}
						w.AssertPolite()
						w.AssertDelay("", time.Second)
					})
				})
			}
		}
	}
}

// A Crawler runs once. Any method that would run it again returns ErrRan, and does not disturb a
// running crawl.
func TestASecondRunAtEachMoment(t *testing.T) {
	for when, m := range moments {
		if strings.HasSuffix(when, "before Run") {
			continue
		}
		for name, run := range runs {
			t.Run(when+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					book(w, "http://a.example", 4)
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
					m.reach(t, c, func() {
						for range 2 {
							if err := run(t.Context(), c); !errors.Is(err, crawler.ErrRan) {
								t.Errorf("%v", err)
							}
						}
					})
					w.AssertPolite()
				})
			})
		}
	}
}

// The context of a run may be nil or may have ended, and the Crawler may be its zero value. Then
// the run fails, requests nothing and does not panic.
func TestRunsThatCannotBegin(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 4)
				c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
				var bad *crawler.OptionError
				if err := run(nil, c); !errors.As(err, &bad) || bad.Field != "ctx" {
					t.Errorf("a nil context: %v", err)
				}
				var none crawler.Crawler
				readAll(&none)
				for _, call := range failingMethods {
					_ = call(&none) // any error is accepted, but no panic
				}
				none.Stop()
				for _, none := range []*crawler.Crawler{&none, nil} { // New returns nil with an error
					if err := run(t.Context(), none); err == nil || !strings.Contains(err.Error(), "New makes one") {
						t.Errorf("a Crawler that New has not made: %v", err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), -1)
				defer cancel()
				if err := run(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a context that has ended: %v", err)
				}
				if len(w.Log()) > 0 {
					t.Errorf("%v", w.Log())
				}
			})
		})
	}
}

// If an argument is not valid, a method returns an *OptionError in any state, and changes nothing.
func TestArgumentsThatAreNotValid(t *testing.T) {
	long := strings.Repeat("x", 9000)
	calls := map[string]func(c *crawler.Crawler) error{
		"Add, no URL":            func(c *crawler.Crawler) error { return second(c.Add("http://a.example/9", "no URL")) },
		"Add, empty":             func(c *crawler.Crawler) error { return second(c.Add("")) },
		"Add, NUL":               func(c *crawler.Crawler) error { return second(c.Add("http://a.example\x00/")) },
		"Add, control":           func(c *crawler.Crawler) error { return second(c.Add("http://a.example:\x7f80/")) },
		"Add, a line":            func(c *crawler.Crawler) error { return second(c.Add("http://a.example/ http://a.example/1")) },
		"Add, huge":              func(c *crawler.Crawler) error { return second(c.Add("http://a.example/" + strings.Repeat("x", 1<<20))) },
		"Add, huge host":         func(c *crawler.Crawler) error { return second(c.Add("http://" + long + ".example/")) },
		"Add, mailto":            func(c *crawler.Crawler) error { return second(c.Add("mailto:x@a.example")) },
		"Add, port":              func(c *crawler.Crawler) error { return second(c.Add("http://a.example:65536/")) },
		"Add, script":            func(c *crawler.Crawler) error { return second(c.Add("javascript:alert(1)")) },
		"Seed, no URL":           func(c *crawler.Crawler) error { return c.Seed("x", ":") },
		"Seed, long reason":      func(c *crawler.Crawler) error { return c.Seed(long, "http://a.example/9") },
		"Slow, none":             func(c *crawler.Crawler) error { return c.Slow("a.example", 0, "x") },
		"Slow, negative":         func(c *crawler.Crawler) error { return c.Slow("a.example", -time.Hour, "x") },
		"Slow, no delay":         func(c *crawler.Crawler) error { return c.Slow("a.example", crawler.NoDelay, "x") },
		"Slow, a page":           func(c *crawler.Crawler) error { return c.Slow("http://a.example/1", time.Hour, "x") },
		"Slow, a port":           func(c *crawler.Crawler) error { return c.Slow("a.example:8080", time.Hour, "x") },
		"Slow, no host":          func(c *crawler.Crawler) error { return c.Slow("\x01", time.Hour, "x") },
		"Slow, long reason":      func(c *crawler.Crawler) error { return c.Slow("", time.Hour, long) },
		"Exclude, all":           func(c *crawler.Crawler) error { return c.Exclude("", "x") },
		"Exclude, no reason":     func(c *crawler.Crawler) error { return c.Exclude("a.example", " \t") },
		"Exclude, no host":       func(c *crawler.Crawler) error { return c.Exclude("http://", "x") },
		"Exclude, huge":          func(c *crawler.Crawler) error { return c.Exclude(long, "x") },
		"Pause, long reason":     func(c *crawler.Crawler) error { return c.Pause(long) },
		"Resume, long reason":    func(c *crawler.Crawler) error { return c.Resume(long) },
		"Limit, long reason":     func(c *crawler.Crawler) error { return c.Limit(long, func(*crawler.Limits) {}) },
		"Limit, negative":        func(c *crawler.Crawler) error { return c.Limit("x", func(l *crawler.Limits) { l.Bytes = -1 }) },
		"Allow, negative pages":  func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Pages = -1 }) },
		"Allow, negative time":   func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Time = -1 }) },
		"Allow, negative rate":   func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Rate = -0.1 }) },
		"Allow, more visits":     func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Concurrency = 65 }) },
		"Allow, negative visits": func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Concurrency = -1 }) },
		"Allow, patience":        func(c *crawler.Crawler) error { return c.Allow(func(l *crawler.Limits) { l.Patience = -2 }) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 2)
				c := newCrawl(t, w, nil, "http://a.example/0")
				check := func() {
					var bad *crawler.OptionError
					var url *frontier.URLError
					if err := call(c); !errors.As(err, &bad) || bad.Field == "" || bad.Reason == "" || strings.HasPrefix(name, "Add") && !errors.As(err, &url) {
						t.Errorf("%v", err)
					} else if len(err.Error()) > 1<<12 {
						t.Errorf("the error has %d bytes", len(err.Error()))
					}
				}
				check()
				duringRun(t, c, check)
				if len(c.Orders()) > 0 || c.Limits() != (crawler.Limits{Patience: 2 * time.Minute}) || c.Summary().Fetched != 2 {
					t.Errorf("%v, %+v, %v", c.Orders(), c.Limits(), c.Summary())
				}
				w.AssertPolite()
			})
		})
	}
}

// If a function that was passed to Allow or Limit panics or ends its goroutine, only the caller is
// affected: the limits stay unchanged, and the crawl continues.
func TestChangesOfLimitsThatDoNotReturn(t *testing.T) {
	for name, act := range map[string]func(){"panics": func() { panic(errBug) }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 3)
				c := newCrawl(t, w, nil, "http://a.example/0")
				change := func(l *crawler.Limits) { l.Pages = 1; act() }
				duringRun(t, c, func() {
					for _, call := range []func(){func() { c.Allow(change) }, func() { c.Limit("x", change) }} {
						ended := make(chan struct{})
						go func() {
							defer close(ended)
							defer func() { recover() }()
							call()
							t.Error("the call has returned")
						}()
						<-ended
					}
				})
				if c.Limits().Pages != 0 || c.Summary().Fetched != 3 {
					t.Errorf("%+v, %v", c.Limits(), c.Summary())
				}
				w.AssertPolite()
			})
		})
	}
}
