package crawler_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A crawl of one page, for each kind of answer to the request for robots.txt.
//
// For site owners: "Every other 4xx except 408, 421, 425 and 429 means that there are no rules; so
// does the 403 with which an object store reports a missing file."
//
// For site owners: "A robots.txt that fails is not permission: 408, 421, 425, 429, 5xx, a timeout,
// no connection, a 200 whose body ends early, too many redirects."
func TestAnswersToRobots(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
	}
	body := func(contentType, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, text)
		}
	}
	const rules = "User-agent: *\nDisallow: /page"
	const (
		opens  = "opens"  // the page is fetched
		closes = "closes" // the page is refused
		defers = "defers" // the page is left in the queue
	)
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"rules", body("text/plain", rules), closes},
		{"rules under another type", body("application/octet-stream", rules), closes},
		{"an empty file", body("text/plain", ""), opens},
		{"a page of HTML", body("text/html", "<html><body>Not found</body></html>"), opens},
		{"204", status(204), opens},
		{"404", status(404), opens},
		{"410", status(410), opens},
		{"418", status(418), opens},
		{"400 also to plain fields", status(400), opens},
		{"401", status(401), closes},
		{"402", status(402), closes},
		{"403", status(403), closes},
		{"451", status(451), closes},
		{"403 of an object store for a missing file", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Request-Id", "1")
			w.WriteHeader(403)
			io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
		}, opens},
		{"304 to a request that was not conditional", status(304), defers},
		{"408", status(408), defers},
		{"421", status(421), defers},
		{"425", status(425), defers},
		{"429", status(429), defers},
		{"500", status(500), defers},
		{"502", status(502), defers},
		{"503", status(503), defers},
		{"999", status(999), defers},
		{"a body that ends early", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "User-agent: *\nAllow: /")
		}, defers},
		{"a redirect to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/robots.txt", http.StatusFound)
		}, defers},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Func("/robots.txt", tc.answer).Page("/page", "")
				_, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 10 * time.Second }, "http://a.example/page")
				got := closes
				switch {
				case w.Fetched("http://a.example/page") > 0:
					got = opens
				case len(sum.Waiting) > 0:
					got = defers
				}
				if got != tc.want {
					t.Errorf("%s, want %s: %+v", got, tc.want, sum)
				}
			})
		})
	}
}

// For site owners: "Its first 512,000 bytes count, however long the file is."
func TestARobotsFileBeyondTheLimitStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/page", "").Page("/late", "").Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "User-agent: *\nDisallow: /page\n")
			for i := range 40000 {
				fmt.Fprintf(w, "Disallow: /number/%d\n", i)
			}
			io.WriteString(w, "Disallow: /late\n")
		})
		pages, _ := crawl(t, w, nil, "http://a.example/page", "http://a.example/late")
		wantPages(t, pages, "http://a.example/late") // rules beyond 512,000 bytes have no effect
	})
}

func TestNewRulesApplyToWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 43200")
		s.Page("/", `<a href="/1"></a><a href="/2"></a><a href="/3"></a>`).Page("/1", "").Page("/2", "")
		s.Func("/1", func(rw http.ResponseWriter, r *http.Request) {
			s.Robots("User-agent: *\nDisallow: /2\nDisallow: /3")
		})
		crawl(t, w, func(o *crawler.Options) { o.Patience = 48 * time.Hour }, "http://a.example/")
		w.AssertFetched("http://a.example/1")
		w.AssertNeverFetched("http://a.example/2", "http://a.example/3")
		w.AssertPolite()
	})
}

func TestAGoodCopyStaysInForceWhileRobotsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\nCrawl-delay: 43200")
		s.Page("/", `<a href="/1"></a><a href="/2"></a><a href="/3"></a><a href="/no"></a>`).Page("/2", "").Page("/3", "")
		s.Func("/1", func(rw http.ResponseWriter, r *http.Request) { s.Status("/robots.txt", 500) })
		crawl(t, w, func(o *crawler.Options) { o.Patience = 48 * time.Hour }, "http://a.example/")
		w.AssertFetched("http://a.example/1", "http://a.example/2", "http://a.example/3")
		w.AssertNeverFetched("http://a.example/no")
		w.AssertDelay("", 12*time.Hour)
	})
}

