package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"go.etcd.io/bbolt"
)

// try runs a crawl of a.example in dir, and returns its summary and error.
func try(t *testing.T, w *crawltest.Web, change func(*crawler.Options), h crawler.Handler) (crawler.Summary, error) {
	t.Helper()
	o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
	change(&o)
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), h)
	return c.Summary(), err
}

// fullDials is a network that fails after some time because too many files are open.
type fullDials struct {
	*crawltest.Web
	left atomic.Int32
}

func (n *fullDials) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if n.left.Add(-1) < 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.EMFILE}
	}
	return n.Web.DialContext(ctx, network, address)
}

// An error of this machine ends the crawl. Even if many visits fail, Run returns the error once. A
// later run fetches everything that is left.
func TestNoFileToOpenEndsTheCrawl(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 5 {
			host := fmt.Sprintf("http://h%d.example", i)
			w.Site(host).Page("/", "x")
			seeds = append(seeds, host+"/")
		}
		full := &fullDials{Web: w}
		full.left.Store(2)
		sum, err := try(t, w, func(o *crawler.Options) { o.Network, o.Seeds, o.Dir = full, seeds, dir }, nil)
		if !errors.Is(err, syscall.EMFILE) || strings.Count(err.Error(), "\n") != 0 {
			t.Errorf("Run: %v", err)
		}
		if sum.Requests != 2 || sum.Left[frontier.Queued] != 5 {
			t.Errorf("%+v; left %v", sum.Counts, sum.Left)
		}
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, seeds...)
		wantPages(t, pages, seeds...)
		w.AssertPolite()
	})
}

// If the files of a crawl cannot be written, the crawl ends with an error, and sends no more
// requests.
func TestADirectoryThatIsGoneEndsTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 20)
		w.Site("http://a.example").Page("/", "<a href=/0>0</a>")
		dir := t.TempDir()
		sum, err := try(t, w, func(o *crawler.Options) { o.Dir, o.MaxArchive = dir, 1 },
			crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				if p.URL.Target() == "/3" {
					return os.RemoveAll(filepath.Join(dir, store.ArchiveDir))
				}
				return nil
			}))
		if err == nil || sum.Fetched == 0 || sum.Fetched > 15 || len(sum.Left) == 0 {
			t.Errorf("Run: %v; %+v, left %v", err, sum.Counts, sum.Left)
		}
	})
}

// put stores a value in the state of the crawl in dir.
func put(dir, key string, value any) error {
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Put(key, value), db.Close())
}

// flip damages the first row of a bucket of the state in dir.
func flip(dir, bucket string) error {
	db, err := bbolt.Open(filepath.Join(dir, store.StateFile), 0o644, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error {
		rows := tx.Bucket([]byte(bucket))
		key, value := rows.Cursor().First()
		value = bytes.Clone(value)
		value[len(value)-1] ^= 1
		return rows.Put(bytes.Clone(key), value)
	}), db.Close())
}

// A run that cannot read or write its files does not begin, and returns the reason.
func TestRunsThatDoNotBegin(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(dir string) error // damages the directory after a first run
		alter func(*crawler.Options)
		said  string
	}{
		{"the state is no state", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, store.StateFile), []byte(strings.Repeat("no state ", 10_000)), 0o644)
		}, nil, store.StateFile},
		{"the directory is a file", nil, func(o *crawler.Options) { o.Dir = filepath.Join(o.Dir, store.StateFile) }, "not a directory"},
		{"the archive is a file", func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, store.ArchiveDir)), os.WriteFile(filepath.Join(dir, store.ArchiveDir), nil, 0o644))
		}, nil, store.ArchiveDir},
		{"what it was asked to be is damaged", func(dir string) error { return put(dir, "job", "no job") }, nil, store.StateFile},
		{"a root is damaged", func(dir string) error { return put(dir, "root not a URL", true) }, nil, store.StateFile},
		{"a site is damaged", func(dir string) error { return flip(dir, "states") }, nil, store.StateFile},
		{"another token", nil, func(o *crawler.Options) { o.Identity.Token = "otherbot" }, "not as otherbot ("},
		{"another contact", nil, func(o *crawler.Options) { o.Identity.Contact = "https://example.org/other" }, "not as benchbot (https://example.org/other)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
				if _, err := try(t, w, func(o *crawler.Options) { o.Dir, o.Limit = dir, 1 }, nil); err != nil {
					t.Fatal(err)
				}
				asked := len(w.Log())
				if test.spoil != nil {
					if err := test.spoil(dir); err != nil {
						t.Fatal(err)
					}
				}
				sum, err := try(t, w, func(o *crawler.Options) {
					o.Dir = dir
					if test.alter != nil {
						test.alter(o)
					}
				}, nil)
				if err == nil || !strings.Contains(err.Error(), test.said) || len(w.Log()) != asked || sum.Requests != 0 || sum.End != "" {
					t.Errorf("Run: %v; requested %d times; %+v", err, len(w.Log())-asked, sum)
				}
				if test.spoil == nil { // no file is locked or damaged after the failed run
					if sum, err := try(t, w, func(o *crawler.Options) { o.Dir = dir }, nil); err != nil || sum.Fetched != 1 {
						t.Errorf("Run: %v; %+v", err, sum.Counts)
					}
				}
			})
		})
	}
}

