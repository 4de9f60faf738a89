package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A hook is a function or method of the program that a crawl calls.
type hook struct {
	put func(o *crawler.Options, bug func())                            // sets an option so that the hook calls bug; nil if run does that
	run func(ctx context.Context, c *crawler.Crawler, bug func()) error // runs the crawl; nil: Crawler.Run without a handler

	// The program calls the hook on its own goroutine, so a panic or the end of the goroutine stays
	// there.
	own   bool
	page  bool // a panic is an error of the page, and does not end the run
	log   bool // a panic loses only a line of the log
	inRun bool // the goroutine that calls Run calls the hook
	apart bool // the run continues if the hook ends the goroutine
}

func runFor(h func(bug func()) crawler.Handler) func(context.Context, *crawler.Crawler, func()) error {
	return func(ctx context.Context, c *crawler.Crawler, bug func()) error { return c.Run(ctx, h(bug)) }
}

var hooks = map[string]hook{
	"Handle": {run: runFor(func(bug func()) crawler.Handler {
		return crawler.HandlerFunc(func(context.Context, *crawler.Page) error { bug(); return nil })
	}), page: true},
	"Handle of Tags": {run: runFor(func(bug func()) crawler.Handler {
		return crawler.Tags{"": crawler.HandlerFunc(func(context.Context, *crawler.Page) error { bug(); return nil }), "nil": nil}
	}), page: true},
	"parse of Batches": {run: func(ctx context.Context, c *crawler.Crawler, bug func()) error {
		parse := func(context.Context, *crawler.Page) ([]int, error) { bug(); return []int{1}, nil }
		for _, err := range crawler.Batches(ctx, c, 2, 0, parse) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"the loop over Batches": {run: func(ctx context.Context, c *crawler.Crawler, bug func()) error {
		for _, err := range crawler.Batches(ctx, c, 2, 0, books) {
			if err != nil {
				return err
			}
			bug()
		}
		return nil
	}, own: true},
	"the loop over Pages": {run: func(ctx context.Context, c *crawler.Crawler, bug func()) error {
		for _, err := range c.Pages(ctx) {
			if err != nil {
				return err
			}
			bug()
		}
		return nil
	}, own: true},
	"OnStart": {put: func(o *crawler.Options, bug func()) { o.OnStart = func(crawler.Start) { bug() } }, inRun: true},
	"OnError": {put: func(o *crawler.Options, bug func()) { o.OnError = func(*crawler.Page, error) { bug() } }, run: runFor(func(func()) crawler.Handler {
		return crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return errors.New("for OnError") })
	})},
	"OnVisit": {put: func(o *crawler.Options, bug func()) { o.OnVisit = func(crawler.Visited) { bug() } }},
	"OnSkip":  {put: func(o *crawler.Options, bug func()) { o.OnSkip = func(crawler.Skip) { bug() } }},
	"MaxBody": {put: func(o *crawler.Options, bug func()) {
		o.MaxBody = func(*fetch.Exchange) int64 { bug(); return 1 << 20 }
	}},
	"Links": {put: func(o *crawler.Options, bug func()) {
		o.Links = func(*crawler.Page, *crawler.Link) bool { bug(); return true }
	}},
	"Rewrite": {put: func(o *crawler.Options, bug func()) {
		o.Rewrite = func(u frontier.URL) frontier.URL { bug(); return u }
	}},
	"Same":     {put: func(o *crawler.Options, bug func()) { o.Same = func(u frontier.URL) frontier.URL { bug(); return u } }},
	"Contains": {put: func(o *crawler.Options, bug func()) { o.Scope = buggyScope{o.Scope, bug, nil} }},
	"Admit": {put: func(o *crawler.Options, bug func()) {
		o.Scope, o.Seeds = buggyScope{o.Scope, nil, bug}, append(o.Seeds, "http://a.example/moved")
	}},
	"OptOut": {put: func(o *crawler.Options, bug func()) { o.OptOut = func(frontier.URL) string { bug(); return "" } }},
	"Site": {put: func(o *crawler.Options, bug func()) {
		o.Site = func(frontier.Site) crawler.SiteOptions { bug(); return crawler.SiteOptions{} }
	}},
	"Scope of Site": {put: func(o *crawler.Options, bug func()) {
		o.Site = func(frontier.Site) crawler.SiteOptions {
			return crawler.SiteOptions{Scope: crawler.ScopeFunc(func(frontier.Entry) bool { bug(); return true }), Reason: "a test"}
		}
	}},
	"Revisit": {put: func(o *crawler.Options, bug func()) {
		o.Patience, o.Revisit = time.Minute, revisit.PolicyFunc(func(revisit.Visit) time.Duration { bug(); return 30 * 24 * time.Hour })
	}},
	"Handle of Logger":  {put: func(o *crawler.Options, bug func()) { o.Logger = slog.New(buggyLog{slog.DiscardHandler, nil, bug}) }, run: failingPages, log: true},
	"Enabled of Logger": {put: func(o *crawler.Options, bug func()) { o.Logger = slog.New(buggyLog{slog.DiscardHandler, bug, nil}) }, run: failingPages, log: true},
	"LookupNetIP":       {put: func(o *crawler.Options, bug func()) { o.Network = buggyNetwork{o.Network, bug, nil} }, apart: true},
	"DialContext":       {put: func(o *crawler.Options, bug func()) { o.Network = buggyNetwork{o.Network, nil, bug} }},
	"Proxy": {put: func(o *crawler.Options, bug func()) {
		o.Proxy = func(*url.URL) (*url.URL, error) { bug(); return nil, nil }
	}},
}

