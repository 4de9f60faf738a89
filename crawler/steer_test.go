package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
)

// steered runs a crawl that gets orders at the given times after its start.
func steered(t *testing.T, w *crawltest.Web, opts crawler.Options, orders map[time.Duration]func(*crawler.Crawler) error) *crawler.Crawler {
	t.Helper()
	opts.Identity, opts.Network = testIdentity, w
	c, err := crawler.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for after, order := range orders {
		all.Go(func() {
			time.Sleep(after)
			if err := order(c); err != nil {
				t.Errorf("after %v: %v", after, err)
			}
		})
	}
	if err := c.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
	all.Wait()
	w.AssertPolite()
	return c
}

// askedAt returns the times of the requests to a site, counted from the first request.
func askedAt(w *crawltest.Web, site frontier.Site) (all []time.Duration) {
	log := w.Log()
	for _, r := range log {
		if r.Site == site {
			all = append(all, r.Start.Sub(log[0].Start))
		}
	}
	return all
}

func TestAPausedCrawlSendsNoRequestsUntilItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 6)
		c := steered(t, w, crawler.Options{Seeds: []string{"http://a.example/0"}}, map[time.Duration]func(*crawler.Crawler) error{
			2500 * time.Millisecond: func(c *crawler.Crawler) error { return errors.Join(c.Pause("the owner called"), c.Pause("again")) },
			time.Hour:               func(c *crawler.Crawler) error { return errors.Join(c.Resume("he agreed"), c.Resume("again")) },
		})
		want := []time.Duration{0, 1, 2, 3600, 3601, 3602, 3603, 3604}
		got := askedAt(w, "http://a.example")
		for i, at := range got {
			if i >= len(want) || at.Round(time.Second) != want[i]*time.Second {
				t.Errorf("requested at %v, want %v seconds", got, want)
				break
			}
		}
		if s := c.Summary(); s.End != crawler.EndDone || s.Pages != 6 {
			t.Errorf("%s", s)
		}
		var said []string
		for _, o := range c.Orders() {
			said = append(said, o.String())
		}
		if want := []string{"pause: the owner called", "resume: he agreed"}; !slices.Equal(said, want) {
			t.Errorf("orders %q, want %q", said, want)
		}
	})
}

// A paused run ends only by Stop or when its time is up.
func TestARunThatIsPausedEndsByItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := steered(t, chain(t, 6), crawler.Options{Seeds: []string{"http://a.example/0"}, Budget: crawler.Budget{MaxTime: time.Hour, Patience: time.Second}},
			map[time.Duration]func(*crawler.Crawler) error{
				2500 * time.Millisecond: func(c *crawler.Crawler) error { return c.Pause("") },
			})
		if s := c.Summary(); s.End != crawler.EndTime || s.Pages != 2 || s.Left[frontier.Queued] != 1 {
			t.Errorf("%s", s)
		}
	})
}

func TestASlowedSiteGetsFewerRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 5)
		book(w, "http://b.example", 20)
		steered(t, w, crawler.Options{Seeds: []string{"http://a.example/0", "http://b.example/0"}},
			map[time.Duration]func(*crawler.Crawler) error{
				2500 * time.Millisecond: func(c *crawler.Crawler) error { return c.Slow("a.example", 10*time.Second, "asked by mail") },
			})
		all := askedAt(w, "http://a.example")
		for i := 3; i < len(all); i++ {
			if gap := all[i] - all[i-1]; gap < 10*time.Second || gap > 11*time.Second {
				t.Errorf("requested at %v", all)
			}
		}
		if last := askedAt(w, "http://b.example"); len(all) != 7 || last[len(last)-1] > 25*time.Second {
			t.Errorf("requested at %v; the other one at %v", all, last)
		}
	})
}