// A program may change its Options after New without an effect on the crawl.
func TestFieldsThatAreChangedAfterNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w, Header: http.Header{"X-Project": {"thesis"}}}, Dir: t.TempDir()}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Header.Set("User-Agent", "otherbot")
		o.Header["X-Project"][0] = "other"
		o.Seeds[0] = "http://b.example/"
		if err := c.Run(t.Context(), nil); err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, r := range w.Log() {
			if r.UserAgent != testIdentity.UserAgent() || r.Header.Get("X-Project") != "thesis" {
				t.Errorf("%s was requested with %v", r.URL(), r.Header)
			}
		}
		w.AssertFetched("http://a.example/")
	})
}

// If a Scope panics for a URL that an earlier run has queued, the run ends before it requests the
// URL. With a correct Scope the next run continues.
func TestAScopeThatPanicsInALaterRun(t *testing.T) {
	for _, test := range []struct {
		name  string
		first func(*crawler.Options) // options of a first run that leaves a URL for the scope
	}{
		{"queued", func(o *crawler.Options) { o.Limit = 1 }},
		{"put aside", func(o *crawler.Options) { o.Scope = crawler.SeedsOnly() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "<a href=/1>1</a><a href=/2>2</a>").Page("/1", "x").Page("/2", "x")
				dir := t.TempDir()
				whole := func(o *crawler.Options) { o.Dir, o.Limit = dir, 1 }
				if _, err := try(t, w, whole, nil); err != nil {
					t.Fatal(err)
				}
				if _, err := try(t, w, func(o *crawler.Options) { o.Dir = dir; test.first(o) }, nil); test.name == "put aside" && err != nil {
					t.Fatal(err)
				}
				asked := len(w.Log())
				// calls is atomic, because another worker may begin before the first has ended
				bad, calls := errors.New("a bug"), atomic.Int32{}
				_, err := try(t, w, func(o *crawler.Options) {
					o.Dir, o.Scope = dir, crawler.ScopeFunc(func(frontier.Entry) bool { calls.Add(1); panic(bad) })
				}, nil)
				var panicked *crawler.PanicError
				if !errors.Is(err, bad) || !errors.As(err, &panicked) || panicked.Where != "Scope" || calls.Load() < 1 || calls.Load() > 2 || len(w.Log()) != asked {
					t.Errorf("Run: %v after %d calls; requested %d times", err, calls.Load(), len(w.Log())-asked)
				}
				if sum, err := try(t, w, func(o *crawler.Options) { o.Dir = dir }, nil); err != nil || sum.Fetched != 2 {
					t.Errorf("Run: %v; %+v", err, sum.Counts)
				}
				w.AssertPolite()
			})
		})
	}
}

// A rootScope panics when the target of a redirect is added to the scope a second time.
type rootScope struct {
	crawler.Scope
	admits *int
}

func (s rootScope) Admit(u frontier.URL) {
	if *s.admits++; u.Host() != "a.example" {
		panic("a bug")
	}
	s.Scope.Admit(u)
}