// failingPages runs a crawl with a handler that always fails, so that the crawl writes to the log.
func failingPages(ctx context.Context, c *crawler.Crawler, _ func()) error {
	return c.Run(ctx, crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return errors.New("for the log") }))
}

// A buggyScope calls functions in Contains and Admit, unless they are nil.
type buggyScope struct {
	crawler.Scope
	contains, admit func()
}

func (s buggyScope) Contains(e frontier.Entry) bool {
	if s.contains != nil {
		s.contains()
	}
	return s.Scope.Contains(e)
}

func (s buggyScope) Admit(root frontier.URL) {
	if s.admit != nil {
		s.admit()
	}
	s.Scope.Admit(root)
}

// A buggyNetwork calls functions before a look-up and before a connection, unless they are nil.
type buggyNetwork struct {
	fetch.Network
	lookup, dial func()
}

func (n buggyNetwork) Clocks() frontier.Shared { return n.Network.(*crawltest.Web).Clocks() }

func (n buggyNetwork) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if n.lookup != nil {
		n.lookup()
	}
	return n.Network.LookupNetIP(ctx, network, host)
}

func (n buggyNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if n.dial != nil {
		n.dial()
	}
	return n.Network.DialContext(ctx, network, address)
}

// A buggyLog calls functions in Enabled and Handle, unless they are nil.
type buggyLog struct {
	slog.Handler
	enabled, handle func()
}

func (l buggyLog) Enabled(context.Context, slog.Level) bool {
	if l.enabled != nil {
		l.enabled()
	}
	return true
}

func (l buggyLog) Handle(context.Context, slog.Record) error {
	if l.handle != nil {
		l.handle()
	}
	return nil
}

// A buggyWeb is a small web, and a crawl of it with one hook that misbehaves.
type buggyWeb struct {
	*crawltest.Web
	hook
	dir   string
	begun time.Time
	acts  atomic.Int64 // number of times that the hook has misbehaved
}

