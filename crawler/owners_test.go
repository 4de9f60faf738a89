package crawler_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// The tests in this file check the promises of docs/guide/site-owners.md that no other test checks.

// For site owners: "Every request, also the one for robots.txt, names the crawler and
// how to reach its operator: a URL or an e-mail address."
func TestEveryRequestNamesTheCrawler(t *testing.T) {
	for _, contact := range []string{"https://example.org/benchbot", "me@example.org"} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href="/go">1</a>`).Redirect("/go", "http://b.example/")
			w.Site("http://b.example").Redirect("/robots.txt", "http://a.example/robots.txt").Page("/", "")
			crawl(t, w, func(o *crawler.Options) { o.Identity.Contact, o.Scope = contact, crawler.Anywhere() }, "http://a.example/")
			if len(w.Log()) < 5 {
				t.Fatalf("%d requests", len(w.Log()))
			}
			for _, r := range w.Log() {
				if !strings.HasPrefix(r.UserAgent, "benchbot ") || !strings.Contains(r.UserAgent, contact) {
					t.Errorf("%s came from %q", r.URL(), r.UserAgent)
				}
				if mail := strings.Contains(contact, "@"); mail != (r.Header.Get("From") == contact) {
					t.Errorf("%s came with From: %q", r.URL(), r.Header.Get("From"))
				}
			}
		})
	}
}

// For site owners: "robots.txt is fetched before anything else from a site."
//
// For site owners: "It is fetched again before the next page once it is as old as its
// Cache-Control or Expires says, at least 5 minutes and at most 24 hours."
func TestRobotsIsRequestedFirstAndAgain(t *testing.T) {
	for says, want := range map[string]time.Duration{
		"max-age=1":       5 * time.Minute,
		"max-age=3600":    time.Hour,
		"max-age=9999999": 24 * time.Hour,
		"":                24 * time.Hour,
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pause := want / 60
				w := crawltest.New(t)
				s := w.Site("http://a.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
					if says != "" {
						rw.Header().Set("Cache-Control", says)
					}
					fmt.Fprintf(rw, "User-agent: *\nCrawl-delay: %v\n", pause.Seconds())
				})
				s.Default(func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(rw, `<a href="%sx">next</a>`, r.RequestURI)
				})
				crawl(t, w, func(o *crawler.Options) { o.Limit, o.Patience = 200, time.Hour }, "http://a.example/")
				log := w.Log()
				if log[0].Target != "/robots.txt" {
					t.Errorf("%s came first", log[0].Target)
				}
				copied, again := log[0].End, 0
				for _, r := range log[1:] {
					age := r.Start.Sub(copied)
					switch {
					case r.Target != "/robots.txt" && age > want+pause:
						t.Errorf("%s came by a copy %v old", r.Target, age)
					case r.Target == "/robots.txt":
						if again++; age < want {
							t.Errorf("robots.txt was requested again after %v", age)
						}
						copied = r.End
					}
				}
				if again == 0 {
					t.Error("robots.txt was never requested again")
				}
			})
		})
	}
}

// For site owners: "A file that has lost its line ends still forbids what it forbade
// with them."
func TestAFileWithoutLineEndsForbids(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: * Disallow: /private/ Disallow: /more").
			Page("/", `<a href="/private/x">1</a><a href="/more">2</a><a href="/open">3</a>`).Page("/open", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/open")
		w.AssertNeverFetched("http://a.example/private/x", "http://a.example/more")
	})
}

// impatient sets every option that allows more requests to its widest value.
func impatient(o *crawler.Options) {
	o.AllowForbidden, o.AllowPrivate, o.FollowNoFollow = true, true, true
	o.Delay, o.IPDelay, o.Concurrency, o.Scope = crawler.NoDelay, -1, 500, crawler.Anywhere()
	o.Site = func(frontier.Site) crawler.SiteOptions {
		return crawler.SiteOptions{Delay: crawler.NoDelay, MaxPages: -1, MaxBytes: -1, MaxTime: -1, AllowForbidden: true, Reason: "none"}
	}
}

// For site owners: "No option turns robots.txt off."
//
// For site owners: "If robots.txt answers 401, 402, 403 or 451, nothing of the site is
// fetched, unless the operator sets `--robots-forbidden allow`, as RFC 9309 permits, or
// a program sets it for one site, with a reason that the log keeps."
func TestNoOptionTurnsRobotsOff(t *testing.T) {
	for _, status := range []int{200, 401, 402, 403, 451} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
				rw.WriteHeader(status)
				io.WriteString(rw, "User-agent: *\nDisallow: /")
			})
			if pages, _ := crawl(t, w, nil, "http://a.example/"); len(pages) != 0 {
				t.Errorf("%d: %v", status, pages)
			}
			pages, _ := crawl(t, w, impatient, "http://a.example/")
			if opened := len(pages) == 1; opened == (status == 200) {
				t.Errorf("%d, and all that can be allowed: %v", status, pages)
			}
		})
	}
}

// For site owners: "Meanwhile an earlier copy stays in force until it is 30 days old."
func TestACopyStaysInForceForThirtyDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		const day = 24 * time.Hour
		begin := time.Now()
		w.Site("http://a.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
			if time.Since(begin) > time.Hour {
				rw.WriteHeader(500)
			}
			io.WriteString(rw, "User-agent: *\nDisallow: /no\nCrawl-delay: 43200")
		}).Default(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, `<a href="%sx">next</a><a href="/no">no</a>`, r.RequestURI)
		})
		crawl(t, w, func(o *crawler.Options) { o.Patience = 4 * day }, "http://a.example/")
		w.AssertNeverFetched("http://a.example/no")
		last := 0.0
		for _, r := range w.Log() {
			if r.Target != "/robots.txt" {
				last = max(last, r.Start.Sub(begin).Hours()/24)
			}
		}
		if last < 29 || last > 30 {
			t.Errorf("the last page came after %.1f days", last)
		}
	})
}

// For site owners: "A site gets one request at a time, over one connection."
//
// For site owners: "The next request starts a second after the end of the last answer;
// the operator may set a shorter pause, but none below 200 ms for a public address."
func TestASiteGetsOneRequestAtATime(t *testing.T) {
	for name, set := range map[string]func(*crawler.Options){"default": nil, "impatient": impatient} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 30)
				w.Site("http://a.example").Latency(10 * time.Millisecond)
				crawl(t, w, set, "http://a.example/0")
				w.AssertPolite() // fails if there are two requests at once
				least, most := time.Second, time.Duration(math.MaxInt64)
				if set != nil {
					least, most = 200*time.Millisecond, 210*time.Millisecond
				}
				w.AssertDelay("", least)
				log := w.Log()
				if gap := log[9].Start.Sub(log[8].End); gap > most {
					t.Errorf("a pause of %v", gap)
				}
				if n := w.Dials("a.example"); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// For site owners: "A slow site gets a pause of twice its time to first byte, up to a
// minute."
func TestASlowSiteIsLeftAlone(t *testing.T) {
	for latency, want := range map[time.Duration]time.Duration{4 * time.Second: 8 * time.Second, 29 * time.Second: 58 * time.Second, 80 * time.Second: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			book(w, "http://a.example", 5)
			w.Site("http://a.example").Latency(latency)
			crawl(t, w, func(o *crawler.Options) { o.Timeout = 3 * time.Minute }, "http://a.example/0")
			w.AssertDelay("", want)
			log := w.Log()
			if gap := log[3].Start.Sub(log[2].End); len(log) != 6 || gap > want+time.Second {
				t.Errorf("%d requests; a pause of %v after %v", len(log), gap, latency)
			}
		})
	}
}

// For site owners: "A Crawl-delay is never shortened, however long it is."
func TestACrawlDelayIsNeverShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 4)
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 864000")
		pages, _ := crawl(t, w, func(o *crawler.Options) {
			impatient(o)
			o.Patience = 20 * 24 * time.Hour
		}, "http://a.example/0")
		if len(pages) != 4 {
			t.Errorf("%d pages", len(pages))
		}
		w.AssertDelay("", 10*24*time.Hour)
	})
}

// For site owners: "After 429, 503 and failed connections the crawler waits longer each
// time, from 5 seconds to an hour."
func TestRestsGrowFromSecondsToAnHour(t *testing.T) {
	for name, fail := range map[string]func(s *crawltest.Site){
		"429": func(s *crawltest.Site) {
			s.Default(func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(429) })
		},
		"503": func(s *crawltest.Site) {
			s.Default(func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(503) })
		},
		"reset": func(s *crawltest.Site) {
			s.Default(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				fail(w.Site("http://a.example"))
				var seeds []string
				for i := range 16 {
					seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
				}
				crawl(t, w, func(o *crawler.Options) { o.Patience = 3 * time.Hour }, seeds...)
				// Only requests for pages count, because a request on a reused connection may fail
				// once without a reason.
				log := slices.DeleteFunc(w.Log(), func(r crawltest.Request) bool { return r.Target == "/robots.txt" })
				if name == "reset" {
					log = log[1:]
				}
				longest := time.Duration(0)
				for i := 1; i < len(log); i++ {
					gap := log[i].Start.Sub(log[i-1].End)
					longest = max(longest, gap)
					if want := min(5*time.Second<<(i-1), time.Hour); gap < want {
						t.Errorf("request %d came after %v, want %v", i, gap, want)
					}
				}
				if len(log) < 6 || longest > time.Hour+2*time.Second {
					t.Errorf("%d requests, a rest of %v", len(log), longest)
				}
			})
		})
	}
}

// For site owners: "A page that fails is given up after three tries, or after six if
// the site asked the crawler to wait."
func TestTriesOfAPage(t *testing.T) {
	for status, want := range map[int]int{500: 3, 502: 3, 429: 6, 503: 6} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			s := w.Site("http://a.example").Status("/bad", status)
			links := `<a href="/bad">bad</a>`
			for i := range 20 {
				s.Page(fmt.Sprintf("/%d", i), "")
				links += fmt.Sprintf(`<a href="/%d">x</a>`, i)
			}
			s.Page("/", links)
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 48 * time.Hour }, "http://a.example/")
			if n := w.Fetched("http://a.example/bad"); n != want || sum.SkippedURLs[frontier.Failed] != 1 {
				t.Errorf("%d: requested %d times, want %d; %v", status, n, want, sum.SkippedURLs)
			}
		})
	}
}

// For site owners: "The target of a redirect is a new URL, under the robots.txt and the
// pause of its own site."
func TestARedirectIsANewURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /private").
			Page("/", `<a href="/go">1</a><a href="/in">2</a><a href="/away">3</a>`).
			Redirect("/go", "/there").Page("/there", "").
			Redirect("/in", "/private").Page("/private", "").
			Redirect("/away", "http://b.example/no")
		w.Site("http://b.example").Robots("User-agent: *\nDisallow: /no").Page("/no", "")
		crawl(t, w, func(o *crawler.Options) { o.Scope = crawler.Anywhere() }, "http://a.example/")
		w.AssertFetched("http://a.example/there", "http://b.example/robots.txt")
		w.AssertNeverFetched("http://a.example/private", "http://b.example/no")
		w.AssertDelay("", time.Second)
		w.AssertPolite()
	})
}
