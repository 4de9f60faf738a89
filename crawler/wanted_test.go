package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
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

// If a link is refused on one page, the next page with the link is judged anew: the link is
// reported again, or is queued.
func TestLinksAreJudgedForEachPage(t *testing.T) {
	for _, others := range []int{0, 2000} { // 2000 is more than a worker keeps in memory
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			many := ""
			for i := range others {
				many += fmt.Sprintf(`<a href="http://b.example/%d">b</a>`, i)
			}
			w.Site("http://a.example").
				Page("/", `<a href="/1">1</a><a href="http://b.example/">b</a><a href="http://b.example/">b</a><a href="/">itself</a>`).
				Page("/1", many+`<a href="/2">2</a><a href="http://b.example/">b</a>`).
				Page("/2", `<a href="/deep">d</a><a href="http://b.example/">b</a>`)
			var told []string
			pages, sum := crawl(t, w, func(o *crawler.Options) {
				o.Depth, o.Concurrency = 2, 1
				o.OnSkip = func(s crawler.Skip) {
					if s.URL.Target() == "/" || s.URL.Target() == "/deep" {
						told = append(told, s.URL.Target()+" "+s.Via+" "+s.Code.String()+s.Detail)
					}
				}
			}, "http://a.example/")
			wantPages(t, pages, "http://a.example/", "http://a.example/1", "http://a.example/2")
			if want := map[frontier.Code]int{frontier.OutOfScope: 2 + others, frontier.TooDeep: 2}; !maps.Equal(sum.SkippedLinks, want) {
				t.Errorf("skips %v, want %v", sum.SkippedLinks, want)
			}
			if want := []string{
				"/ http://a.example/ outside", "/ http://a.example/1 outside", "/deep http://a.example/2 depth", "/ http://a.example/2 depth",
			}; !slices.Equal(slices.Sorted(slices.Values(told)), slices.Sorted(slices.Values(want))) {
				t.Errorf("told of %q, want %q", told, want)
			}
		})
	}
}

// If a URL is too deep on one page, it is still queued when a page with a smaller depth links to
// it.
func TestAShorterPathCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/1", `<a href="/2">2</a>`).Page("/2", `<a href="/deep">d</a>`).Page("/deep", "x").
			Page("/late", `<a href="/deep">d</a>`)
		dir := t.TempDir()
		set := func(o *crawler.Options) { o.Dir, o.Depth, o.Concurrency = dir, 1, 1 }
		pages, _ := crawl(t, w, set, "http://a.example/1", "http://a.example/late")
		wantPages(t, pages, "http://a.example/1", "http://a.example/2", "http://a.example/deep", "http://a.example/late")
	})
	// In a rescan, which reads one page after the other, the URL is queued as well.
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Default(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "x") })
		dir := t.TempDir()
		bare := func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{} }
		crawl(t, w, bare, "http://a.example/")
		const first, second = "http://a.example/first", "http://a.example/second"
		writeArchive(t, dir,
			answerRecord("1", first, "200", "", `<a href="/x">x</a><a href="/y">y</a>`), metadataRecord("1", first, "hopsFromSeed: LL\r\n"),
			answerRecord("2", second, "200", "", `<a href="/x">x</a><a href="/first">f</a>`), metadataRecord("2", second, ""))
		pages, _ := crawl(t, w, func(o *crawler.Options) { bare(o); o.Depth, o.Rescan = 2, true }, "http://a.example/")
		wantPages(t, pages, "http://a.example/x", "http://a.example/first")
	})
}

// A link of a page to itself is not counted.
func TestLinksToThePageItselfAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/">itself</a><a href="/#part">itself</a>`)
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Exclude = regexp.MustCompile("/$") }, "http://a.example/")
		if sum.Pages != 1 || sum.SkippedLinks != nil {
			t.Errorf("%d pages, skips %v", sum.Pages, sum.SkippedLinks)
		}
	})
}

// A rootsOf is a scope of hosts that records its roots.
type rootsOf struct {
	crawler.Scope
	roots *[]string
}

func (s rootsOf) Admit(u frontier.URL) {
	*s.roots = append(*s.roots, u.String())
	s.Scope.Admit(u)
}

