package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// The table has settings for a slow site, and for the operator's own site.
func ExampleSitesByHost() {
	sites, err := crawler.SitesByHost(map[string]crawler.SiteOptions{
		"slow.example":         {Delay: 10 * time.Second},
		"archive.slow.example": {Exclude: true},
		"https://mine.example": {AllowForbidden: true, MaxPages: -1, Reason: "it is ours, and its robots.txt asks for a password"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sites("http://www.slow.example").Delay)
	fmt.Println(sites("https://archive.slow.example:8443").Exclude)
	fmt.Println(sites("http://mine.example").AllowForbidden, sites("https://mine.example").AllowForbidden)
	crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
		Seeds:    []string{"https://slow.example/", "https://mine.example/"},
		Site:     sites,
	})
	// Output:
	// 10s
	// true
	// false true
}

// table returns a function for Options.Site that looks up sites in all.
func table(t *testing.T, all map[string]crawler.SiteOptions) func(frontier.Site) crawler.SiteOptions {
	t.Helper()
	f, err := crawler.SitesByHost(all)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// row adds a site with a chain of pages, each of which links to the next one.
func row(w *crawltest.Web, origin string, pages int) *crawltest.Site {
	s := w.Site(origin)
	for i := range pages {
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="/%d">next</a>`, i+1))
	}
	return s
}

// runOf runs a crawl with a directory. It returns the crawl and its error.
func runOf(t *testing.T, w *crawltest.Web, h crawler.HandlerFunc, o crawler.Options) (*crawler.Crawler, error) {
	t.Helper()
	o.Identity, o.Network, o.RootCAs = testIdentity, w, w.RootCAs()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if h == nil {
		h = func(context.Context, *crawler.Page) error { return nil }
	}
	return c, c.Run(t.Context(), h)
}

// The delay of a single site applies from its first pause on. It also applies in a resumed run,
// after a kill, and in the first run with that setting. A delay below the usual one has no effect.
func TestASiteKeepsADelayOfItsOwn(t *testing.T) {
	const slow, usual, eager, late = "http://slow.example", "http://usual.example", "http://eager.example", "http://late.example"
	dir, killed := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "killed")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, origin := range []string{slow, usual, eager, late} {
			row(w, origin, 8)
		}
		all := map[string]crawler.SiteOptions{"slow.example": {Delay: 10 * time.Second}, "eager.example": {Delay: crawler.NoDelay}}
		o := crawler.Options{Dir: dir, Budget: crawler.Budget{Limit: 6}, Pace: crawler.Pace{Delay: 2 * time.Second}, Site: table(t, all),
			Seeds: []string{slow + "/0", usual + "/0", eager + "/0", late + "/0"}}
		if _, err := runOf(t, w, nil, o); err != nil {
			t.Fatal(err)
		}
		all["late.example"] = crawler.SiteOptions{Delay: 30 * time.Second}
		begun := time.Now()
		last := map[frontier.Site]time.Time{}
		for _, r := range w.Log() {
			last[r.Site] = r.End
		}
		o.Limit, o.Site = 0, table(t, all)
		if _, err := runOf(t, w, func(_ context.Context, p *crawler.Page) error {
			if p.URL.String() != slow+"/4" {
				return nil
			}
			return os.CopyFS(killed, os.DirFS(dir))
		}, o); err != nil {
			t.Fatal(err)
		}
		restarted := time.Now()
		o.Dir = killed
		if _, err := runOf(t, w, nil, o); err != nil {
			t.Fatal(err)
		}
		w.AssertDelay(slow, 10*time.Second)
		for _, origin := range []string{usual, eager} {
			w.AssertDelay(origin, 2*time.Second)
		}
		for _, r := range w.Log() {
			want := map[string]time.Duration{slow: 10 * time.Second, late: 30 * time.Second}[string(r.Site)]
			if !r.Start.Before(restarted) && r.Start.Sub(restarted) < max(want, 2*time.Second) {
				t.Errorf("%s came %v after the restart", r.URL(), r.Start.Sub(restarted))
			}
			if r.Site == late && !r.Start.Before(begun) && r.Start.Sub(last[late]) < want {
				t.Errorf("%s came %v after the last answer of another run", r.URL(), r.Start.Sub(last[late]))
			}
		}
		if n := w.Fetched(slow + "/5"); n != 2 {
			t.Errorf("the killed run was not continued: page 5 was requested %d times", n)
		}
		w.AssertPolite()
	})
	clocks := pausesKept(t, killed)
	if clocks["restart"] == 0 || clocks["own"] == 0 {
		t.Errorf("%v", clocks)
	}
}

// A site with a smaller budget ends there, and is reported like a site at the usual budget. A site
// with a larger budget gets more requests, even in a later run.
func TestASiteHasABudgetOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for _, name := range []string{"less", "usual", "more", "all"} {
			row(w, "http://"+name+".example", 9)
			seeds = append(seeds, "http://"+name+".example/0")
		}
		pages := func(name string) (n int) {
			for i := range 9 {
				n += w.Fetched(fmt.Sprintf("http://%s.example/%d", name, i))
			}
			return n
		}
		o := crawler.Options{Dir: dir, Seeds: seeds, Budget: crawler.Budget{MaxHostPages: 3}, Site: table(t, map[string]crawler.SiteOptions{
			"less.example": {MaxPages: 2}, "more.example": {MaxPages: 5, Reason: "asked for"}, "all.example": {MaxPages: -1, Reason: "asked for"},
		})}
		for run, want := range []map[string]int{{"less": 2, "usual": 3, "more": 5, "all": 9}, {"less": 2, "usual": 3, "more": 7, "all": 9}} {
			if run == 1 {
				o.Site = table(t, map[string]crawler.SiteOptions{"less.example": {MaxPages: 2}, "more.example": {MaxPages: 7, Reason: "asked for"}})
			}
			skipped := map[frontier.Code]int{}
			o.OnSkip = func(s crawler.Skip) { skipped[s.Code]++ }
			c, err := runOf(t, w, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			left := map[frontier.Code]int{frontier.BudgetSpent: 3} // each page links to one more
			if sum := c.Summary(); sum.End != crawler.EndUnasked || !maps.Equal(sum.Left, left) || !maps.Equal(skipped, left) || len(sum.Waiting) != 3 || !sum.Waiting[0].Over {
				t.Errorf("run %d: %s; OnSkip got %v; %+v", run, sum, skipped, sum.Waiting)
			}
			for s, err := range c.Left() {
				if err != nil || s.Code != frontier.BudgetSpent {
					t.Errorf("%+v, %v", s, err)
				}
			}
			for name, n := range want {
				if got := pages(name); got != n {
					t.Errorf("run %d: %d pages of %s, want %d", run, got, name, n)
				}
			}
		}
	})
}

// Limits of bytes and of time for a single site work like the limits for all sites.
func TestASiteHasBytesAndTimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for _, name := range []string{"bytes", "time", "usual"} {
			row(w, "http://"+name+".example", 5).Latency(time.Second)
			seeds = append(seeds, "http://"+name+".example/0")
		}
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.Site = table(t, map[string]crawler.SiteOptions{"bytes.example": {MaxBytes: 1}, "time.example": {MaxTime: 3 * time.Second}})
		}, seeds...)
		w.AssertNeverFetched("http://bytes.example/1", "http://time.example/2")
		w.AssertFetched("http://time.example/1", "http://usual.example/4")
		if sum.Left[frontier.BudgetSpent] != 2 {
			t.Errorf("%s", sum)
		}
	})
}

// An excluded site gets no request: not for a seed, a link, a redirect of a seed, an image, or a
// redirect of a robots.txt. Links out of the scope of a site are refused. When the setting is
// removed, the URLs that were taken out of the queue are requested.
func TestExcludedSitesGetNoRequest(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/in/1">x</a><a href="/out/1">x</a><a href="http://no.example/1">x</a><img src="http://no.example/i"><img src="/out/i">`).
			Page("/in/1", "x").Page("/out/1", "x").Page("/out/i", "x")
		w.Site("http://no.example").Page("/", "x").Page("/1", "x").Page("/i", "x")
		w.Site("http://to.example").Redirect("/", "http://no.example/1")
		w.Site("http://rules.example").Redirect("/robots.txt", "http://no.example/robots.txt").Page("/", "x")
		o := crawler.Options{Dir: dir, Scope: crawler.Anywhere(), Follow: crawler.Follow{Requisites: true},
			Seeds: []string{"http://a.example/", "http://no.example/", "http://to.example/", "http://rules.example/"}}
		in := crawler.ScopeFunc(func(e frontier.Entry) bool { return strings.HasPrefix(e.URL.Target(), "/in/") })
		o.Site = table(t, map[string]crawler.SiteOptions{"no.example": {Exclude: true, Reason: "they asked by mail"}, "a.example": {Scope: in}})
		c, err := runOf(t, w, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Log() {
			if r.Site == "http://no.example" {
				t.Errorf("%s was requested", r.URL())
			}
		}
		w.AssertFetched("http://a.example/in/1", "http://a.example/out/i")
		w.AssertNeverFetched("http://a.example/out/1", "http://rules.example/")
		if n := c.Summary(); n.SkippedLinks[frontier.OutOfScope] != 1 || n.SkippedLinks[frontier.OptedOut] != 3 || n.SkippedURLs[frontier.OptedOut] != 1 {
			t.Errorf("links %v, URLs %v", n.SkippedLinks, n.SkippedURLs)
		}
		o.Site = nil
		if _, err := runOf(t, w, nil, o); err != nil {
			t.Fatal(err)
		}
		w.AssertFetched("http://no.example/")
		w.AssertPolite()
	})
	lines := logLines(t, dir)
	if !slices.ContainsFunc(lines, func(l *crawllog.Line) bool {
		why, _ := l.Annotation("optout")
		return l.URL == "http://no.example/" && l.Status == crawllog.OptedOut && why == "Site:%20they%20asked%20by%20mail"
	}) {
		t.Error("crawl.log does not say why a seed was not requested")
	}
}

