package crawler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// An error of a handler is passed to OnError and to the logger, which is the default one if Options
// has none. A PanicError contains the stack of the panic.
func TestErrorsOfHandlersAreTold(t *testing.T) {
	var said bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&said, nil)))
	defer slog.SetDefault(old)
	bad := errors.New("no such column")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/panic">x</a>`).Page("/panic", "x")
		told := map[string]error{}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w},
			Hooks: crawler.Hooks{OnError: func(p *crawler.Page, err error) { told[p.URL.Target()] = err }}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			if p.URL.Target() == "/panic" {
				var rows []int
				_ = rows[len(p.Links())+5]
			}
			return fmt.Errorf("row 3: %w", bad)
		}))
		sum := c.Summary()
		var panicked *crawler.PanicError
		if err != nil || !errors.Is(told["/"], bad) || !errors.As(told["/panic"], &panicked) || sum.Handler != 2 || sum.Fetched != 2 {
			t.Errorf("Run: %v; OnError got %v; %+v", err, told, sum.Counts)
		}
	})
	found := 0
	for line := range bytes.Lines(said.Bytes()) {
		var l struct{ Msg, URL, Error, Stack string }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		switch l.URL {
		case "http://a.example/":
			found++
			if l.Msg != "handler failed" || !strings.Contains(l.Error, "no such column") || l.Stack != "" {
				t.Errorf("%s", line)
			}
		case "http://a.example/panic":
			found++
			if !strings.Contains(l.Error, "out of range") || !strings.Contains(l.Stack, "callbacks_test.go") {
				t.Errorf("%s", line)
			}
		}
	}
	if found != 2 {
		t.Errorf("the default logger logged %s", said.Bytes())
	}
}

// A panic in a function of the options ends the crawl with an error. The process continues, and the
// next run requests the page again.
func TestPanicsOfCallbacksEndTheCrawl(t *testing.T) {
	for where, change := range map[string]func(*crawler.Options, func()){
		"Scope": func(o *crawler.Options, bug func()) {
			o.Scope = crawler.ScopeFunc(func(frontier.Entry) bool { bug(); return true })
		},
		"OnVisit":           func(o *crawler.Options, bug func()) { o.OnVisit = func(crawler.Visited) { bug() } },
		"OnSkip, of a link": func(o *crawler.Options, bug func()) { o.OnSkip = func(crawler.Skip) { bug() } },
		"OnSkip, of what is left": func(o *crawler.Options, bug func()) {
			o.Limit, o.OnSkip = 1, func(s crawler.Skip) {
				if s.Code == frontier.LimitReached {
					bug()
				}
			}
		},
		"OnStart": func(o *crawler.Options, bug func()) { o.OnStart = func(crawler.Start) { bug() } },
		"OnError": func(o *crawler.Options, bug func()) { o.OnError = func(*crawler.Page, error) { bug() } },
	} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", `<a href=/b>b</a><a href=http://c.example/>c</a>`).Page("/b", "x")
				bad := errors.New("a bug")
				mended := false
				for range 2 {
					o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
						Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
					change(&o, func() {
						if !mended {
							panic(bad)
						}
					})
					c, err := crawler.New(o)
					if err != nil {
						t.Fatal(err)
					}
					err = c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
						return errors.New("for OnError")
					}))
					var panicked *crawler.PanicError
					if mended {
						if err != nil {
							t.Errorf("mended: %v", err)
						}
						break
					}
					if !errors.As(err, &panicked) || !errors.Is(err, bad) || len(panicked.Stack) == 0 || !strings.Contains(where, panicked.Where) && !strings.HasPrefix(panicked.Where, "Scope, ") {
						t.Errorf("Run: %v", err)
					}
					mended = true
				}
				if !strings.Contains(where, "left") {
					w.AssertFetched("http://a.example/b")
				}
				w.AssertPolite()
			})
		})
	}
}

