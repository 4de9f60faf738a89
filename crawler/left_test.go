package crawler_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// Every URL of a crawl is passed either to the handler or to OnSkip. URLs that are left in the
// queue are also in the counts and in Left, with the same reason.
func TestEveryURLHasAFate(t *testing.T) {
	const host = "http://a.example"
	stop := func(c *crawler.Crawler) { c.Stop() }
	for _, test := range []struct {
		name   string
		change func(*crawltest.Site, *crawler.Options)
		after  func(*crawler.Crawler) // called by the handler
		end    crawler.End
		left   map[frontier.Code]int
		quiet  bool // OnSkip is not called for URLs that are left
		tries  bool // each waiting page waits for its own retry
	}{
		{name: "nothing is left", change: func(*crawltest.Site, *crawler.Options) {}, end: crawler.EndDone},
		{name: "budget", change: func(_ *crawltest.Site, o *crawler.Options) { o.MaxHostPages = 2 },
			end: crawler.EndUnasked, left: map[frontier.Code]int{frontier.BudgetSpent: 4}},
		{name: "limit", change: func(_ *crawltest.Site, o *crawler.Options) { o.Limit = 2 },
			end: crawler.EndLimit, left: map[frontier.Code]int{frontier.LimitReached: 4}},
		{name: "bytes", change: func(_ *crawltest.Site, o *crawler.Options) { o.MaxBytes = 1 },
			end: crawler.EndLimit, left: map[frontier.Code]int{frontier.LimitReached: 1}},
		{name: "dead", change: func(s *crawltest.Site, o *crawler.Options) { s.Down(true); o.Patience = 24 * time.Hour },
			end: crawler.EndUnasked, left: map[frontier.Code]int{frontier.RobotsUnreachable: 1}},
		{name: "no such host", change: func(_ *crawltest.Site, o *crawler.Options) { o.Seeds = []string{"http://10.0.0.1/"} },
			end: crawler.EndUnasked, left: map[frontier.Code]int{frontier.SiteDead: 1}},
		{name: "robots.txt fails", change: func(s *crawltest.Site, o *crawler.Options) {
			s.Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
			o.Patience = time.Hour
		}, end: crawler.EndUnasked, left: map[frontier.Code]int{frontier.RobotsUnreachable: 1}},
		{name: "patience", change: func(s *crawltest.Site, o *crawler.Options) { s.Robots("User-agent: *\nCrawl-delay: 400") },
			end: crawler.EndPatience, left: map[frontier.Code]int{frontier.Waiting: 1}},
		{name: "a page waits for another try", change: func(s *crawltest.Site, o *crawler.Options) { s.Status("/1", 500); o.Patience = 5 * time.Second },
			end: crawler.EndPatience, left: map[frontier.Code]int{frontier.Waiting: 1}, tries: true},
		{name: "pages wait for other tries", change: func(s *crawltest.Site, o *crawler.Options) {
			s.Status("/1", 500).Status("/3", 500)
			o.Patience = 5 * time.Second
		}, end: crawler.EndPatience, left: map[frontier.Code]int{frontier.Waiting: 2}, tries: true},
		{name: "stopped after a budget was spent", change: func(_ *crawltest.Site, o *crawler.Options) { o.MaxHostPages = 1 }, after: stop,
			end: crawler.EndStopped, left: map[frontier.Code]int{frontier.BudgetSpent: 5}},
		{name: "stopped", change: func(*crawltest.Site, *crawler.Options) {}, after: stop,
			end: crawler.EndStopped, left: map[frontier.Code]int{frontier.Queued: 5}, quiet: true},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprintf("%s, on disk %t", test.name, dir != ""), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					s, html := w.Site(host), ""
					for i := range 5 {
						html += fmt.Sprintf("<a href=/%d>x</a>", i)
						s.Page(fmt.Sprintf("/%d", i), "x")
					}
					s.Page("/", html)
					var mu sync.Mutex
					fates := map[string]frontier.Code{} // by URL
					skips := map[frontier.Code]int{}
					tell := func(url string, r frontier.Code) {
						mu.Lock()
						defer mu.Unlock()
						if old, twice := fates[url]; twice {
							t.Errorf("%s: %q and %q", url, old, r)
						}
						fates[url] = r
						if r != frontier.Undecided {
							skips[r]++
						}
					}
					o := crawler.Options{Identity: testIdentity, Seeds: []string{host}, Wire: crawler.Wire{Network: w}, Dir: dir,
						Hooks: crawler.Hooks{OnSkip: func(s crawler.Skip) { tell(s.URL.String(), s.Code) }}}
					test.change(s, &o)
					c, err := crawler.New(o)
					if err != nil {
						t.Fatal(err)
					}
					err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
						tell(p.URL.String(), frontier.Undecided)
						if test.after != nil {
							test.after(c)
						}
						return nil
					}))
					sum := c.Summary()
					if err != nil || sum.End != test.end || !maps.Equal(sum.Left, test.left) {
						t.Errorf("Run: %v; ended %q, left %v; want %q, %v", err, sum.End, sum.Left, test.end, test.left)
					}
					listed := map[frontier.Code]int{}
					untils := map[time.Time]bool{}
					for s, err := range c.Left() {
						if err != nil {
							t.Fatal(err)
						}
						listed[s.Code]++
						if s.Code == frontier.Waiting && (s.Detail == "" || !s.Until.After(time.Now())) {
							t.Errorf("%s waits for %q, until %v", s.URL, s.Detail, s.Until)
						}
						if s.Code == frontier.Waiting && test.tries {
							if s.Detail != string(frontier.RetryClock) || untils[s.Until] {
								t.Errorf("%s waits for %q, until %v, as another page does", s.URL, s.Detail, s.Until)
							}
							untils[s.Until] = true
						}
						if test.quiet {
							tell(s.URL.String(), s.Code)
						} else if fates[s.URL.String()] != s.Code {
							t.Errorf("%s: OnSkip said %q, Left %q", s.URL, fates[s.URL.String()], s.Code)
						}
					}
					if !maps.Equal(listed, test.left) || !maps.Equal(skips, test.left) {
						t.Errorf("Left lists %v, OnSkip got %v, the summary says %v", listed, skips, test.left)
					}
					if len(fates) != sum.Fetched+sum.Frontier.Entries {
						t.Errorf("%d of %d URLs have a fate: %v", len(fates), sum.Fetched+sum.Frontier.Entries, slices.Sorted(maps.Keys(fates)))
					}
				})
			})
		}
	}
}

// Left may be called at any time, and its loop may be left at any time.
func TestLeftBeforeAndDuringARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 30)
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		count := func() (n int) {
			for _, err := range c.Left() {
				if err != nil {
					t.Error(err)
				}
				if n++; n == 2 {
					break
				}
			}
			return n
		}
		if n := count(); n != 0 {
			t.Errorf("%d URLs are left before the run", n)
		}
		most := 0
		err = c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
			most = max(most, count())
			return nil
		}))
		if err != nil || most != 2 || count() != 0 {
			t.Errorf("Run: %v; at most %d URLs are left, %d at the end", err, most, count())
		}
	})
}