// If a queued page is out of the current scope of its site, it is taken out of the queue.
func TestAScopeOfASiteCountsForWhatIsQueued(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">x</a><a href="/2">x</a>`).Page("/1", "x").Page("/2", "x")
		narrow := table(t, map[string]crawler.SiteOptions{
			"a.example": {Scope: crawler.ScopeFunc(func(e frontier.Entry) bool { return e.URL.Target() != "/1" })},
		})
		for _, run := range []struct {
			limit        int
			site         func(frontier.Site) crawler.SiteOptions
			aside, asked int
		}{{limit: 1}, {site: narrow, aside: 1}, {asked: 1}} {
			c, err := runOf(t, w, nil, crawler.Options{Dir: dir, Seeds: []string{"http://a.example/"}, Budget: crawler.Budget{Limit: run.limit}, Site: run.site})
			if err != nil {
				t.Fatal(err)
			}
			if n, asked := c.Summary().SkippedURLs[frontier.ScopeNarrowed], w.Fetched("http://a.example/1"); n != run.aside || asked != run.asked {
				t.Errorf("%+v: %d put aside, /1 was requested %d times", run, n, asked)
			}
		}
	})
}

// If a robots.txt has the status 403, only a site with AllowForbidden and a Reason gets requests
// for pages. The reason is logged once in each run, and written to crawl.log.
//
// For site owners: "If robots.txt answers 401, 402, 403 or 451, nothing of the site is fetched,
// unless the operator sets `--robots-forbidden allow`, as RFC 9309 permits, or a program sets it
// for one site, with a reason that the log keeps."
func TestASiteMayBeCrawledThoughItsRobotsTxtIsForbidden(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, origin := range []string{"http://mine.example", "http://www.mine.example", "http://a.example"} {
			w.Site(origin).Status("/robots.txt", http.StatusForbidden).Page("/", `<a href="/1">x</a>`).Page("/1", "x")
		}
		for range 2 {
			c, err := runOf(t, w, nil, crawler.Options{Dir: dir, Seeds: []string{"http://mine.example/", "http://www.mine.example/", "http://a.example/"},
				Hooks: crawler.Hooks{Logger: slog.New(slog.NewTextHandler(&said, nil))}, Site: table(t, map[string]crawler.SiteOptions{
					"mine.example": {AllowForbidden: true, MaxPages: 20000, Delay: 2 * time.Second, Header: http.Header{"X-Key": {"7"}}, Reason: "it is ours, as agreed"},
				})})
			if err != nil || c.Summary().End != crawler.EndDone {
				t.Fatal(c.Summary(), err)
			}
		}
		w.AssertFetched("http://mine.example/1", "http://www.mine.example/1")
		w.AssertNeverFetched("http://a.example/", "http://a.example/1")
		for _, r := range w.Log() {
			if sent := r.Header.Get("X-Key"); (sent == "7") != (r.Site != "http://a.example") {
				t.Errorf("%s was asked with the field %q", r.URL(), sent)
			}
		}
	})
	const want = `site=http://mine.example allows="max-host-pages=20000" allows="robots-forbidden=allow" reason="it is ours, as agreed"`
	if n := strings.Count(said.String(), want); n != 1 {
		t.Errorf("logged %d times, want once, in the run that had requests:\n%s", n, said.String())
	}
	var kept []string
	for _, l := range logLines(t, dir) {
		if l.URL == crawllog.RunURL && strings.HasPrefix(l.Annotations[0], "site:") {
			kept = append(kept, strings.Join(l.Annotations, " "))
		}
	}
	slices.Sort(kept)
	for i, site := range []string{"http://mine.example", "http://www.mine.example"} {
		if want := "site:" + site + " own:delay=2s own:header=X-Key allows:max-host-pages=20000 allows:robots-forbidden=allow reason:it%20is%20ours%2C%20as%20agreed"; len(kept) != 2 || kept[i] != want {
			t.Fatalf("crawl.log has\n%s\nwant\n%s", strings.Join(kept, "\n"), want)
		}
	}
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
}

