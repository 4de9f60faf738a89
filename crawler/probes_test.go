package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// The tests below are about cases in which other crawlers fail.

func TestRedirectIntoADisallowIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nDisallow: /private/").
			Page("/", `<a href="/go">go</a>`).
			Redirect("/go", "/private/x").
			Page("/private/x", "secret")
		pages, sum := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/go")
		w.AssertNeverFetched("http://a.example/private/x")
		w.AssertPolite()
		if sum.SkippedURLs[frontier.RobotsDisallowed] != 1 {
			t.Errorf("skips: %v", sum.SkippedURLs)
		}
	})
}

func TestRedirectToAnotherHostAsksItsRobotsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "https://www.a.example/")
		w.Site("https://www.a.example").
			Robots("User-agent: *\nDisallow: /private/").
			Page("/", `<a href="/in">in</a><a href="/private/x">x</a>`).
			Page("/in", "in scope, because the seed led here")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "https://www.a.example/", "https://www.a.example/in")
		w.AssertPolite()
	})
}

// robotsUnreachable crawls a site whose robots.txt fails. It checks that robots.txt is requested at
// 0, 1 and 3 minutes, that nothing else is requested, and that the site is then given up.
func robotsUnreachable(t *testing.T, w *crawltest.Web) {
	t.Helper()
	begin := time.Now()
	pages, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 5 * time.Minute }, "http://a.example/")
	wantPages(t, pages)
	var at []time.Duration
	for _, r := range w.Log() {
		if r.Target != "/robots.txt" {
			t.Errorf("%s was requested", r.URL())
		}
		at = append(at, r.Start.Sub(begin).Truncate(time.Second))
	}
	if want := []time.Duration{0, time.Minute, 3 * time.Minute}; fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("robots.txt was requested at %v, want %v", at, want)
	}
	if len(sum.Waiting) != 1 || sum.Waiting[0].Given.Code != frontier.RobotsUnreachable {
		t.Errorf("waiting: %+v", sum.Waiting)
	}
}

// For site owners: "Without an earlier copy nothing of the site is fetched, and after
// three attempts, at 0, 1 and 3 minutes or when Retry-After permits, the crawler gives
// the site up."
func TestRobots500DefersAndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Status("/robots.txt", 500).Page("/", "")
		robotsUnreachable(t, w)
	})
}

func TestRobotsResetDefersAndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Reset("/robots.txt").Page("/", "")
		robotsUnreachable(t, w)
	})
}

func TestRobotsThatRecoversIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/", `<a href="/no">no</a><a href="/yes">yes</a>`).Page("/yes", "")
		s.Flaky("/robots.txt", "User-agent: *\nDisallow: /no", "", 500)
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/yes")
		w.AssertPolite()
	})
}

func TestRobotsBeyondThePatienceStaysQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Flaky("/robots.txt", "", "86400", 503).Page("/", "")
		begin := time.Now()
		_, sum := crawl(t, w, nil, "http://a.example/")
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("the run waited %v for what is due in a day", took)
		}
		if len(sum.Waiting) != 1 || sum.Waiting[0].Due.Sub(begin) < 24*time.Hour || sum.Waiting[0].Given.Code != frontier.Undecided {
			t.Errorf("waiting: %+v", sum.Waiting)
		}
	})
}

// For site owners: "It is read as RFC 9309 says: the longest matching rule wins, `*`
// and `$` count, and a group applies if it has the exact name of the crawler."
func TestRulesThatOthersMisread(t *testing.T) {
	for _, tc := range []struct{ name, robots, allowed, forbidden string }{
		{"query", "User-agent: *\nDisallow: /*?q=", "/s?p=1", "/s?q=1"},
		{"escapes", "User-agent: *\nDisallow: /caf%C3%A9", "/cafe", "/café"},
		{"lower case escapes", "User-agent: *\nDisallow: /café", "/cafe", "/caf%c3%a9"},
		{"a name that ours begins with", "User-agent: bench\nDisallow: /\n\nUser-agent: *\nDisallow: /star", "/free", "/star"},
		{"our name", "User-agent: BenchBot/2.0\nDisallow: /ours\n\nUser-agent: *\nDisallow: /star", "/star", "/ours"},
		{"byte order mark", "\ufeffUser-agent: *\nDisallow: /no", "/yes", "/no"},
		{"longest match", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", "/a/c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").
					Robots(tc.robots).
					Page("/", fmt.Sprintf(`<a href="%s">1</a><a href="%s">2</a>`, tc.allowed, tc.forbidden)).
					Default(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") })
				pages, sum := crawl(t, w, nil, "http://a.example/")
				wantPages(t, pages, "http://a.example/", "http://a.example"+tc.allowed)
				if sum.SkippedURLs[frontier.RobotsDisallowed] != 1 {
					t.Errorf("skips: %v", sum.SkippedURLs)
				}
				w.AssertPolite()
			})
		})
	}
}

func TestRobotsRedirectedToAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Redirect("/robots.txt", "http://rules.example/shared.txt").
			Page("/", `<a href="/no">no</a><a href="/yes">yes</a>`).Page("/yes", "").Page("/no", "")
		w.Site("http://rules.example").Page("/shared.txt", "User-agent: *\nDisallow: /no")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/yes")
		w.AssertNeverFetched("http://a.example/no")
		w.AssertDelay("", time.Second)
	})
}

func TestTwoHostsRedirectToOneFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, host := range []string{"http://a.example", "http://b.example"} {
			s := w.Site(host).Redirect("/robots.txt", "http://rules.example/robots.txt").Page("/no", "").Page("/yes", "")
			s.Page("/", `<a href="/no">no</a><a href="/yes">yes</a>`)
		}
		rules := w.Site("http://rules.example").Robots("User-agent: *\nDisallow: /no").Latency(2 * time.Second)
		// Pages of the shared host are linked, too, so that several sites wait for its clock.
		var links strings.Builder
		for i := range 30 {
			fmt.Fprintf(&links, `<a href="/%d">x</a>`, i)
			rules.Page("/"+strconv.Itoa(i), "")
		}
		rules.Page("/", links.String())
		pages, _ := crawl(t, w, nil, "http://rules.example/", "http://a.example/", "http://b.example/")
		if len(pages) != 31+4 {
			t.Errorf("%d pages: %v", len(pages), pages)
		}
		w.AssertNeverFetched("http://a.example/no", "http://b.example/no")
		w.AssertDelay("", time.Second)
	})
}

func TestTwoHostsRedirectToEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/robots.txt", "http://b.example/robots.txt").Page("/", "").Latency(time.Second)
		w.Site("http://b.example").Redirect("/robots.txt", "http://a.example/robots.txt").Page("/", "").Latency(time.Second)
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 5 * time.Minute }, "http://a.example/", "http://b.example/")
		wantPages(t, pages)
		w.AssertNeverFetched("http://a.example/", "http://b.example/")
		w.AssertDelay("", time.Second)
		for _, s := range sum.Waiting {
			if s.Given.Code != frontier.RobotsUnreachable {
				t.Errorf("%s: %+v", s.Site, s.Given)
			}
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, status := range []int{429, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").
					Page("/", `<a href="/busy">busy</a><a href="/other">other</a>`).
					Flaky("/busy", "at last", "30", status).
					Page("/other", "")
				pages, sum := crawl(t, w, nil, "http://a.example/")
				wantPages(t, pages, "http://a.example/", "http://a.example/busy", "http://a.example/other")
				w.AssertPolite()
				if sum.Frontier.Polite.RetryAfter != 1 || sum.Frontier.Polite.Early != 0 {
					t.Errorf("politeness: %+v", sum.Frontier.Polite)
				}
				var asked []string
				for _, r := range w.Log()[2:] {
					asked = append(asked, r.Target)
				}
				if fmt.Sprint(asked) != "[/busy /other /busy]" {
					t.Errorf("requested %v: after the rest the other page is next", asked)
				}
			})
		})
	}
}