func newBuggyWeb(t *testing.T, h hook, dir string) *buggyWeb {
	w := crawltest.New(t)
	w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 2\nDisallow: /no").
		Page("/", `<a href=/1>x</a><a href="/2?b=1&a=2">x</a><a href=/moved>x</a><a href=/no>x</a><a href=http://out.example/>x</a>`).
		Page("/1", `<a href=/3>x</a>`).Page("/2?b=1&a=2", "two").Page("/3", "three").Redirect("/moved", "http://c.example/")
	w.Site("http://b.example").Page("/", `<a href=/1>x</a>`).Page("/1", "one")
	w.Site("http://c.example").Page("/", "c")
	return &buggyWeb{Web: w, hook: h, dir: dir, begun: time.Now()}
}

// errBug is the value of each panic of a hook.
var errBug = errors.New("a bug")

// run makes one run in which the hook calls act; with a nil act the hook behaves well. It returns
// the error of the run. If the goroutine that called Run has panicked or ended, returned is false
// and bad is the value of the panic.
func (w *buggyWeb) run(ctx context.Context, t *testing.T, act func(*crawler.Crawler)) (c *crawler.Crawler, returned bool, bad any, err error) {
	t.Helper()
	var crawl atomic.Pointer[crawler.Crawler] // nil until New has returned
	var acting atomic.Int64                   // keeps a hook from misbehaving again inside its own call
	bug := func() {
		if c := crawl.Load(); c != nil && act != nil {
			w.acts.Add(1)
			defer acting.Add(-1)
			if acting.Add(1) <= 2 {
				act(c)
			}
		}
	}
	o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/"}, Scope: crawler.SameHost(), Dir: w.dir,
		Wire: crawler.Wire{Network: w.Web}, Pace: crawler.Pace{Concurrency: 3, Shared: crawler.NoShared}, // NoShared, so that only the directory knows the pauses of the previous run
		Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
	if act == nil {
		o.Patience = 48 * time.Hour // sites may wait long after their failures
	}
	if w.put != nil {
		w.put(&o, bug)
	}
	c, err = crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	crawl.Store(c)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { bad = recover() }()
		if w.hook.run != nil {
			err = w.hook.run(ctx, c, bug)
		} else {
			err = c.Run(ctx, nil)
		}
		returned = true
	}()
	<-ended
	return c, returned, bad, err
}

// assertComplete makes a run with a hook that behaves well. It checks that no page is lost, that no
// request was too early, and that no forbidden request was made.
func (w *buggyWeb) assertComplete(t *testing.T) {
	t.Helper()
	c, returned, _, err := w.run(t.Context(), t, nil)
	if err != nil || !returned || c.Summary().End != crawler.EndDone && c.Summary().End != crawler.EndPatience {
		t.Errorf("the last run: %v, %v", err, c.Summary())
	}
	for _, url := range []string{
		"http://a.example/", "http://a.example/1", "http://a.example/2?b=1&a=2", "http://a.example/3", "http://a.example/moved", "http://b.example/", "http://b.example/1",
	} {
		if n := w.Fetched(url); n < 1 || n > 2 { // twice if the first run could not end its visit
			t.Errorf("%s was requested %d times", url, n)
		}
	}
	w.AssertNeverFetched("http://a.example/no", "http://out.example/")
	w.AssertPolite()
	w.AssertDelay("http://a.example", 2*time.Second)
	w.AssertDelay("http://b.example", time.Second)
	time.Sleep(10 * time.Minute) // a slow Logger may still be writing
	if w.acts.Load() == 0 {
		t.Error("the hook was not called")
	}
}

// eachHook runs a test for each hook, in virtual time, with a crawl in a directory.
func eachHook(t *testing.T, test func(t *testing.T, w *buggyWeb)) {
	var done atomic.Int64
	watchdog(t, &done)
	for name, h := range hooks {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { test(t, newBuggyWeb(t, h, dir)) })
			done.Add(1)
		})
	}
}