// Invalid settings of a site are reported with field and site: by CheckSite before the crawl, and
// by the error of Run. The site gets no request until they are corrected, and no URL is lost.
func TestSettingsOfASiteThatAreNotValid(t *testing.T) {
	for _, test := range []struct {
		name  string
		o     crawler.SiteOptions
		field string
		crawl crawler.Options // options with which the settings are valid
	}{
		{"AllowForbidden", crawler.SiteOptions{AllowForbidden: true}, "Site.AllowForbidden", crawler.Options{Robots: crawler.Robots{AllowForbidden: true}}},
		{"more pages", crawler.SiteOptions{MaxPages: crawler.DefaultHostPages + 1}, "Site.MaxPages", crawler.Options{Budget: crawler.Budget{MaxHostPages: -1}}},
		{"all pages", crawler.SiteOptions{MaxPages: -1}, "Site.MaxPages", crawler.Options{Budget: crawler.Budget{MaxHostPages: -1}}},
		{"more bytes", crawler.SiteOptions{MaxBytes: 101}, "Site.MaxBytes", crawler.Options{}},
		{"all time", crawler.SiteOptions{MaxTime: -1}, "Site.MaxTime", crawler.Options{}},
		{"a field", crawler.SiteOptions{Header: http.Header{"Host": {"x"}}, Reason: "none is enough"}, "Site.Header", crawler.Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			strict := crawler.Options{Budget: crawler.Budget{MaxHostBytes: 100, MaxHostTime: time.Hour}}
			var invalid *crawler.OptionError
			if err := strict.CheckSite(test.o); !errors.As(err, &invalid) || invalid.Field != test.field || invalid.Site != "" {
				t.Errorf("CheckSite: %v", err)
			}
			if err := test.crawl.CheckSite(test.o); (err == nil) != (test.field != "Site.Header") {
				t.Errorf("where the crawl allows as much: %v", err)
			}
			if with := test.o; test.field != "Site.Header" {
				if with.Reason = "asked for"; strict.CheckSite(with) != nil {
					t.Errorf("with a reason: %v", strict.CheckSite(with))
				}
			}
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://good.example").Page("/", `<a href="http://bad.example/1">x</a>`)
				w.Site("http://bad.example").Page("/1", "x")
				o := strict
				o.Dir, o.Scope, o.Seeds = dir, crawler.Anywhere(), []string{"http://good.example/"}
				o.Site = table(t, map[string]crawler.SiteOptions{"bad.example": test.o})
				_, err := runOf(t, w, nil, o)
				if !errors.As(err, &invalid) || invalid.Field != test.field || invalid.Site != "http://bad.example" || !strings.Contains(err.Error(), test.field+` of "http://bad.example": `) {
					t.Errorf("Run: %v", err)
				}
				for _, r := range w.Log() {
					if r.Site == "http://bad.example" {
						t.Errorf("%s was requested", r.URL())
					}
				}
				o.Site = nil
				if _, err := runOf(t, w, nil, o); err != nil {
					t.Fatal(err)
				}
				w.AssertFetched("http://good.example/", "http://bad.example/1")
			})
		})
	}
}

