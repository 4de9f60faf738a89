package crawler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// If redirects of a seed pass several hosts, only the host at their end is added to the scope.
func TestPassedHostsStayOutOfScope(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "http://b.example/")
		w.Site("http://b.example").Redirect("/", "http://c.example/").Page("/page", "x").Page("/other", "x")
		w.Site("http://c.example").Page("/", `<a href="http://b.example/page">b</a><a href="/1">1</a>`).
			Page("/1", `<a href="http://b.example/other">b</a><a href="/2">2</a>`).Page("/2", "x")
		for _, limit := range []int{1, 0} { // the second run knows the host from the first run
			pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit = dir, limit }, "http://a.example/")
			if limit == 0 {
				wantPages(t, pages, "http://c.example/1", "http://c.example/2")
			}
		}
		w.AssertNeverFetched("http://b.example/page", "http://b.example/other")
	})
}

// A run with a narrower setting removes URLs from the queue, and a later run with a wider setting
// queues them again. So no URL is lost. Changed settings are reported and recorded.
func TestURLsPutAsideComeBack(t *testing.T) {
	const shelf, hub = 40, "http://a.example/"
	for _, narrow := range []struct {
		setting, is string
		change      func(*crawler.Options)
		kept        int // number of pages of the shelf that are still requested
	}{
		{"exclude", `/book/\d\d$`, func(o *crawler.Options) { o.Exclude = regexp.MustCompile(`/book/\d\d$`) }, 10},
		{"include", `/book/\d$`, func(o *crawler.Options) { o.Include = regexp.MustCompile(`/book/\d$`) }, 10},
		{"scope", "list", func(o *crawler.Options) { o.Scope = crawler.SeedsOnly() }, 0},
		{"depth", "1", func(o *crawler.Options) { o.Depth = 1 }, 0},
	} {
		t.Run(narrow.setting, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				links := ""
				for i := range shelf {
					links += fmt.Sprintf(`<a href="/book/%d">x</a>`, i)
					w.Site(hub).Page(fmt.Sprintf("/book/%d", i), "x")
				}
				w.Site(hub).Page("/", `<a href="/shelf">x</a>`).Page("/shelf", links)
				run := func(change func(*crawler.Options)) (crawler.Summary, crawler.Start) {
					t.Helper()
					var start crawler.Start
					o := crawler.Options{Identity: testIdentity, Seeds: []string{hub}, Wire: crawler.Wire{Network: w}, Dir: dir,
						Hooks: crawler.Hooks{OnStart: func(s crawler.Start) { start = s }}}
					change(&o)
					c, err := crawler.New(o)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.Run(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
					return c.Summary(), start
				}
				as := func(*crawler.Options) {}
				if _, start := run(func(o *crawler.Options) { o.Limit = 2 }); start.Resumed || start.Changes != nil {
					t.Errorf("the first start: %+v", start)
				}
				sum, start := run(narrow.change)
				if n := sum.SkippedURLs[frontier.ScopeNarrowed]; n != shelf-narrow.kept || sum.End != crawler.EndDone {
					t.Errorf("%d URLs are put aside, want %d; ended %q", n, shelf-narrow.kept, sum.End)
				}
				if want := (crawler.Change{Setting: "limit", Was: "2", Is: "none", Way: setting.Wider, Effect: setting.FromNowOn}); len(start.Changes) != 2 ||
					!slices.Contains(start.Changes, want) || !slices.ContainsFunc(start.Changes, func(c crawler.Change) bool {
					return c.Setting == narrow.setting && c.Is == narrow.is && c.Way == setting.Tighter
				}) {
					t.Errorf("changes: %v", start.Changes)
				}
				if _, again := run(narrow.change); again.Requeued != 0 || again.Changes != nil {
					t.Errorf("the same again: %+v", again)
				}
				sum, start = run(as)
				if start.Requeued != shelf-narrow.kept || sum.End != crawler.EndDone || sum.Frontier.Spent.Pages != 2+shelf {
					t.Errorf("wider: %+v; %d pages in all, ended %q", start, sum.Frontier.Spent.Pages, sum.End)
				}
				w.AssertPolite()
			})
			var said []string
			for _, l := range logLines(t, dir) {
				if l.URL == crawllog.RunURL {
					said = append(said, l.Annotations...)
				}
			}
			if text := strings.Join(said, "\n"); !strings.Contains(text, "changed:limit:2->none") ||
				!strings.Contains(text, "changed:"+narrow.setting+":") || !strings.Contains(text, fmt.Sprint("requeued:", shelf-narrow.kept)) {
				t.Errorf("crawl.log says %q", said)
			}
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// Values of header fields may be secrets, and are not logged.
func TestValuesOfChangedFieldsAreNotLogged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		for i, want := range []int{0, 0, 1} {
			var start crawler.Start
			_, _ = crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.OnStart = dir, func(s crawler.Start) { start = s }
				o.Header = http.Header{"X-Key": {fmt.Sprint("secret", i/2)}}
			}, "http://a.example/")
			if text := fmt.Sprint(start); len(start.Changes) != want || strings.Contains(text, "secret") {
				t.Errorf("start %d: %s", i, text)
			}
		}
	})
}

// Runs are narrowed, widened or stopped in random order. Then a last run with the whole scope
// fetches all pages.
func TestNarrowAndWideRunsAtRandom(t *testing.T) {
	for seed := range uint64(2) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := crawltest.New(t)
			const n = 60
			for h := range 3 {
				for i := range n {
					w.Site(fmt.Sprintf("http://h%d.example", h)).Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="/%d">a</a><a href="/%d">b</a><a href="http://h%d.example/%d">c</a>`, (i*2)%n, (i*2+1)%n, (h+1)%3, i))
				}
			}
			for run := 0; ; run++ {
				last := run == 12
				o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://h0.example/1"}, Wire: crawler.Wire{Network: w}, Dir: dir, Scope: crawler.Anywhere(), Pace: crawler.Pace{Delay: 200 * time.Millisecond}}
				ctx, cancel := context.WithCancel(t.Context())
				if !last {
					switch r.IntN(4) {
					case 0:
						o.Exclude = regexp.MustCompile(fmt.Sprintf("h%d|%d$", r.IntN(3), r.IntN(10)))
					case 1:
						o.Depth = 1 + r.IntN(4)
					case 2:
						o.Scope = crawler.SameHost()
					}
					time.AfterFunc(time.Duration(r.IntN(8000))*time.Millisecond, cancel)
					o.Rescan = r.IntN(3) == 0
				} else {
					o.Rescan = true
				}
				c, err := crawler.New(o)
				if err != nil {
					t.Fatal(err)
				}
				err = c.Run(ctx, nil)
				cancel()
				if last {
					sum := c.Summary()
					if err != nil || sum.End != crawler.EndDone || sum.Frontier.Spent.Pages != 3*n {
						t.Errorf("seed %d: %v %s; %d pages", seed, err, sum, sum.Frontier.Spent.Pages)
					}
					break
				}
			}
			w.AssertPolite()
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(seed, err) }); err != nil {
				t.Error(err)
			}
		})
	}
}
