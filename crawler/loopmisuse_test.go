package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// touch calls each method of a page, and changes all its fields.
func touch(p *crawler.Page) {
	p.Follow("/late")
	p.FollowTag("/later", "x")
	p.FollowLink(extract.Link{URL: p.URL}, "x")
	p.Resolve("/x")
	_, _, _, _ = p.Broken(), p.Canonical(), p.Change(), p.Followed()
	_, _, _, _ = p.Links(), p.NotModified(), p.OpenGraphURL(), p.Signals()
	_, _, _ = p.Text(), p.TextDigest(), p.Title()
	p.Doc()
	clear(p.Links())
	clear(p.Body)
	clear(p.Header)
	if p.Exchange != nil {
		clear(p.Exchange.RequestHead)
		clear(p.Exchange.ResponseHead)
	}
}

// A program may keep a page and change it after its handler or the loop body has returned. This
// harms neither the crawl nor the process. URLs that it follows on such a page are not requested.
func TestPagesThatAreKept(t *testing.T) {
	for name, way := range waysIn {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprintf("%s/directory %v", name, dir != ""), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					book(w, "http://a.example", 6)
					w.Site("http://a.example").Page("/late", "").Page("/later", "")
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
					var last *crawler.Page
					var kept []*crawler.Page
					err := way.run(t.Context(), c, func(p *crawler.Page) error {
						if last != nil && last != p && name != "Batches" { // the pages of one batch are valid together
							touch(last)
						}
						last = p
						kept = append(kept, p)
						return nil
					})
					if err != nil || len(kept) != 6 {
						t.Errorf("%d pages, %v", len(kept), err)
					}
					for _, p := range kept {
						touch(p)
					}
					w.AssertNeverFetched("http://a.example/late", "http://a.example/later")
					w.AssertPolite()
				})
			})
		}
	}
}

// If a handler changes its page, even its URL, the crawl makes the same requests.
func TestPagesThatAreChanged(t *testing.T) {
	for name, change := range map[string]func(p *crawler.Page){
		"zero":      func(p *crawler.Page) { *p = crawler.Page{} },
		"URL":       func(p *crawler.Page) { p.URL = mustBe("http://evil.example/") },
		"no URL":    func(p *crawler.Page) { p.URL = frontier.URL{} },
		"Entry":     func(p *crawler.Page) { p.Entry = frontier.Entry{} },
		"depth":     func(p *crawler.Page) { p.Entry.Depth, p.Entry.Hops, p.Entry.ID = -5, "?", 7 },
		"Exchange":  func(p *crawler.Page) { p.Exchange = nil },
		"Status":    func(p *crawler.Page) { p.Status = 503 },
		"Body":      func(p *crawler.Page) { p.Body = []byte(`<a href=http://evil.example/>x</a>`) },
		"Location":  func(p *crawler.Page) { p.Location = mustBe("http://evil.example/") },
		"nofollow":  func(p *crawler.Page) { p.Directives.NoFollow = true },
		"all links": func(p *crawler.Page) { clear(p.Links()) },
	} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprintf("%s/directory %v", name, dir != ""), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					book(w, "http://a.example", 3)
					w.Site("http://evil.example").Page("/", "")
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0", "http://a.example/1", "http://a.example/2")
					err := c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error { change(p); return nil }))
					var panicked *crawler.PanicError
					if err != nil && !errors.As(err, &panicked) {
						t.Errorf("%v", err)
					}
					w.AssertNeverFetched("http://evil.example/")
					if n := w.Fetched("http://a.example/0"); n > 1 {
						t.Errorf("requested %d times", n)
					}
					w.AssertPolite()
				})
			})
		}
	}
}

// If the argument of Follow is not a URL, Follow returns an error, and nothing is requested.
func TestReferencesThatAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		refs := []string{
			"http://", "http://[", "http://a.example:99999/", "mailto:x@a.example", "javascript:1", "file:///etc/passwd", "data:,x", "http://a b/",
			"http://\x00/", "http://%00/", "//", "http://" + strings.Repeat("a", 1<<16) + "/", "/" + strings.Repeat("x", 1<<20), "http://a.example/" + strings.Repeat("%41", 1<<13), "ws://a.example/",
		}
		err := newCrawl(t, w, nil, "http://a.example/").Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			for _, ref := range refs {
				for name, err := range map[string]error{"Follow": p.Follow(ref), "FollowTag": p.FollowTag(ref, "\x00"), "Resolve": second(p.Resolve(ref))} {
					var bad *frontier.URLError
					if !errors.As(err, &bad) || len(err.Error()) > 1<<12 {
						t.Errorf("%s %.30q: %.100v", name, ref, err)
					}
				}
			}
			if len(p.Followed()) > 0 {
				t.Errorf("%.500v", p.Followed())
			}
			return p.FollowLink(extract.Link{}, "")
		}))
		if err != nil || len(w.Log()) != 2 {
			t.Errorf("%v, %d requests", err, len(w.Log()))
		}
	})
}