// If the method Admit of a Scope panics for the target of a seed's redirect, the run ends.
func TestAScopeThatPanicsAtARoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "http://b.example/").Redirect("/2", "http://c.example/")
		w.Site("http://b.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		w.Site("http://c.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		dir := t.TempDir()
		seeds := []string{"http://a.example/", "http://a.example/2"}
		if _, err := try(t, w, func(o *crawler.Options) { o.Dir, o.Seeds, o.MaxHostPages = dir, seeds, 1 }, nil); err != nil {
			t.Fatal(err)
		}
		admits := 0
		_, err := try(t, w, func(o *crawler.Options) { o.Dir, o.Scope = dir, rootScope{crawler.SameHost(), &admits} }, nil)
		var panicked *crawler.PanicError
		if !errors.As(err, &panicked) || panicked.Where != "Scope" || admits != 2 {
			t.Errorf("Run: %v; Admit got %d roots", err, admits-1)
		}
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		wantPages(t, pages, "http://b.example/1", "http://c.example/1")
	})
}

// If OnStart panics, the run ends before any request, with and without a directory.
func TestAnOnStartThatPanics(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "x")
			_, err := try(t, w, func(o *crawler.Options) {
				o.Dir, o.OnStart = dir, func(crawler.Start) { panic("a bug") }
			}, nil)
			var panicked *crawler.PanicError
			if !errors.As(err, &panicked) || panicked.Error() != "OnStart panicked: a bug" || errors.Unwrap(panicked) != nil || len(w.Log()) != 0 {
				t.Errorf("Run: %v; requested %d times", err, len(w.Log()))
			}
		})
	}
}

// A run that fails before its first visit has no End, even if its MaxTime has passed.
func TestAFailedRunIsNotEndedByItsTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		bare := func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{} }
		if _, err := try(t, w, bare, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, store.ArchiveDir), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Budget: crawler.Budget{MaxTime: time.Hour}, Keep: crawler.Keep{Rescan: true}}
		bare(&o)
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err == nil || c.Summary().End != "" {
			t.Errorf("Run: %v; ended %q", err, c.Summary().End)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if end := c.Summary().End; end != "" {
			t.Errorf("ended %q later", end)
		}
	})
}

// Exchange.Wire is set only if an archive is written. MaxHostPages -1 means no limit.
func TestExchangesOfHandlers(t *testing.T) {
	for _, test := range []struct {
		dir    bool
		output []crawler.Output
		wire   bool
	}{
		{false, nil, false}, {true, nil, true}, {true, []crawler.Output{crawler.OutputPages}, false}, {true, []crawler.Output{}, false},
	} {
		dir := ""
		if test.dir {
			dir = t.TempDir()
		}
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
			n := 0
			_, err := try(t, w, func(o *crawler.Options) { o.Dir, o.Output, o.MaxHostPages = dir, test.output, -1 },
				crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
					n++
					if (p.Exchange.Wire != nil) != test.wire || (p.Exchange.RequestHead != nil) != test.wire || len(p.Body) == 0 {
						t.Errorf("on disk %v, %q: %d octets as sent", test.dir, test.output, len(p.Exchange.Wire))
					}
					return nil
				}))
			if err != nil || n != 2 {
				t.Errorf("Run: %v; %d pages", err, n)
			}
		})
	}
}

// A seedScope panics for each root except a.example.
type seedScope struct{}

func (seedScope) Admit(root frontier.URL) {
	if root.Host() != "a.example" {
		panic("no root")
	}
}

func (seedScope) Contains(frontier.Entry) bool { return true }

// If a Scope panics for a seed that is added before or during the run, Add or Run returns an error.
// A run that cannot begin sends no request.
func TestAScopeThatPanicsAtASeedThatIsAdded(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "x")
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Scope: seedScope{}})
			if err != nil {
				t.Fatal(err)
			}
			var added error
			add := func() { added = second(c.Add("http://b.example/")) }
			if early {
				add()
			}
			err = c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
				add()
				return nil
			}))
			if early {
				added, err = err, added
			}
			var panicked *crawler.PanicError
			if !errors.As(added, &panicked) || panicked.Where != "Scope" || err != nil || early != (len(w.Log()) == 0) {
				t.Errorf("early %v: %v, %v; asked %v", early, added, err, w.Log())
			}
		})
	}
}