// If Options.Site panics, the crawl ends, but not the process. It may be called for a visit or for
// a link. The next run continues.
func TestAPanicAboutASiteEndsTheCrawl(t *testing.T) {
	for _, bad := range []frontier.Site{"http://a.example", "http://b.example"} {
		t.Run(string(bad), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", `<a href="http://b.example/">x</a>`)
				w.Site("http://b.example").Page("/", "x")
				bug := errors.New("a bug")
				for _, mended := range []bool{false, true} {
					_, err := runOf(t, w, nil, crawler.Options{Dir: dir, Scope: crawler.Anywhere(), Seeds: []string{"http://a.example/"}, Site: func(s frontier.Site) crawler.SiteOptions {
						if s == bad && !mended {
							panic(bug)
						}
						return crawler.SiteOptions{}
					}})
					var panicked *crawler.PanicError
					if mended && err != nil || !mended && (!errors.As(err, &panicked) || panicked.Where != "Site" || !errors.Is(err, bug)) {
						t.Errorf("mended %t: %v", mended, err)
					}
				}
				w.AssertFetched("http://a.example/", "http://b.example/")
			})
		})
	}
}

// If Options.Site blocks for one site, other visits do not wait and no lock is held: the other
// sites are crawled, and the methods of the crawl work.
func TestAFunctionSiteThatBlocksBlocksOnlyThatSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		row(w, "http://a.example", 5)
		row(w, "http://stuck.example", 5)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		var c *crawler.Crawler
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: []string{"http://stuck.example/0", "http://a.example/0"},
			Site: func(s frontier.Site) crawler.SiteOptions {
				c.Stats()
				if s == "http://stuck.example" {
					<-ctx.Done()
					time.Sleep(time.Second) // after that the crawl has noticed it
				}
				return crawler.SiteOptions{}
			}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, nil) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		w.AssertFetched("http://a.example/4")
		if st := c.Stats(); st.Pages != 5 || st.Frontier.Out != 1 {
			t.Errorf("%d pages, %d turns out", st.Pages, st.Frontier.Out)
		}
		if err := c.Allow(func(l *crawler.Limits) { l.Pages = 100 }); err != nil {
			t.Error(err)
		}
		c.Summary()
		cancel(enough)
		if err := <-ended; !errors.Is(err, enough) {
			t.Errorf("Run: %v", err)
		}
		w.AssertNeverFetched("http://stuck.example/robots.txt", "http://stuck.example/0")
	})
}