// A panic of a hook never ends the process. In a handler it is an error of the page. In a Logger it
// loses a line. In the body of a loop the caller has to recover from it. In every other hook it
// ends the run with a *PanicError. The next run fetches the missing pages.
func TestEachHookThatPanics(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		c, returned, bad, err := w.run(t.Context(), t, func(*crawler.Crawler) { panic(errBug) })
		var panicked *crawler.PanicError
		switch {
		case w.own:
			if returned || bad != errBug {
				t.Errorf("returned: %v, %v, panic %v", returned, err, bad)
			}
		case w.page, w.log:
			if err != nil || !returned || w.page && c.Summary().Handler == 0 {
				t.Errorf("%v, %v", err, c.Summary())
			}
		case !returned || !errors.As(err, &panicked) || !errors.Is(err, errBug) || panicked.Where == "" || len(panicked.Stack) == 0:
			t.Errorf("returned: %v, %v", returned, err)
		}
		w.assertComplete(t)
	})
}

// If a hook ends its goroutine, the run ends with an error that says so.
func TestEachHookThatEndsItsGoroutine(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		_, returned, _, err := w.run(t.Context(), t, func(*crawler.Crawler) { runtime.Goexit() })
		switch {
		case w.own || w.inRun && !returned:
			if returned {
				t.Errorf("returned %v", err)
			}
		case w.apart:
			if err != nil {
				t.Error(err)
			}
		case !returned || err == nil || !strings.Contains(err.Error(), "Goexit"):
			t.Errorf("returned: %v, %v", returned, err)
		}
		w.assertComplete(t)
	})
}

// If a hook blocks until the context ends, the run ends at that time.
func TestEachHookThatBlocksUntilTheContextEnds(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c, returned, _, err := w.run(ctx, t, func(*crawler.Crawler) { <-ctx.Done() })
		if took := time.Since(w.begun); took > 11*time.Minute {
			t.Errorf("the run took %v", took)
		}
		if !returned || err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && !w.apart && c.Summary().End != crawler.EndDone {
			t.Errorf("returned: %v, %v, %v", returned, err, c.Summary())
		}
		w.assertComplete(t)
	})
}

// A slow hook delays only its own site, by the duration of its calls, and loses nothing.
func TestEachHookThatIsSlow(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		_, returned, _, err := w.run(t.Context(), t, func(*crawler.Crawler) { time.Sleep(7 * time.Minute) })
		if err != nil || !returned {
			t.Errorf("returned: %v, %v", returned, err)
		}
		if took := time.Since(w.begun); took > time.Duration(w.acts.Load()+3)*7*time.Minute {
			t.Errorf("%d calls took %v", w.acts.Load(), took)
		}
		w.assertComplete(t)
	})
}

// If a hook calls methods of its own crawl, it gets their results, and the crawl continues.
func TestEachHookThatCallsTheCrawl(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		var wrong atomic.Pointer[error]
		_, returned, _, err := w.run(t.Context(), t, func(c *crawler.Crawler) {
			if err := callAll(c); err != nil {
				wrong.Store(&err)
			}
		})
		if p := wrong.Load(); p != nil {
			t.Error(*p)
		}
		if err != nil || !returned {
			t.Errorf("returned: %v, %v", returned, err)
		}
		w.assertComplete(t)
	})
}

