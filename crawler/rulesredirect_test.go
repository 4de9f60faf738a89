package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

const victim = "http://victim.example/admin/delete?all=1"

// For site owners: "A redirect of robots.txt to another site is followed only if it
// leads to a robots.txt there, or if that site's robots.txt allows it."
func TestARobotsRedirectRequestsNothingForbidden(t *testing.T) {
	for _, tc := range []struct {
		name   string
		victim func(s *crawltest.Site)
		seeds  []string
	}{
		{"forbidden", func(s *crawltest.Site) { s.Robots("User-agent: *\nDisallow: /") }, nil},
		{"forbidden, and known", func(s *crawltest.Site) { s.Robots("User-agent: *\nDisallow: /admin").Page("/", "") }, []string{"http://victim.example/"}},
		{"closed", func(s *crawltest.Site) { s.Status("/robots.txt", 403) }, nil},
		{"unreachable", func(s *crawltest.Site) { s.Status("/robots.txt", 500) }, nil},
		{"broken", func(s *crawltest.Site) { s.Reset("/robots.txt") }, nil},
		{"down", func(s *crawltest.Site) { s.Down(true) }, nil},
		{"elsewhere", func(s *crawltest.Site) { s.Redirect("/robots.txt", "http://third.example/robots.txt") }, nil},
		{"a circle", func(s *crawltest.Site) { s.Redirect("/robots.txt", "http://evil.example/x") }, []string{"http://victim.example/"}},
		{"at an own place that forbids", func(s *crawltest.Site) {
			s.Redirect("/robots.txt", "/rules").Page("/rules", "User-agent: *\nDisallow: /admin")
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://evil.example").Redirect("/robots.txt", victim).Page("/", "")
				w.Site("http://third.example").Robots("User-agent: *\nAllow: /")
				tc.victim(w.Site("http://victim.example"))
				_, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 5 * time.Minute }, append(tc.seeds, "http://evil.example/")...)
				w.AssertNeverFetched(victim, "http://evil.example/", "http://evil.example/x")
				w.AssertPolite()
				given := false
				for _, s := range sum.Waiting {
					given = given || s.Site == "http://evil.example" && s.Given.Code == frontier.RobotsUnreachable && s.Given.Detail == "redirect"
				}
				if !given {
					t.Errorf("waiting: %+v", sum.Waiting)
				}
			})
		})
	}
}

func TestARobotsRedirectToWhatTheOtherSiteAllows(t *testing.T) {
	for name, rules := range map[string]string{
		"no rules": "", "allowed": "User-agent: *\nDisallow: /admin\nCrawl-delay: 7", "slow": "User-agent: *\nCrawl-delay: 100000",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				for _, site := range []string{"http://a.example", "http://b.example"} {
					w.Site(site).Redirect("/robots.txt", "http://rules.example/shared.txt").
						Page("/", `<a href="/no">no</a>`).Page("/no", "")
				}
				w.Site("http://rules.example").Robots(rules).Page("/shared.txt", "User-agent: *\nDisallow: /no")
				pages, _ := crawl(t, w, func(o *crawler.Options) { o.Patience = 72 * time.Hour }, "http://a.example/", "http://b.example/")
				wantPages(t, pages, "http://a.example/", "http://b.example/")
				w.AssertNeverFetched("http://a.example/no", "http://b.example/no")
				w.AssertDelay("", time.Second)
				w.AssertPolite()
			})
		})
	}
}

// If robots.txt redirects to another file of the same site, the redirect is followed, even if
// robots.txt forbids that file.
func TestARobotsRedirectWithinTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Location", "/files/rules.txt")
				rw.WriteHeader(http.StatusMultipleChoices)
				io.WriteString(rw, "choose")
			}).
			Func("/files/rules.txt", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Cache-Control", "max-age=300")
				io.WriteString(rw, "User-agent: *\nDisallow: /files\nCrawl-delay: 200")
			}).
			Page("/", `<a href="/1">1</a><a href="/2">2</a><a href="/files/x">x</a>`).Page("/1", "").Page("/2", "")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Patience = time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/1", "http://a.example/2")
		w.AssertNeverFetched("http://a.example/files/x")
		if n := w.Fetched("http://a.example/files/rules.txt"); n < 2 {
			t.Errorf("requested %d times: the copy was never out of date", n)
		}
	})
}

// If the pause of a site is longer than a copy of robots.txt is valid, pages are still fetched.
// This holds in a new run, too, which does not know the purpose of the last request.
func TestACopyCountsForTheNextRequestHoweverLongThePause(t *testing.T) {
	dir := t.TempDir()
	for run := range 6 {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			s := w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 172800").Page("/", `<a href="/1">1</a><a href="/2">2</a>`)
			s.Page("/1", "").Page("/2", "")
			time.Sleep(time.Duration(run) * 48 * time.Hour)
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience = dir, 47*time.Hour }, "http://a.example/")
			want, last := "/robots.txt", w.Log()
			if run%2 == 1 {
				want = fmt.Sprintf("/%d", run/2)
			}
			if run == 1 {
				want = "/"
			}
			if len(last) != 1 || last[0].Target != want {
				t.Errorf("run %d asked %+v, want %s; %+v", run, last, want, sum.Waiting)
			}
		})
	}
}

// A copy of robots.txt applies to the page for which it was fetched, however long the page waits
// and for any reason.
//
// For site owners: "A page is judged by the copy of robots.txt that was fetched for it, however
// long the site then waits for its turn."
func TestACopyCountsForTheTurnForWhichItWasFetched(t *testing.T) {
	for _, tc := range []struct {
		what string
		opts func(*crawler.Options)
	}{
		{"the rate of the crawl", func(o *crawler.Options) { o.Rate = 1. / 120 }},
		{"its address", func(o *crawler.Options) { o.IPDelay = 2 * time.Minute }},
		{"its domain", func(o *crawler.Options) { o.DomainDelay = 2 * time.Minute }},
	} {
		t.Run(tc.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				var seeds, want []string
				for i := range 8 {
					origin := fmt.Sprintf("http://s%d.example.org", i)
					w.Site(origin).Page("/", `<a href="/1">1</a>`).Page("/1", "").Addr("93.184.216.34").
						Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) { rw.Header().Set("Cache-Control", "max-age=300") })
					seeds = append(seeds, origin+"/")
					want = append(want, origin+"/", origin+"/1")
				}
				pages, _ := crawl(t, w, func(o *crawler.Options) {
					o.Patience, o.MaxTime = time.Hour, 12*time.Hour
					tc.opts(o)
				}, seeds...)
				wantPages(t, pages, want...)
				if n := w.Fetched(seeds[0] + "robots.txt"); n != 2 {
					t.Errorf("robots.txt was requested %d times for two pages", n)
				}
			})
		})
	}
}

// For site owners: "A Crawl-delay is never shortened, however long it is." This also applies before
// the first page, if robots.txt came from another site that was busy.
func TestACrawlDelayFromAnotherSiteAppliesAfterTheRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		sites := []string{"http://a.example", "http://b.example", "http://c.example"}
		var seeds []string
		for _, site := range sites {
			w.Site(site).Redirect("/robots.txt", "http://rules.example/robots.txt").Page("/", "")
			seeds = append(seeds, site+"/")
		}
		w.Site("http://rules.example").Robots("User-agent: *\nCrawl-delay: 30").Latency(time.Second)
		crawl(t, w, func(o *crawler.Options) { o.Patience = time.Hour }, seeds...)
		for _, site := range sites {
			w.AssertDelay(site, 30*time.Second)
		}
	})
}