// With random settings that change at each call, no site gets a request that its robots.txt
// forbids, or more requests than the options permit.
func TestNoSettingsOfSitesMakeACrawlImpolite(t *testing.T) {
	for seed := range uint64(3) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			w := crawltest.New(t)
			var seeds []string
			for i := range 6 {
				origin := fmt.Sprintf("http://s%d.example", i)
				s := row(w, origin, 12).Robots("User-agent: *\nDisallow: /forbidden\n").Page("/forbidden", "x")
				s.Page("/0", fmt.Sprintf(`<a href="/1">x</a><a href="/forbidden">x</a><a href="http://s%d.example/2">x</a>`, (i+1)%6))
				seeds = append(seeds, origin+"/0")
			}
			var mu sync.Mutex
			draw := func(n int64) int64 {
				mu.Lock()
				defer mu.Unlock()
				return rng.Int64N(n)
			}
			o := crawler.Options{Dir: dir, Seeds: seeds, Scope: crawler.Anywhere(), Pace: crawler.Pace{Delay: 2 * time.Second}, Budget: crawler.Budget{MaxHostPages: 8, Patience: frontier.Forever},
				Site: func(frontier.Site) crawler.SiteOptions {
					return crawler.SiteOptions{
						Delay: max(-1, time.Duration(draw(int64(20*time.Second)))-10*time.Second), MaxPages: int(draw(14)) - 1,
						AllowForbidden: draw(2) == 0, Reason: "a reason", Header: http.Header{"X": {"y"}},
						Scope: crawler.ScopeFunc(func(frontier.Entry) bool { return draw(9) > 0 }),
					}
				}}
			crawler.SetSmallestBounds(&o, 0)
			for range 2 {
				if _, err := runOf(t, w, nil, o); err != nil {
					t.Fatal(err)
				}
			}
			w.AssertPolite()
			w.AssertDelay("", 2*time.Second)
			for _, origin := range seeds {
				w.AssertNeverFetched(strings.TrimSuffix(origin, "0") + "forbidden")
			}
		})
	}
}