// loops are the loops over a crawl. Each calls body once for each page, until body returns false.
var loops = map[string]func(ctx context.Context, c *crawler.Crawler, body func() (more bool)) error{
	"Pages": func(ctx context.Context, c *crawler.Crawler, body func() bool) error {
		for _, err := range c.Pages(ctx) {
			if err != nil {
				return err
			}
			if !body() {
				break
			}
		}
		return nil
	},
	"Batches": func(ctx context.Context, c *crawler.Crawler, body func() bool) error {
		for _, err := range crawler.Batches(ctx, c, 3, -1, books) {
			if err != nil {
				return err
			}
			if !body() {
				break
			}
		}
		return nil
	},
	"Batches, all at the end": func(ctx context.Context, c *crawler.Crawler, body func() bool) error {
		for _, err := range crawler.Batches(ctx, c, 1<<20, frontier.Forever, books) {
			if err != nil {
				return err
			}
			if !body() {
				break
			}
		}
		return nil
	},
}

// If a loop is left in any way, the crawl ends, its directory is closed, and the next run gets
// the pages that were not taken.
func TestLoopsThatAreLeft(t *testing.T) {
	leave := map[string]func(c *crawler.Crawler, cancel context.CancelFunc) bool{
		"break":            func(*crawler.Crawler, context.CancelFunc) bool { return false },
		"a panic":          func(*crawler.Crawler, context.CancelFunc) bool { panic(errBug) },
		"Goexit":           func(*crawler.Crawler, context.CancelFunc) bool { runtime.Goexit(); return true },
		"cancel":           func(_ *crawler.Crawler, cancel context.CancelFunc) bool { cancel(); return true },
		"cancel and break": func(_ *crawler.Crawler, cancel context.CancelFunc) bool { cancel(); return false },
		"Stop":             func(c *crawler.Crawler, _ context.CancelFunc) bool { c.Stop(); return true },
		"Stop and break":   func(c *crawler.Crawler, _ context.CancelFunc) bool { c.Stop(); return false },
		"Pause and break":  func(c *crawler.Crawler, _ context.CancelFunc) bool { c.Pause(""); return false },
		"a long break": func(*crawler.Crawler, context.CancelFunc) bool {
			time.Sleep(5 * time.Hour)
			return false
		},
	}
	for name, loop := range loops {
		for how, leave := range leave {
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					w := shelves(t, 2, 4)
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, seedsOf(2)...)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					ended, bodies := make(chan struct{}), 0
					go func() {
						defer close(ended)
						defer func() { recover() }()
						loop(ctx, c, func() bool { bodies++; return leave(c, cancel) })
					}()
					<-ended
					if bodies == 0 || bodies > 8 {
						t.Errorf("the body was called %d times", bodies)
					}
					if err := second(c.Add("http://s0.example/0")); !errors.Is(err, crawler.ErrEnded) {
						t.Errorf("Add: %v", err)
					}
					for range c.Pages(t.Context()) { // yields ErrRan
					}
					next := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir })
					if err := loop(t.Context(), next, func() bool { return true }); err != nil || next.Summary().End != crawler.EndDone {
						t.Errorf("the next run: %v, %v", err, next.Summary())
					}
					for s := range 2 {
						for p := range 4 {
							if url := fmt.Sprintf("http://s%d.example/%d", s, p); w.Fetched(url) == 0 || w.Fetched(url) > 2 {
								t.Errorf("%s was requested %d times", url, w.Fetched(url))
							}
						}
					}
					w.AssertPolite()
				})
			})
		}
	}
}

// If an iterator is used twice, at the same time or nested, the crawl runs once.
func TestIteratorsThatAreUsedTwice(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, c *crawler.Crawler) []error{
		"one after the other": func(t *testing.T, c *crawler.Crawler) (errs []error) {
			pages := c.Pages(t.Context())
			for range 3 {
				for _, err := range pages {
					errs = append(errs, err)
				}
			}
			return errs
		},
		"one in the other": func(t *testing.T, c *crawler.Crawler) (errs []error) {
			pages := c.Pages(t.Context())
			for _, err := range pages {
				errs = append(errs, err)
				for _, err := range pages {
					errs = append(errs, err)
				}
			}
			return errs
		},
		"at the same time": func(t *testing.T, c *crawler.Crawler) (errs []error) {
			pages := c.Pages(t.Context())
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					for _, err := range pages {
						mu.Lock()
						errs = append(errs, err)
						mu.Unlock()
					}
				})
			}
			all.Wait()
			return errs
		},
		"Batches in Pages": func(t *testing.T, c *crawler.Crawler) (errs []error) {
			for _, err := range c.Pages(t.Context()) {
				errs = append(errs, err)
				for _, err := range crawler.Batches(t.Context(), c, 1, 0, books) {
					errs = append(errs, err)
				}
			}
			return errs
		},
		"Run in parse": func(t *testing.T, c *crawler.Crawler) (errs []error) {
			for _, err := range crawler.Batches(t.Context(), c, 1, 0, func(ctx context.Context, _ *crawler.Page) ([]error, error) { return []error{c.Run(ctx, nil)}, nil }) {
				errs = append(errs, err)
			}
			return append(errs, crawler.ErrRan)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 3)
				c := newCrawl(t, w, nil, "http://a.example/0")
				errs := use(t, c)
				if !slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, crawler.ErrRan) }) {
					t.Errorf("%v", errs)
				}
				for _, err := range errs {
					if err != nil && !errors.Is(err, crawler.ErrRan) {
						t.Error(err)
					}
				}
				w.AssertFetched("http://a.example/0", "http://a.example/1", "http://a.example/2")
				w.AssertPolite()
			})
		})
	}
}
