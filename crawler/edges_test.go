package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

func TestRefusalsByTheThousandAreEachRefusedOnce(t *testing.T) {
	dir := t.TempDir()
	w := crawltest.New(t)
	var seeds []string
	for i := range 20 {
		host := fmt.Sprintf("http://h%d.example", i)
		w.Site(host).Addr(fmt.Sprintf("10.0.0.%d", i+1))
		var b strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&b, `<a href="/no/%d">x</a>`, j)
		}
		w.Site(host).Robots("User-agent: *\nDisallow: /no/").Page("/", b.String())
		seeds = append(seeds, host+"/")
	}
	c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w, AllowPrivate: true}, Dir: dir, Pace: crawler.Pace{Delay: crawler.NoDelay, Concurrency: 64}, Budget: crawler.Budget{Patience: -1}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(context.Background(), nil)
	if err != nil || c.Summary().SkippedURLs[frontier.RobotsDisallowed] != 20000 {
		t.Errorf("%v, %v", err, c.Summary().SkippedURLs)
	}
}

func TestARunWithoutPagesLeavesTheFileAlone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 9)
		run := func(limit int, out []crawler.Output) {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit, o.Output = dir, limit, out }, "http://a.example/0")
		}
		run(3, nil)
		run(6, []crawler.Output{})
		run(0, nil)
	})
	if n := len(records(t, dir)); n != 6 {
		t.Errorf("%d records, want 3 of the first run and 3 of the last", n)
	}
}

func TestSitesThatWereGivenUpAreAskedAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 6 {
			host := fmt.Sprintf("http://h%d.example", i)
			w.Site(host).Addr("16.1.1.1").Page("/", `<a href=/x>x</a>`).Page("/x", "")
			seeds = append(seeds, host+"/")
		}
		patience := func(o *crawler.Options) { o.Dir, o.Patience = dir, 2*time.Hour; o.Limit = 6 }
		crawl(t, w, patience, seeds...) // requests robots.txt and / of each site
		patience = func(o *crawler.Options) { o.Dir, o.Patience = dir, 2*time.Hour }
		for i := range 6 {
			w.Site(fmt.Sprintf("http://h%d.example", i)).Down(true)
		}
		crawl(t, w, patience, seeds...)
		for i := range 6 {
			w.Site(fmt.Sprintf("http://h%d.example", i)).Down(false)
		}
		time.Sleep(time.Hour)
		n := len(w.Log())
		_, sum := crawl(t, w, patience, seeds...)
		asked := map[frontier.Site]bool{}
		for _, r := range w.Log()[n:] {
			asked[r.Site] = true
		}
		for _, s := range sum.Waiting {
			t.Errorf("%s given up as %v, %d queued, asked: %v", s.Site, s.Given.Code, s.Queued, asked[s.Site])
		}
	})
}