func TestAPageThatIsAlwaysBusyDoesNotHoldItsSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<a href="/busy">busy</a><a href="/other">other</a>`).
			Status("/busy", 503).
			Page("/other", "")
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 2 * time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/other")
		if sum.SkippedURLs[frontier.Failed] != 1 || len(sum.Waiting) != 0 {
			t.Errorf("summary: %+v", sum)
		}
		w.AssertDelay("", time.Second)
	})
}

func TestCrawlDelayIsKeptFromTheEndOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nCrawl-delay: 7.5").
			Page("/", `<a href="/1">1</a><a href="/2">2</a>`).Page("/1", "").Page("/2", "").
			Latency(time.Second)
		pages, _ := crawl(t, w, nil, "http://a.example/")
		if len(pages) != 3 {
			t.Errorf("pages: %v", pages)
		}
		w.AssertDelay("", 7500*time.Millisecond)
		w.AssertPolite()
	})
}

// For site owners: "Request-rate and Visit-time are obeyed, too."
func TestVisitTimeAndRequestRateAreObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Virtual time begins at midnight UTC.
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nVisit-time: 0300-0301\nRequest-rate: 1/20s").
			Page("/", `<a href="/1"></a><a href="/2"></a><a href="/3"></a>`).Page("/1", "").Page("/2", "").Page("/3", "")
		midnight := time.Now()
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Patience = 24 * time.Hour }, "http://a.example/")
		if len(pages) != 4 {
			t.Errorf("pages: %v", pages)
		}
		for _, r := range w.Log() {
			if at := r.Start.Sub(midnight) % (24 * time.Hour); r.Target != "/robots.txt" && (at < 3*time.Hour || at > 3*time.Hour+time.Minute) {
				t.Errorf("%s was requested at %v", r.Target, at)
			}
		}
		w.AssertDelay("", 20*time.Second)
	})
}

func TestASlowHostGetsOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://slow.example").Latency(3 * time.Second)
		var seeds []string
		for i := range 40 {
			s.Page("/"+strconv.Itoa(i), "")
			seeds = append(seeds, "http://slow.example/"+strconv.Itoa(i))
		}
		pages, _ := crawl(t, w, nil, seeds...)
		if len(pages) != 40 {
			t.Errorf("%d pages, want 40", len(pages))
		}
		w.AssertPolite()
		// The pause is twice the time to first byte, which is longer than Options.Delay.
		w.AssertDelay("", 6*time.Second)
	})
}

func TestABombIsCutAtTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Bomb("/", 1<<30)
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w, MaxSize: 1 << 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx contextT, p *crawler.Page) error {
			if len(p.Body) != 1<<20 || p.Truncated != "length" {
				t.Errorf("%d bytes, truncated %q", len(p.Body), p.Truncated)
			}
			if p.Exchange.WireBytes > 64<<10 {
				t.Errorf("%d bytes were read from the wire", p.Exchange.WireBytes)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestDeadHostsDoNotKeepTheRunFromEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 500 {
			host := fmt.Sprintf("http://dead%d.example", i)
			if i%2 == 0 {
				w.Site(host).Down(true) // refuses connections; the other hosts have no address
			}
			seeds = append(seeds, host+"/")
		}
		for i := range 20 {
			host := fmt.Sprintf("http://live%d.example", i)
			w.Site(host).Page("/", `<a href="/next">next</a>`).Page("/next", "")
			seeds = append(seeds, host+"/")
		}
		begin := time.Now()
		pages, sum := crawl(t, w, nil, seeds...)
		if len(pages) != 40 {
			t.Errorf("%d pages, want 40", len(pages))
		}
		if took := time.Since(begin); took > 10*time.Minute {
			t.Errorf("the run took %v", took)
		}
		codes := map[frontier.Code]int{}
		for _, s := range sum.Waiting {
			codes[s.Given.Code]++
		}
		if codes[frontier.SiteDead] != 250 || codes[frontier.RobotsUnreachable] != 250 {
			t.Errorf("given up: %v", codes)
		}
		w.AssertPolite()
	})
}

// For site owners: "Sites that share a public address get at most two requests at once,
// started 250 ms apart."
func TestSitesOfOneAddressShareItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 20 {
			host := fmt.Sprintf("http://h%d.example", i)
			w.Site(host).Addr("16.1.1.1").Page("/", "").Latency(100 * time.Millisecond)
			seeds = append(seeds, host+"/")
		}
		pages, _ := crawl(t, w, nil, seeds...)
		if len(pages) != 20 {
			t.Errorf("%d pages, want 20", len(pages))
		}
		log := w.Log()
		for i := 1; i < len(log); i++ {
			if gap := log[i].Start.Sub(log[i-1].Start); gap < 250*time.Millisecond {
				t.Errorf("%s started %v after %s at the same address", log[i].URL(), gap, log[i-1].URL())
			}
		}
	})
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<a href="/go">go</a>`).
			Redirect("/", "http://inside.example/")
		w.Site("http://inside.example").Addr("10.0.0.1").Page("/", "")
		w.Site("http://169.254.169.254").Page("/latest", "")
		pages, sum := crawl(t, w, nil, "http://a.example/", "http://169.254.169.254/latest")
		wantPages(t, pages, "http://a.example/")
		w.AssertNeverFetched("http://inside.example/robots.txt", "http://inside.example/", "http://169.254.169.254/robots.txt")
		if len(sum.Waiting) != 2 || !strings.Contains(sum.Waiting[0].Given.Detail, "not a public address") {
			t.Errorf("waiting: %+v", sum.Waiting)
		}
	})
}