// An excluded host gets no more requests: not for robots.txt, and not by a redirect of another
// site's robots.txt. Its queued URLs are reported.
func TestAnExcludedHostGetsNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 9)
		w.Site("http://a.example:81").Page("/", "x")
		book(w, "http://b.example", 10)
		w.Site("http://b.example").Page("/last", `<a href="http://a.example/new">x</a>`)
		w.Site("http://c.example").Redirect("/robots.txt", "http://a.example/robots.txt").Page("/", "x")
		c := steered(t, w, crawler.Options{
			Seeds: []string{"http://a.example/0", "http://b.example/0"}, Scope: crawler.Anywhere(), Budget: crawler.Budget{Patience: 5 * time.Minute},
		}, map[time.Duration]func(*crawler.Crawler) error{
			2500 * time.Millisecond: func(c *crawler.Crawler) error { return c.Exclude("a.example", "the owner's mail") },
			4 * time.Second: func(c *crawler.Crawler) error {
				return c.Seed("", "http://b.example/last", "http://a.example:81/", "http://c.example/")
			},
		})
		if n := len(askedAt(w, "http://a.example")); n != 3 {
			t.Errorf("requested %d times, want robots.txt and two pages", n)
		}
		w.AssertNeverFetched("http://a.example:81/robots.txt", "http://a.example:81/", "http://a.example/2", "http://c.example/")
		left := map[string]frontier.Code{}
		for s, err := range c.Left() {
			left[s.URL.String()] = s.Code
			if err != nil || s.Code == frontier.Excluded && s.Detail != "the owner's mail" {
				t.Errorf("%+v: %v", s, err)
			}
		}
		want := map[string]frontier.Code{
			"http://a.example/2": frontier.Excluded, "http://a.example/new": frontier.Excluded, "http://a.example:81/": frontier.Excluded,
			"http://c.example/": frontier.RobotsUnreachable,
		}
		if s := c.Summary(); !maps.Equal(left, want) || s.End != crawler.EndUnasked || s.Pages != 13 {
			t.Errorf("left %v, want %v; %s", left, want, s)
		}
	})
}

// Orders for a site apply to later runs, until a run revokes them with Options.Lift.
func TestOrdersHoldForTheCrawl(t *testing.T) {
	dir := t.TempDir()
	for i, run := range []struct {
		lift   []string
		orders func(*crawler.Crawler) error
		kept   []string
		asked  []int // number of requests to a.example, b.example and c.example in the run
		gap    time.Duration
	}{
		{orders: func(c *crawler.Crawler) error {
			return errors.Join(c.Exclude("http://a.example", "first"), c.Exclude("a.example", "asked by mail"),
				c.Slow("http://b.example", 5*time.Second, "too fast"), c.Slow("http://b.example", 20*time.Second, "still"), c.Slow("", 2*time.Second, ""))
		}, asked: []int{0, 3, 3}, gap: 20 * time.Second},
		{kept: []string{"exclude a.example: asked by mail", "exclude http://a.example: first", "slow 2s", "slow http://b.example 20s: still"}, asked: []int{0, 2, 2}, gap: 20 * time.Second},
		{lift: []string{"a.example", "http://b.example"}, kept: []string{"exclude http://a.example: first", "slow 2s"}, asked: []int{0, 2, 2}, gap: 2 * time.Second},
		{lift: []string{"all"}, asked: []int{3, 2, 2}, gap: time.Second},
		{asked: []int{2, 2, 2}, gap: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(i) * time.Hour) // because each synctest bubble begins at the same time as the one before
			w := crawltest.New(t)
			sites := []frontier.Site{"http://a.example", "http://b.example", "http://c.example"}
			var seeds []string
			for _, s := range sites {
				book(w, string(s), 200)
				seeds = append(seeds, string(s)+"/0")
			}
			var kept []string
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Seeds: seeds, Pace: crawler.Pace{Lift: run.lift, Concurrency: 3}, Budget: crawler.Budget{MaxTime: 38 * time.Second},
				Hooks: crawler.Hooks{OnStart: func(s crawler.Start) {
					for _, o := range s.Orders {
						kept = append(kept, o.String())
					}
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if run.orders != nil {
				if err := run.orders(c); err != nil {
					t.Error(err)
				}
			}
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(kept, run.kept) {
				t.Errorf("run %d goes on with %q, want %q", i, kept, run.kept)
			}
			at := askedAt(w, sites[1])
			if len(at) < 2 {
				t.Fatalf("run %d: %s was requested at %v, %s", i, sites[1], at, c.Summary())
			}
			if gap := at[len(at)-1] - at[len(at)-2]; gap < run.gap || gap > run.gap+time.Second {
				t.Errorf("run %d: %s was requested at %v, want a pause of %v", i, sites[1], at, run.gap)
			}
			if n := len(askedAt(w, sites[0])); n < run.asked[0] || run.asked[0] == 0 && n > 0 {
				t.Errorf("run %d: %s was requested %d times", i, sites[0], n)
			}
			left := map[frontier.Code]int{}
			for s, err := range c.Left() {
				if err != nil {
					t.Fatal(err)
				}
				if left[s.Code]++; s.Code == frontier.Excluded && s.URL.Site() != sites[0] {
					t.Errorf("run %d: %+v", i, s)
				}
			}
			if n := left[frontier.Excluded]; (run.asked[0] == 0) != (n > 0) || !maps.Equal(left, c.Summary().Left) {
				t.Errorf("run %d: left %v, in the summary %v", i, left, c.Summary().Left)
			}
		})
	}
	var said []string
	for _, l := range logLines(t, dir) {
		if do, ok := l.Annotation("order"); ok && l.URL == crawllog.RunURL {
			of, _ := l.Annotation("of")
			what, _ := l.Annotation("what")
			why, _ := l.Annotation("why")
			said = append(said, strings.TrimSpace(fmt.Sprint(do, " ", of, " ", what, " ", why)))
		}
	}
	want := []string{
		"exclude http://a.example  first", "exclude a.example  asked%20by%20mail", "slow http://b.example 5s too%20fast", "slow http://b.example 20s still", "slow  2s",
		"lift a.example exclude", "lift http://b.example slow", "lift http://a.example exclude", "lift  slow",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the log says\n%q, want\n%q", said, want)
	}
}

