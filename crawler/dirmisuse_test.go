package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// If the directory cannot be used, Run fails before any request.
func TestDirectoriesThatCannotBeUsed(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string) (use string){
		"a file": func(t *testing.T, dir string) string { must(t, os.WriteFile(dir, nil, 0o600)); return dir },
		"below a file": func(t *testing.T, dir string) string {
			must(t, os.WriteFile(dir, nil, 0o600))
			return filepath.Join(dir, "x")
		},
		"a device":          func(*testing.T, string) string { return os.DevNull },
		"below a device":    func(*testing.T, string) string { return filepath.Join(os.DevNull, "x") },
		"a NUL":             func(_ *testing.T, dir string) string { return dir + "\x00" },
		"a huge name":       func(_ *testing.T, dir string) string { return filepath.Join(dir, strings.Repeat("x", 1<<10)) },
		"a huge path":       func(_ *testing.T, dir string) string { return dir + strings.Repeat("/x", 1<<13) },
		"a circle of links": func(t *testing.T, dir string) string { must(t, os.Symlink(dir, dir)); return dir },
		"a file for a state": func(t *testing.T, dir string) string {
			return with(t, dir, store.StateFile, strings.Repeat("no state\n", 1<<12))
		},
		"a directory for a state": func(t *testing.T, dir string) string {
			must(t, os.MkdirAll(filepath.Join(dir, store.StateFile, "x"), 0o700))
			return dir
		},
		"a directory for a log": func(t *testing.T, dir string) string {
			must(t, os.MkdirAll(filepath.Join(dir, "crawl.log", "x"), 0o700))
			return dir
		},
		"a directory for the pages": func(t *testing.T, dir string) string {
			must(t, os.MkdirAll(filepath.Join(dir, store.PagesFile, "x"), 0o700))
			return dir
		},
		"a file for the archive": func(t *testing.T, dir string) string { return with(t, dir, "warc", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "crawl")
			dir = prepare(t, dir)
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 2)
				for range 2 {
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
					c.Idle()
					if err := c.Run(t.Context(), nil); err == nil || len(err.Error()) > 1<<15 {
						t.Errorf("%.1000v", err)
					}
					if c.Status().State == crawler.StateRunning || c.Summary().Fetched > 0 {
						t.Errorf("%v", c.Summary())
					}
					for range c.Left() {
					}
				}
				if _, err := crawler.ReadStatus(dir); err == nil && name != "a file for the archive" && !strings.HasPrefix(name, "a directory for") {
					t.Error("it has a status")
				}
				if len(w.Log()) > 0 {
					t.Errorf("%d requests", len(w.Log()))
				}
			})
		})
	}
}

// with creates dir, writes a file into it, and returns dir.
func with(t *testing.T, dir, name, text string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	return dir
}

// If the directory is deleted, replaced or locked while the crawl runs, the crawl either ends with
// an error or continues. It does not hang, and no request is early.
func TestDirectoriesThatAreLost(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"deleted":  func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"renamed":  func(t *testing.T, dir string) { must(t, os.Rename(dir, dir+".2")) },
		"replaced": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)); must(t, os.WriteFile(dir, nil, 0o600)) },
		"emptied": func(t *testing.T, dir string) {
			files, err := os.ReadDir(dir)
			must(t, err)
			for _, f := range files {
				must(t, os.RemoveAll(filepath.Join(dir, f.Name())))
			}
		},
		"its state deleted":   func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, store.StateFile))) },
		"its state cut":       func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "crawl.log"), 0)) },
		"its archive deleted": func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "warc"))) },
		"its archive, a file": func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "warc")))
			must(t, os.WriteFile(filepath.Join(dir, "warc"), nil, 0o600))
		},
		"another run": func(t *testing.T, dir string) {
			c := newCrawl(t, crawltest.New(t), func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
			var used *store.InUseError
			if err := c.Run(t.Context(), nil); !errors.As(err, &used) {
				t.Errorf("another run: %v", err)
			}
		},
		"a Client": func(t *testing.T, dir string) {
			c, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Dir: dir})
			if err == nil {
				err = c.Close()
			}
			if err != nil {
				t.Errorf("a Client in the same directory: %v", err)
			}
		},
	} {
		for _, way := range []string{"Run", "Pages", "Batches"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "crawl")
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					book(w, "http://a.example", 6)
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/0")
					n := 0
					began := time.Now()
					err := waysIn[way].run(t.Context(), c, func(*crawler.Page) error {
						if n++; n == 2 {
							spoil(t, dir)
						}
						c.Status()
						if r, err := c.Records(); err == nil {
							for range r.Sites() {
							}
						}
						return nil
					})
					t.Logf("%v", err)
					if took := time.Since(began); took > time.Hour {
						t.Errorf("the run took %v", took)
					}
					for _, err := range c.Left() {
						_ = err // any error is accepted
					}
					c.Status()
					w.AssertPolite()
					w.AssertDelay("", time.Second)
					if n := w.Fetched("http://a.example/0"); n != 1 {
						t.Errorf("the seed was requested %d times", n)
					}
				})
			})
		}
	}
}