// While robots.txt fails, the sitemaps and the Clean-param lines of its good copy count as well, also
// in the next crawl of a series.
func TestTheWholeGoodCopyStaysInForceWhileRobotsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("User-agent: *\nSitemap: /map.xml\nClean-param: ref\n").
			Page("/", `<a href="/x?ref=1">x</a> <a href="/x?ref=2">x</a>`).Page("/x?ref=1", "").Page("/listed", "").
			Func("/map.xml", sent("text/xml", urlset("http://a.example/listed")))
		first, second := t.TempDir(), t.TempDir()
		want := []string{"http://a.example/", "http://a.example/listed", "http://a.example/x?ref=1"}
		change := func(o *crawler.Options) { o.Dir, o.CleanParam = first, true }
		pages, _ := crawl(t, w, change, "http://a.example/")
		wantPages(t, pages, want...)
		time.Sleep(48 * time.Hour)
		s.Status("/robots.txt", http.StatusServiceUnavailable)
		pages, _ = crawl(t, w, func(o *crawler.Options) {
			change(o)
			o.Dir, o.Previous = second, first
		}, "http://a.example/")
		wantPages(t, pages, want...)
	})
}

func TestEachPortAndSchemeHasItsOwnRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /").Page("/", "")
		w.Site("https://a.example").Page("/", `<a href="http://a.example/"></a><a href="http://a.example:8080/"></a>`)
		w.Site("http://a.example:8080").Page("/", "")
		pages, _ := crawl(t, w, nil, "https://a.example/")
		wantPages(t, pages, "https://a.example/", "http://a.example:8080/")
		for _, site := range []frontier.Site{"http://a.example", "https://a.example", "http://a.example:8080"} {
			w.AssertFetched(string(site) + "/robots.txt")
		}
		w.AssertPolite()
	})
}

// A crawl reads robots.txt by its Dialect, and obeys groups that name one of its Aliases.
func TestDialectAndAliasesOfACrawl(t *testing.T) {
	const file = "User-agent: *\nDisallow: /\nAllow: /page\n\nUser-agent: oldbot\nDisallow: /none\n"
	for _, tc := range []struct {
		name   string
		set    func(*crawler.Options)
		status int
		opens  bool
	}{
		{"rfc9309", func(o *crawler.Options) {}, 200, true},
		{"koster1996", func(o *crawler.Options) { o.Dialect = robots.Koster1996 }, 200, false},
		{"alias", func(o *crawler.Options) { o.Dialect, o.Aliases = robots.Koster1996, []string{"oldbot"} }, 200, true},
		{"forbidden", func(o *crawler.Options) {}, 402, false},
		{"forbidden allows", func(o *crawler.Options) { o.AllowForbidden = true }, 402, true},
		{"451 allows", func(o *crawler.Options) { o.AllowForbidden = true }, 451, true},
		{"google", func(o *crawler.Options) { o.Dialect = robots.Google }, 421, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/page", "").Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(tc.status)
					io.WriteString(w, file)
				})
				crawl(t, w, tc.set, "http://a.example/page")
				if got := w.Fetched("http://a.example/page") > 0; got != tc.opens {
					t.Errorf("fetched: %v, want %v", got, tc.opens)
				}
			})
		})
	}
}

// Aliases that robots.txt cannot contain, and names of other robots, are refused.
func TestDialectAndAliasesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		field   string
		dialect robots.Dialect
		alias   string
	}{
		{"Dialect", 7, "oldbot"}, {"Aliases", robots.RFC9309, "bot2"}, {"Aliases", robots.RFC9309, ""},
		{"Aliases", robots.RFC9309, "Googlebot"}, {"", robots.Koster1996, "bot2"}, {"", robots.Google, "oldbot"},
	} {
		_, err := crawler.New(crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "me@example.org"}, Seeds: []string{"http://a.example/"},
			Robots: crawler.Robots{Dialect: tc.dialect, Aliases: []string{tc.alias}},
		})
		var option *crawler.OptionError
		if errors.As(err, &option) != (tc.field != "") || option != nil && option.Field != tc.field {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