// Changed limits and added seeds are recorded as orders.
func TestChangesOfARunAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 20)
		w.Site("http://b.example").Page("/", "x")
		c := steered(t, w, crawler.Options{Seeds: []string{"http://a.example/0"}, Budget: crawler.Budget{Limit: 3}}, map[time.Duration]func(*crawler.Crawler) error{
			time.Second: func(c *crawler.Crawler) error {
				return c.Limit("more is wanted", func(l *crawler.Limits) { l.Pages, l.Concurrency = 5, 1 })
			},
			1500 * time.Millisecond: func(c *crawler.Crawler) error { return c.Limit("nothing", func(l *crawler.Limits) { l.Pages = 5 }) },
			2 * time.Second:         func(c *crawler.Crawler) error { return c.Seed("", "http://b.example/") },
		})
		var said []string
		for _, o := range c.Orders() {
			said = append(said, o.String())
		}
		want := []string{"limit limit 3 -> 5; concurrency 64 -> 1: more is wanted", "add http://b.example/"}
		if s := c.Summary(); !slices.Equal(said, want) || s.Pages != 5 || w.Fetched("http://b.example/") != 1 {
			t.Errorf("%q, want %q; %s", said, want, s)
		}
	})
}

// If Limits.Concurrency is changed during a run, the number of visits follows.
func TestConcurrencyIsChangedWhileACrawlRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 40 {
			site := fmt.Sprintf("http://h%d.example", i)
			w.Site(site).Latency(10*time.Second).Page("/", "x")
			seeds = append(seeds, site+"/")
		}
		var busy [3]int
		look := func(i int) func(c *crawler.Crawler) error {
			return func(c *crawler.Crawler) error {
				busy[i] = c.Stats().Frontier.Out
				return nil
			}
		}
		steered(t, w, crawler.Options{Seeds: seeds, Pace: crawler.Pace{Concurrency: 8}}, map[time.Duration]func(*crawler.Crawler) error{
			5 * time.Second:  look(0),
			6 * time.Second:  func(c *crawler.Crawler) error { return c.Limit("", func(l *crawler.Limits) { l.Concurrency = 2 }) },
			15 * time.Second: look(1),
			16 * time.Second: func(c *crawler.Crawler) error { return c.Limit("", func(l *crawler.Limits) { l.Concurrency = 0 }) },
			25 * time.Second: look(2),
		})
		if want := [3]int{8, 2, 8}; busy != want {
			t.Errorf("%v visits, want %v", busy, want)
		}
	})
}