// New or Run fails before any request if Options.Previous is not a crawl, is the crawl itself, or
// is a running crawl.
func TestPreviousCrawlsThatAreNone(t *testing.T) {
	for name, previous := range map[string]func(t *testing.T, dir string) string{
		"itself": func(_ *testing.T, dir string) string { return dir },
		"none":   func(_ *testing.T, dir string) string { return dir + ".none" },
		"a file": func(t *testing.T, dir string) string {
			must(t, os.WriteFile(dir+".file", nil, 0o600))
			return dir + ".file"
		},
		"an empty one": func(t *testing.T, dir string) string { must(t, os.Mkdir(dir+".empty", 0o700)); return dir + ".empty" },
		"a NUL":        func(*testing.T, string) string { return "\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "crawl")
			previous := previous(t, dir)
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 2)
				c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Dir: dir, Wire: crawler.Wire{Network: w}, Keep: crawler.Keep{Previous: previous}})
				if err == nil {
					err = c.Run(t.Context(), nil)
				}
				if err == nil || len(w.Log()) > 0 {
					t.Errorf("%v, %d requests", err, len(w.Log()))
				}
			})
		})
	}
}

// A crawlClocks is a Shared that may misbehave: it first calls a function of the test.
type crawlClocks struct {
	frontier.Shared
	reserve, release func() (frontier.Taken, bool) // called first, unless nil; if ok is false, its result is returned
}

func (c crawlClocks) Reserve(key string, now, until time.Time) (frontier.Taken, bool) {
	if c.reserve != nil {
		if taken, ok := c.reserve(); !ok {
			return taken, false
		}
	}
	return c.Shared.Reserve(key, now, until)
}

func (c crawlClocks) Release(key string, until time.Time) {
	if c.release != nil {
		c.release()
	}
	c.Shared.Release(key, until)
}

// Shared clocks that jump, refuse for ever, panic or end their goroutine end the run within its
// patience. The next run has good clocks, and fetches every page; no request is early.
func TestClocksThatAreOdd(t *testing.T) {
	refuse := func(until func() time.Time, lease bool) func() (frontier.Taken, bool) {
		return func() (frontier.Taken, bool) { return frontier.Taken{Until: until(), Lease: lease}, false }
	}
	at := func(t time.Time) func() time.Time { return func() time.Time { return t } }
	bug := func() (frontier.Taken, bool) { panic(errBug) }
	exit := func() (frontier.Taken, bool) { runtime.Goexit(); return frontier.Taken{}, false }
	jumps := 0
	for name, test := range map[string]struct {
		clocks crawlClocks
		want   string // text in the error; empty if the run ends without one
	}{
		"the zero time":     {clocks: crawlClocks{reserve: refuse(at(time.Time{}), false)}},
		"1960":              {clocks: crawlClocks{reserve: refuse(at(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)), false)}},
		"9999":              {clocks: crawlClocks{reserve: refuse(at(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), false)}},
		"a lease for ever":  {clocks: crawlClocks{reserve: refuse(at(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), true)}},
		"a lease that ends": {clocks: crawlClocks{reserve: refuse(func() time.Time { return time.Now().Add(-time.Hour) }, true)}},
		"a clock that jumps": {clocks: crawlClocks{reserve: func() (frontier.Taken, bool) {
			jumps++
			return frontier.Taken{Until: time.Now().Add(time.Duration(jumps%7-3) * time.Minute / 2)}, jumps%4 >= 2
		}}},
		"Reserve panics": {clocks: crawlClocks{reserve: bug}, want: "a bug"},
		"Release panics": {clocks: crawlClocks{release: bug}, want: "a bug"},
		"Reserve exits":  {clocks: crawlClocks{reserve: exit}, want: "Goexit"},
		"Release exits":  {clocks: crawlClocks{release: exit}, want: "Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 3)
				book(w, "http://b.example", 3)
				seeds := []string{"http://a.example/0", "http://b.example/0"}
				began := time.Now()
				clocks := test.clocks
				clocks.Shared = w.Clocks()
				c := newCrawl(t, w, func(o *crawler.Options) { o.Dir, o.Shared = dir, clocks }, seeds...)
				err := c.Run(t.Context(), nil)
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > time.Hour {
					t.Errorf("the run took %v", took)
				}
				var left []string
				for s, err := range c.Left() {
					must(t, err)
					left = append(left, s.URL.String())
				}
				if slices.Sort(left); len(left)+c.Summary().Fetched < 2 {
					t.Errorf("%q are left of %v", left, c.Summary())
				}
				next := newCrawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience = dir, time.Hour }, seeds...)
				if err := next.Run(context.Background(), nil); err != nil || next.Summary().End != crawler.EndDone {
					t.Errorf("the next run: %v, %v", err, next.Summary())
				}
				for i := range 3 {
					for _, site := range "ab" {
						if url := fmt.Sprintf("http://%c.example/%d", site, i); w.Fetched(url) == 0 || w.Fetched(url) > 2 {
							t.Errorf("%s was requested %d times", url, w.Fetched(url))
						}
					}
				}
				w.AssertPolite()
				w.AssertDelay("", time.Second)
			})
		})
	}
}