// Admit is called for the seeds, and for the ends of their redirects if these are out of scope. It
// is not called for images and scripts, nor for URLs that are in scope anyway. The next run calls
// it with the same roots.
func TestRootsOfAScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<img src="http://cdn.example/i.gif"><a href="/1">1</a>`).Page("/1", `<a href="http://cdn.example/page">c</a>`).
			Redirect("/within", "/1").Redirect("/away", "http://b.example/").Redirect("/link", "http://c.example/").Page("/2", `<a href="/link">l</a>`)
		w.Site("http://b.example").Page("/", "x")
		w.Site("http://c.example").Page("/", "x")
		w.Site("http://cdn.example").Page("/i.gif", "GIF").Page("/page", "x")
		seeds := []string{"http://a.example/", "http://a.example/within", "http://a.example/away", "http://a.example/2"}
		dir := t.TempDir()
		for run, want := range [][]string{append(slices.Clone(seeds), "http://b.example/"), append(slices.Clone(seeds), "http://b.example/")} {
			var roots []string
			_, sum := crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Requisites, o.Scope, o.Concurrency = dir, true, rootsOf{crawler.SameHost(), &roots}, 1
			}, seeds...)
			slices.Sort(want)
			if slices.Sort(roots); !slices.Equal(roots, want) {
				t.Errorf("run %d: it was shown %q, want %q", run, roots, want)
			}
			if run == 0 && sum.SkippedLinks[frontier.OutOfScope] != 2 {
				t.Errorf("skips %v", sum.SkippedLinks)
			}
		}
		w.AssertNeverFetched("http://cdn.example/page", "http://c.example/")
		w.AssertFetched("http://cdn.example/i.gif", "http://b.example/")
	})
}

// If a Scope panics in Admit, or for a link on a page, the run ends. The next run requests that
// page again.
func TestAScopeThatPanicsAtAPage(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Redirect("/", "http://b.example/")
			w.Site("http://b.example").Page("/", "x")
			admits := 0
			handled := false
			_, err := try(t, w, func(o *crawler.Options) { o.Dir, o.Scope = dir, rootScope{crawler.SameHost(), &admits} },
				crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
					handled = handled || p.URL.Host() == "b.example"
					return nil
				}))
			var panicked *crawler.PanicError
			if !errors.As(err, &panicked) || panicked.Where != "Scope" || admits != 2 || handled {
				t.Errorf("in %q: Run: %v; shown %d URLs, handled %v", dir, err, admits, handled)
			}
			if dir == "" {
				return
			}
			pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
			wantPages(t, pages, "http://b.example/")
		})
	}
}

// Only pages count as repeats. Errors, images and scripts do not.
func TestErrorsAndRequisitesAreNotRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		html := ""
		for i := range 110 {
			html += fmt.Sprintf(`<a href="/gone/%d">x</a><img src="/i/%d.gif">`, i, i)
			w.Site("http://a.example").Page(fmt.Sprintf("/i/%d.gif", i), "GIF")
		}
		w.Site("http://a.example").Page("/", html)
		var said bytes.Buffer
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.Requisites, o.Logger = true, slog.New(slog.NewTextHandler(&said, nil))
		}, "http://a.example/")
		if sum.Status[404] != 111 || sum.Fetched != 221 || sum.Repeats != nil || said.Len() > 0 {
			t.Errorf("%+v; repeats %v; logged %s", sum.Counts, sum.Repeats, said.String())
		}
	})
}

// If many pages have too many links, the log names twenty of them, and all are counted.
func TestLinksBeyondTheLimitAreNotLoggedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		many := strings.Repeat("<a href=/>x", extract.MaxLinks+1)
		var seeds []string
		for i := range 22 {
			w.Site("http://a.example").Page(fmt.Sprintf("/%d", i), many)
			seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
		}
		var said bytes.Buffer
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.Scope, o.Logger = crawler.SeedsOnly(), slog.New(slog.NewTextHandler(&said, nil))
		}, seeds...)
		if n := strings.Count(said.String(), "more links than are taken"); sum.Cut != 22 || n != 20 || strings.Count(said.String(), "taken=20000") != 20 {
			t.Errorf("%d pages, logged %d times", sum.Cut, n)
		}
	})
}

// The reason why a URL is still queued is the same during the run and after it.
func TestReasonsOfWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x").Page("/1", "x").Status("/0", 500)
		w.Site("http://slow.example").Robots("User-agent: *\nCrawl-delay: 400").Page("/", "x")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Concurrency: 1},
			Seeds: []string{"http://slow.example/", "http://a.example/0", "http://a.example/", "http://a.example/1"}})
		if err != nil {
			t.Fatal(err)
		}
		reasons := func() map[string]frontier.Code {
			all := map[string]frontier.Code{}
			for s, err := range c.Left() {
				all[s.URL.String()] = s.Code
				if err != nil || s.Code != frontier.Waiting && (!s.Until.IsZero() || s.Detail != "") || s.Code == frontier.Waiting && s.Until.IsZero() {
					t.Errorf("%+v, %v", s, err)
				}
			}
			return all
		}
		want := map[string]frontier.Code{
			"http://slow.example/": frontier.Waiting, "http://a.example/0": frontier.Queued, "http://a.example/1": frontier.Queued,
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			during := reasons()
			delete(during, p.URL.String()) // the URL is being fetched
			if !maps.Equal(during, want) {
				t.Errorf("during the run %v, want %v", during, want)
			}
			return crawler.ErrStop
		}))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			sum := c.Summary()
			if got := reasons(); !maps.Equal(got, want) || sum.End != crawler.EndStopped || sum.Left[frontier.Queued] != 2 || sum.Left[frontier.Waiting] != 1 {
				t.Errorf("%v, want %v; %s", got, want, sum)
			}
			time.Sleep(time.Hour) // a later due time does not change the result of the run
		}
	})
}

// If both Stop is called and the context ends, the end of the context is reported. After a run the
// context of its handlers has ended.
func TestHowARunEnded(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(*crawler.Crawler, context.CancelFunc)
		end  crawler.End
		err  error
	}{
		{"stop, then the context", func(c *crawler.Crawler, cancel context.CancelFunc) { c.Stop(); cancel() }, crawler.EndBroken, context.Canceled},
		{"stop twice", func(c *crawler.Crawler, _ context.CancelFunc) { c.Stop(); c.Stop() }, crawler.EndStopped, nil},
		{"stop, then its time", func(c *crawler.Crawler, _ context.CancelFunc) { c.Stop(); time.Sleep(2 * time.Hour) }, crawler.EndStopped, nil},
		{"its time, then a stop", func(c *crawler.Crawler, _ context.CancelFunc) { time.Sleep(2 * time.Hour); c.Stop() }, crawler.EndTime, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
				c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Budget: crawler.Budget{MaxTime: time.Hour}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var handlers context.Context
				err = c.Run(ctx, crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
					handlers = ctx
					test.do(c, cancel)
					return nil
				}))
				if !errors.Is(err, test.err) || c.Summary().End != test.end || handlers.Err() == nil {
					t.Errorf("Run: %v; ended %q, the handler's context: %v", err, c.Summary().End, handlers.Err())
				}
				w.AssertNeverFetched("http://a.example/1")
			})
		})
	}
}

// A changed setting is written to crawl.log.
func TestChangesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		dir := t.TempDir()
		var said bytes.Buffer
		for depth := range 2 {
			crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Depth, o.Logger = dir, depth, slog.New(slog.NewTextHandler(&said, nil))
			}, "http://a.example/")
		}
		if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `msg="resumed with another setting" setting=depth was=none is=1`) {
			t.Errorf("logged %s", text)
		}
	})
}

// Errors of several workers are joined without duplicates, and errors.As finds each.
func TestErrorsOfManyWorkersAreReturnedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 6 {
			host := fmt.Sprintf("http://h%d.example", i)
			w.Site(host).Page("/", "x")
			seeds = append(seeds, host+"/")
		}
		var mu sync.Mutex
		together := make(chan struct{})
		n := 0
		_, err := try(t, w, func(o *crawler.Options) {
			o.Seeds = seeds
			o.OnError = func(p *crawler.Page, _ error) {
				mu.Lock()
				if n++; n == len(seeds) {
					close(together)
				}
				mu.Unlock()
				<-together
				panic("bug of " + map[bool]string{true: "even", false: "odd"}[strings.ContainsAny(p.URL.Host(), "024")])
			}
		}, crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return errors.New("for OnError") }))
		if err == nil {
			t.Fatal("no error")
		}
		lines := strings.Split(err.Error(), "\n")
		if slices.Sort(lines); !slices.Equal(lines, []string{"OnError panicked: bug of even", "OnError panicked: bug of odd"}) {
			t.Errorf("%q", lines)
		}
	})
}