// A key of the table is a host with all its subdomains, or a single site. The most specific key
// applies.
func TestSitesByHost(t *testing.T) {
	all := map[string]crawler.SiteOptions{}
	for _, key := range []string{"a.example", "WWW.A.example", "http://www.a.example:8080", "192.0.2.7", "2001:db8::1", "bücher.example", "https://b.example/"} {
		all[key] = crawler.SiteOptions{Reason: key}
	}
	f := table(t, all)
	delete(all, "a.example")
	for site, want := range map[frontier.Site]string{
		"http://a.example": "a.example", "https://a.example:8443": "a.example", "http://x.y.a.example": "a.example", "http://www.a.example": "WWW.A.example",
		"http://deep.www.a.example": "WWW.A.example", "http://www.a.example:8080": "http://www.a.example:8080", "https://www.a.example:8080": "WWW.A.example",
		"http://ba.example": "", "http://example": "", "http://192.0.2.7": "192.0.2.7", "http://1.192.0.2": "", "https://[2001:db8::1]:8443": "2001:db8::1",
		"https://xn--bcher-kva.example": "bücher.example", "https://b.example": "https://b.example/", "http://b.example": "",
	} {
		if got := f(site).Reason; got != want {
			t.Errorf("%s: %q, want %q", site, got, want)
		}
	}
	for key, want := range map[string]string{
		"": "neither a host", "a.example:80": "neither a host", "a b.example": "neither a host", "*.example": "neither a host", "http://a.example/x": "is a page", "gopher://a.example": "",
		"A.Example.": `does, too: take one`,
	} {
		f, err := crawler.SitesByHost(map[string]crawler.SiteOptions{key: {}, "a.example": {}})
		var invalid *crawler.OptionError
		if f != nil || !errors.As(err, &invalid) || invalid.Site != key && !strings.Contains(want, "does") || invalid.Field != "Site" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