func TestInvalidOrders(t *testing.T) {
	c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Pace: crawler.Pace{Delay: 2 * time.Second, Concurrency: 5}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1001)
	for want, err := range map[string]error{
		"crawler: Of: is empty: name a site or a host; Stop ends the whole run":                              c.Exclude("", "x"),
		"crawler: Reason: is empty: say why the site is excluded":                                            c.Exclude("a.example", " "),
		`crawler: Of: "http://a.example/x" is a part of a site: give the whole, http://a.example`:            c.Exclude("http://a.example/x", "x"),
		`crawler: Of: "a.example:81" has a port: write http:// or https:// before it, or leave the port out`: c.Exclude("a.example:81", "x"),
		`crawler: Of: "a b" is neither a site, such as https://example.org, nor a host, such as example.org`: c.Slow("a b", time.Minute, ""),
		"crawler: Delay: is no pause: a site can only be given a longer one":                                 c.Slow("", 0, ""),
		"frontier: a.example has a pause of 2s already, 1s would be shorter":                                 c.Slow("A.example", time.Second, ""),
		"crawler: Reason: is longer than 1000 bytes":                                                         c.Pause(long),
		"crawler: Limits.Concurrency: is more than the 5 that the run was begun with":                        c.Limit("", func(l *crawler.Limits) { l.Concurrency = 6 }),
		`crawler: Lift: "http://a.example/x" is a part of a site: give the whole, http://a.example`:          newError(func(o *crawler.Options) { o.Lift, o.Dir = []string{"http://a.example/x"}, "x" }),
		`crawler: Lift: is empty: name a site, a host, or all`:                                               newError(func(o *crawler.Options) { o.Lift, o.Dir = []string{""}, "x" }),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, of := range []string{"a.example", "http://a.example", "http://a.example:81/", "[::1]", "192.0.2.1", "http://[::1]:81"} {
		if err := c.Exclude(of, "x"); err != nil {
			t.Error(err)
		}
	}
	var said []string
	for _, o := range c.Orders() {
		said = append(said, o.Of)
	}
	if want := []string{"a.example", "http://a.example", "http://a.example:81", "::1", "192.0.2.1", "http://[::1]:81"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

func newError(change func(*crawler.Options)) error {
	o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
	change(&o)
	_, err := crawler.New(o)
	return err
}

// After a run has ended, orders fail and change nothing.
func TestOrdersThatComeTooLate(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			c := steered(t, chain(t, 1), crawler.Options{Seeds: []string{"http://a.example/0"}, Dir: dir}, nil)
			for what, err := range map[string]error{
				"pause": c.Pause(""), "resume": c.Resume(""), "slow": c.Slow("", time.Hour, ""), "exclude": c.Exclude("a.example", "x"),
				"seed": c.Seed("", "http://b.example/"), "limit": c.Limit("", func(l *crawler.Limits) { l.Pages = 1 }),
			} {
				if !errors.Is(err, crawler.ErrEnded) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if len(c.Orders()) != 0 {
				t.Errorf("%v", c.Orders())
			}
		})
	}
}

// Orders may be given at any time and from any goroutine. Each order that returns no error takes
// effect.
func TestConcurrentOrders(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 30 {
			site := fmt.Sprintf("http://h%d.example", i)
			book(w, site, 5)
			seeds = append(seeds, site+"/0")
		}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: seeds, Dir: dir, Pace: crawler.Pace{Concurrency: 8}})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				host := fmt.Sprintf("h%d.example", i)
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				err := errors.Join(c.Pause(host), c.Slow(host, time.Duration(i+1)*time.Second, host), c.Resume(host))
				if i%3 == 0 {
					err = errors.Join(err, c.Exclude(host, host))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error { return c.Resume("") }))
		all.Wait()
		if err != nil {
			t.Fatal(err)
		}
		w.AssertPolite()
		for s, err := range c.Left() {
			if err != nil || s.Code != frontier.Excluded || s.Detail != s.URL.Site().Host() {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}

// While a crawl is paused, a loop over its batches gets the rows that are there, and does not wait
// for more.
func TestAPausedCrawlDeliversItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, shelves(t, 1, 5), nil, seedsOf(1)...)
		began := time.Now()
		time.AfterFunc(2500*time.Millisecond, func() {
			if err := c.Pause(""); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(time.Hour, func() {
			if err := c.Resume(""); err != nil {
				t.Error(err)
			}
		})
		var sizes []int
		for batch, err := range crawler.Batches(t.Context(), c, 100, frontier.Forever, books) {
			if err != nil {
				t.Fatal(err)
			}
			if sizes = append(sizes, len(batch)); len(sizes) == 1 && time.Since(began) > time.Minute {
				t.Errorf("the first batch came after %v", time.Since(began))
			}
		}
		if !slices.Equal(sizes, []int{4, 6}) {
			t.Errorf("batches of %v rows, want 4 and 6", sizes)
		}
	})
}