func TestAPageThatBreaksTheConnectionDoesNotEndItsSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<a href="/crash">1</a><a href="/good">2</a><a href="/fine">3</a>`).
			Reset("/crash").Page("/good", "").Page("/fine", "")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Patience = 3 * time.Hour }, "http://a.example/")
		if len(pages) != 3 {
			t.Errorf("pages %v; crash was requested %d times", pages, w.Fetched("http://a.example/crash"))
		}
	})
}

func TestRobotsRedirectedToNowhereIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/robots.txt", "http://gone.example/robots.txt").Page("/", "")
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = time.Hour }, "http://a.example/")
		if sum.Waiting[0].Given.Code != frontier.RobotsUnreachable || w.Fetched("http://a.example/robots.txt") != 3 {
			t.Errorf("%+v after %d attempts", sum.Waiting[0].Given, w.Fetched("http://a.example/robots.txt"))
		}
	})
}

func TestACrawlDelayLongerThanTheLifeOfRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "").Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			io.WriteString(w, "User-agent: *\nCrawl-delay: 300\n")
		})
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Patience, o.MaxTime = 10*time.Minute, 24*time.Hour }, "http://a.example/")
		if len(pages) != 1 || sum.End != crawler.EndDone {
			t.Errorf("%d pages in 24 h, ended %q; robots.txt was requested %d times", len(pages), sum.End, w.Fetched("http://a.example/robots.txt"))
		}
	})
}

// For site owners: "A crawl that was killed waits the full pause of each site before it
// goes on."
func TestAKillIsRememberedBeyondTheNextRun(t *testing.T) {
	for _, how := range []string{"control", "wrong identity", "stopped at once"} {
		t.Run(how, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "live")
			killed := filepath.Join(t.TempDir(), "killed")
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 60").Page("/0", `<a href="/1">1</a><a href="/2">2</a>`).Page("/2", "")
				s.Func("/1", func(rw http.ResponseWriter, r *http.Request) {
					if _, err := os.Stat(killed); err != nil {
						// the state that a kill during the answer would leave
						if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
							t.Error(err)
						}
					}
				})
				opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Limit: 2}}
				c, _ := crawler.New(opts)
				if err := c.Run(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				n := len(w.Log())
				opts.Dir, opts.Limit = killed, 0
				switch how {
				case "wrong identity":
					o := opts
					o.Identity.Token = "otherbot"
					var other *crawler.IdentityError
					c, _ := crawler.New(o)
					if err := c.Run(context.Background(), nil); !errors.As(err, &other) {
						t.Fatal(err)
					}
				case "stopped at once":
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					c, _ := crawler.New(opts)
					if err := c.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					cancel()
				}
				c, _ = crawler.New(opts)
				if err := c.Run(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				log := w.Log()
				if gap := log[n].Start.Sub(log[n-1].End); gap < time.Minute {
					t.Errorf("%s came %v after %s; Crawl-delay is 60 s", log[n].URL(), gap, log[n-1].URL())
				}
			})
		})
	}
}

func TestASiteMetByAHopKeepsItsBudget(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://b.example").Robots("User-agent: *\nCrawl-delay: 30").Page("/", `<a href="/1">`).Page("/1", "").Page("/new", "")
		w.Site("http://a.example").Redirect("/robots.txt", "http://b.example/robots.txt").Page("/", `<a href="http://b.example/new">new</a>`)
		set := func(o *crawler.Options) { o.Dir, o.Scope, o.MaxHostPages = dir, crawler.Anywhere(), 2 }
		crawl(t, w, set, "http://b.example/")
		time.Sleep(time.Minute)
		crawl(t, w, set, "http://a.example/")
		w.AssertPolite()
		w.AssertNeverFetched("http://b.example/new") // the budget of b is two pages
	})
}

func TestAConnectionThatWasIdleForLongIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 100").Page("/", `<a href=/1>`).Page("/1", "")
		c, _ := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			if p.Exchange.Reused {
				t.Errorf("%s came over a connection that was idle for 100 s", p.URL)
			}
			return nil
		}))
	})
}

// twoAddrs is a network on which each host has two addresses, and the first does not answer.
type twoAddrs struct{ *crawltest.Web }

var deadAddr = netip.MustParseAddr("16.9.9.9")

func (n twoAddrs) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	a, err := n.Web.LookupNetIP(ctx, network, host)
	return append([]netip.Addr{deadAddr}, a...), err
}

func TestAnAddressThatFailsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		for i := range 30 {
			s.Func(fmt.Sprintf("/%d", i), func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Connection", "close")
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, `<a href="/%d">`, i+1)
			})
		}
		begin := time.Now()
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Network, o.Patience = twoAddrs{w}, 2*time.Hour }, "http://a.example/0")
		if took := time.Since(begin); took > 10*time.Minute {
			t.Errorf("%d pages took %v, %v", len(pages), took, sum.Errors)
		}
	})
}

func TestAClockThatRanAheadIsForgiven(t *testing.T) {
	dir := t.TempDir()
	set := func(o *crawler.Options) { o.Dir = dir }
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10 * 365 * 24 * time.Hour)
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		crawl(t, w, set, "http://a.example/")
	})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 24 * time.Hour)
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no").Page("/no", "")
		_, sum := crawl(t, w, set, "http://a.example/no")
		w.AssertPolite()
		if len(sum.Waiting) > 0 {
			t.Errorf("waits until %v", sum.Waiting[0].Due)
		}
	})
}

func TestASiteThatNeverAnswersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var b strings.Builder
		for j := range 200 {
			fmt.Fprintf(&b, `<a href="/no/%d">x</a>`, j)
		}
		w.Site("http://a.example").Page("/", b.String()).Default(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
			}
		})
		begin := time.Now()
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 10 * time.Minute }, "http://a.example/")
		if took := time.Since(begin); took > time.Hour || sum.Waiting[0].Given.Code != frontier.SiteDead {
			t.Errorf("the run took %v: %+v", took, sum.Waiting)
		}
	})
}

func TestPrivateHostsAreLookedUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Addr("10.0.0.1")
		var seeds []string
		for i := range 500 {
			seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
		}
		begin := time.Now()
		crawl(t, w, nil, seeds...)
		if n := w.Lookups("a.example"); n > 10 {
			t.Errorf("%d look-ups of one name in %v", n, time.Since(begin))
		}
	})
}

func TestASiteMetByAHopKeepsItsPause(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://b.example").Robots("User-agent: *\nCrawl-delay: 30").Page("/", "").Page("/new", "").Page("/shared.txt", "")
		w.Site("http://a.example").Redirect("/robots.txt", "http://b.example/shared.txt").Page("/", `<a href="http://b.example/new">new</a>`)
		set := func(o *crawler.Options) { o.Dir, o.Scope = dir, crawler.Anywhere() }
		crawl(t, w, set, "http://b.example/")
		time.Sleep(time.Minute)
		crawl(t, w, set, "http://a.example/")
		w.AssertPolite()
	})
}

func TestAHandlerThatEndsItsGoroutineEndsTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(context.Background(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
			runtime.Goexit()
			return nil
		}))
		if err == nil || !strings.Contains(err.Error(), "Goexit") {
			t.Errorf("Run: %v", err)
		}
	})
}

// If a handler keeps a body, later fetches do not change it.
func TestAHandlerMayKeepBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		site := w.Site("http://a.example")
		links := ""
		for i := range 20 {
			links += fmt.Sprintf("<a href=/%d></a>", i)
			site.Page(fmt.Sprintf("/%d", i), strings.Repeat(fmt.Sprint(i), 3000))
		}
		site.Page("/", links)
		kept := map[string][]byte{}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ contextT, p *crawler.Page) error {
			kept[p.URL.Target()] = p.Body // not locked, because one site has only one page at a time
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if body := kept[fmt.Sprintf("/%d", i)]; string(body) != strings.Repeat(fmt.Sprint(i), 3000) {
				t.Errorf("/%d is now %.20q...", i, body)
			}
		}
	})
}