// Each crawl has a copy of its scope, even if two crawls have the same Options.Scope.
func TestScopesAreNotShared(t *testing.T) {
	for name, shared := range map[string]crawler.Scope{
		"host": crawler.SameHost(), "domain": crawler.SameDomain(), "prefix": crawler.SamePrefix(), "list": crawler.SeedsOnly(),
	} {
		t.Run(name, func(t *testing.T) {
			extra, err := frontier.ParseURL("http://extra.example/")
			if err != nil {
				t.Fatal(err)
			}
			shared.Admit(extra)
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				links := `<a href="http://a.example/">a</a><a href="http://b.example/">b</a><a href="http://extra.example/">x</a>`
				w.Site("http://a.example").Page("/", links)
				w.Site("http://b.example").Page("/", links)
				w.Site("http://extra.example").Page("/", "x")
				same := func(o *crawler.Options) { o.Scope = shared }
				pages, _ := crawl(t, w, same, "http://a.example/")
				wantPages(t, pages, "http://a.example/", "http://extra.example/")
				pages, _ = crawl(t, w, same, "http://b.example/")
				wantPages(t, pages, "http://b.example/", "http://extra.example/")
			})
		})
	}
}

// An OptionError about a seed wraps its cause, and names the seed.
func TestOptionErrorsNameTheSeed(t *testing.T) {
	_, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/", "gopher://a.example/"}})
	var option *crawler.OptionError
	var cause *frontier.URLError
	if !errors.As(err, &option) || !errors.As(err, &cause) || cause.Raw != "gopher://a.example/" || !strings.Contains(option.Reason, `"gopher://a.example/" at 1`) {
		t.Errorf("%v", err)
	}
}

// If links of a page are left out because there are too many, this is counted, logged, and recorded
// in pages.jsonl.
func TestLinksBeyondTheLimitAreReported(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", strings.Repeat("<a href=/1>x</a>", extract.MaxLinks+1)).Page("/1", "x")
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Logger = dir, slog.New(slog.NewTextHandler(&said, nil))
		}, "http://a.example/")
		if sum.Cut != 1 {
			t.Errorf("%+v", sum.Counts)
		}
	})
	if !strings.Contains(said.String(), "more links than are taken") || !strings.Contains(said.String(), "url=http://a.example/ ") {
		t.Errorf("the log says %s", said.String())
	}
	for _, r := range records(t, dir) {
		if cut := r.URL == "http://a.example/"; r.LinksCut != cut {
			t.Errorf("%s: linkscut %v", r.URL, r.LinksCut)
		}
	}
}

// An endless space of URLs is reported during the crawl and at its end, even if the crawl computes
// no digests of bodies.
func TestEndlessSpacesAreReported(t *testing.T) {
	for name, dir := range map[string]string{"in memory": "", "in a directory": t.TempDir()} {
		t.Run(name, func(t *testing.T) { testSpacesWithoutEnd(t, dir) })
	}
}

func testSpacesWithoutEnd(t *testing.T, dir string) {
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		html := `<a href="/cycle/1">x</a>`
		for i := range 120 {
			s.Page(fmt.Sprintf("/cycle/%d", i+1), "round and round")
			s.Page(fmt.Sprintf("/book/%d", i+1), fmt.Sprint("book ", i))
			html += fmt.Sprintf(`<a href="/cycle/%d">x</a><a href="/book/%d">x</a>`, i+1, i+1)
		}
		s.Page("/", html)
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Logger = dir, slog.New(slog.NewTextHandler(&said, nil)) }, "http://a.example/")
		if len(sum.Repeats) != 1 || sum.Repeats[0] != (crawler.Repeat{Under: "http://a.example/cycle/", Pages: 120}) {
			t.Errorf("%+v", sum.Repeats)
		}
	})
	if n := strings.Count(said.String(), "under=http://a.example/cycle/ pages=100"); n != 1 {
		t.Errorf("logged %d times: %s", n, said.String())
	}
}