// callAll calls each method of a running crawl except Stop. The calls change the crawl, but not the
// pages that it fetches. The error names each wrong result.
func callAll(c *crawler.Crawler) error {
	var errs []error
	for name, err := range map[string]error{
		"Pause":  c.Pause("x"),
		"Resume": c.Resume("x"),
		"Slow":   c.Slow("http://b.example", 3*time.Second, "x"),
		"Add":    second(c.Add("http://a.example/1")),
		"Seed":   c.Seed("x", "http://a.example/1"),
		"Allow":  c.Allow(func(l *crawler.Limits) { l.Pages = 1000 }),
		"Limit":  c.Limit("x", func(l *crawler.Limits) { l.Bytes = 1 << 40 }),
	} {
		if err != nil && !errors.Is(err, crawler.ErrEnded) { // the last hooks are called when the run ends
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := c.Run(context.Background(), nil); !errors.Is(err, crawler.ErrRan) {
		errs = append(errs, fmt.Errorf("Run: %w", err))
	}
	for _, err := range c.Pages(context.Background()) {
		if !errors.Is(err, crawler.ErrRan) {
			errs = append(errs, fmt.Errorf("Pages: %w", err))
		}
	}
	for _, err := range c.Left() {
		errs = append(errs, err)
	}
	if _, err := c.Records(); err != nil && !errors.Is(err, crawler.ErrEnded) {
		errs = append(errs, fmt.Errorf("Records: %w", err))
	}
	_, _, _ = c.Status(), c.Stats(), c.Summary().String()
	_, _ = c.Orders(), c.Limits()
	c.Oldest()
	c.Longest(time.Now())
	c.Idle()
	return errors.Join(errs...)
}

// If a hook stops its crawl and excludes the site, the run ends without an error.
func TestEachHookThatStopsTheCrawl(t *testing.T) {
	eachHook(t, func(t *testing.T, w *buggyWeb) {
		c, returned, _, err := w.run(t.Context(), t, func(c *crawler.Crawler) { c.Stop(); c.Stop() })
		if err != nil || !returned {
			t.Errorf("returned: %v, %v", returned, err)
		}
		if end := c.Summary().End; end != crawler.EndStopped && end != crawler.EndDone {
			t.Errorf("ended by %q", end)
		}
		w.assertComplete(t)
	})
}

// If a hook changes the maps and slices that it gets, no request changes.
func TestHooksThatChangeWhatTheyGet(t *testing.T) {
	header := func(h http.Header) {
		for name := range h {
			h[name] = []string{"evil"}
		}
		h.Set("X-Evil", "evil")
	}
	for name, put := range map[string]func(o *crawler.Options){
		"MaxBody": func(o *crawler.Options) {
			o.MaxBody = func(x *fetch.Exchange) int64 {
				header(x.Header)
				header(x.RequestHeader)
				x.Status, x.Started, x.URL = 200, time.Time{}, frontier.URL{}
				return 1 << 20
			}
		},
		"OnVisit": func(o *crawler.Options) { o.OnVisit = func(v crawler.Visited) { clear(v.Requests) } },
		"OnStart": func(o *crawler.Options) { o.OnStart = func(s crawler.Start) { clear(s.Orders) } },
		"Links": func(o *crawler.Options) {
			o.Links = func(p *crawler.Page, l *crawler.Link) bool {
				header(p.Header)
				header(p.Exchange.RequestHeader)
				l.URL, l.Hop, l.NoFollow = frontier.URL{}, '?', true
				clear(p.Links())
				return true
			}
		},
		"Proxy": func(o *crawler.Options) {
			o.Proxy = func(u *url.URL) (*url.URL, error) { *u = url.URL{Host: "evil.example"}; return nil, nil }
		},
		"Site": func(o *crawler.Options) {
			given := map[frontier.Site]http.Header{}
			o.Concurrency = 1
			o.Site = func(site frontier.Site) crawler.SiteOptions {
				given[site] = http.Header{"X-Key": {"k"}}
				return crawler.SiteOptions{Header: given[site], Reason: "a key"}
			}
			o.OnVisit = func(v crawler.Visited) { header(given[v.Entry.URL.Site()]) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBuggyWeb(t, hook{}, "")
				c := newCrawl(t, w.Web, put, "http://a.example/", "http://b.example/")
				if err := c.Run(t.Context(), nil); err != nil {
					t.Error(err)
				}
				for _, r := range w.Log() {
					if r.UserAgent != testIdentity.UserAgent() || r.Header.Get("X-Evil") != "" || slices.Contains(r.Header["Accept"], "evil") {
						t.Errorf("%s was requested with %v", r.URL(), r.Header)
					}
				}
				if got := c.Summary().Fetched; got < 3 {
					t.Errorf("%d pages", got)
				}
				w.AssertNeverFetched("http://a.example/no", "http://out.example/")
				w.AssertPolite()
				time.Sleep(time.Minute)
			})
		})
	}
}
