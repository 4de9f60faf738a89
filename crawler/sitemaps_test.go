package crawler_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
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

// urlset returns a sitemap with the given URLs, index a sitemap index with the given sitemaps.
func urlset(urls ...string) string { return sitemap("urlset", "url", urls) }
func index(urls ...string) string  { return sitemap("sitemapindex", "sitemap", urls) }

func sitemap(root, element string, urls []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`, root)
	for _, u := range urls {
		fmt.Fprintf(&b, "<%s><loc>%s</loc></%[1]s>", element, u)
	}
	fmt.Fprintf(&b, "</%s>", root)
	return b.String()
}

// sent returns a handler that sends body with the given media type.
func sent(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Write([]byte(body))
	}
}

// mapped adds a site with sitemaps of all kinds. Links lead to only two of its pages.
func mapped(w *crawltest.Web) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(urlset("http://a.example/zipped")))
	z.Close()
	w.Site("http://a.example").
		Robots("User-agent: *\nDisallow: /no\nSitemap: /index.xml\nSitemap: http://a.example/list.txt\nSitemap: http://files.example/a.xml\nSitemap: http://files.example/no.xml").
		Page("/", `<a href="/linked">x</a>`).Page("/linked", "").
		Func("/index.xml", sent("application/xml", index("http://a.example/map.xml", "http://a.example/map.xml.gz", "http://a.example/no/map.xml", "http://files.example/beside.xml"))).
		Func("/map.xml", sent("text/xml", urlset("http://a.example/", "http://a.example/mapped", "http://a.example/no/page", "http://b.example/elsewhere"))).
		Func("/map.xml.gz", sent("application/gzip", zipped.String())).
		Func("/list.txt", sent("text/plain", "http://a.example/listed\nhttp://a.example/mapped\n")).
		Page("/mapped", `<a href="/behind">x</a>`).Page("/zipped", "").Page("/listed", "").Page("/behind", "").Page("/far", "").Page("/no/page", "")
	w.Site("http://files.example").
		Robots("User-agent: *\nDisallow: /no.xml\nSitemap: http://files.example/own.xml").
		Func("/a.xml", sent("application/xml", urlset("http://a.example/far", "http://files.example/page"))).
		Func("/beside.xml", sent("application/xml", urlset("http://a.example/x"))).
		Func("/own.xml", sent("application/xml", urlset("http://a.example/y"))).
		Func("/no.xml", sent("application/xml", urlset("http://a.example/z")))
	w.Site("http://b.example").Page("/elsewhere", "")
}

// For site owners: "Sitemaps that robots.txt names are read under the same rules and pauses; URLs
// that they list are fetched if they are in scope and allowed."
//
// A sitemap is not itself a page. It may be on another host if robots.txt names it. Then the
// robots.txt of that host applies to it, and the sitemaps of that host are not read.
func TestSitemapsAreRead(t *testing.T) {
	for _, test := range []struct {
		sitemaps crawler.Sitemaps
		want     []string
		asked    []string // sitemaps that are requested
	}{
		{crawler.SitemapsAlso, []string{"/", "/linked", "/mapped", "/zipped", "/listed", "/behind", "/far"},
			[]string{"http://a.example/index.xml", "http://a.example/map.xml", "http://a.example/map.xml.gz", "http://a.example/list.txt", "http://files.example/a.xml"}},
		{crawler.SitemapsOnly, []string{"/", "/mapped", "/zipped", "/listed", "/far"},
			[]string{"http://a.example/index.xml", "http://a.example/map.xml", "http://a.example/map.xml.gz", "http://a.example/list.txt", "http://files.example/a.xml"}},
		{crawler.SitemapsNone, []string{"/", "/linked"}, nil},
	} {
		t.Run(string(test.sitemaps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				mapped(w)
				pages, sum := crawl(t, w, func(o *crawler.Options) { o.Sitemaps = test.sitemaps }, "http://a.example/")
				var want []string
				for _, path := range test.want {
					want = append(want, "http://a.example"+path)
				}
				wantPages(t, pages, want...)
				if sum.Pages != len(want) || sum.Fetched != len(want)+len(test.asked) {
					t.Errorf("%d pages, %d fetched", sum.Pages, sum.Fetched)
				}
				w.AssertFetched(test.asked...)
				w.AssertNeverFetched("http://a.example/no/map.xml", "http://a.example/no/page", "http://files.example/no.xml",
					"http://files.example/own.xml", "http://files.example/beside.xml", "http://files.example/page", "http://b.example/elsewhere")
				w.AssertPolite()
			})
		})
	}
}

// Sitemaps do not count for limits of pages. The hops of a page show that it was found in a
// sitemap.
func TestSitemapsAreNoPages(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		mapped(w)
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit, o.Concurrency = dir, 7, 1 }, "http://a.example/")
		if sum.Pages != 7 || sum.End != crawler.EndDone && sum.End != crawler.EndLimit {
			t.Errorf("%d pages, %s", sum.Pages, sum.End)
		}
	})
	hops := map[string]string{}
	for _, r := range records(t, dir) {
		hops[r.URL] = r.Hops + " " + r.Via
	}
	for u, want := range map[string]string{
		"http://a.example/index.xml": "PM http://a.example/robots.txt",
		"http://a.example/map.xml":   "PMM http://a.example/index.xml",
		"http://a.example/zipped":    "PMML http://a.example/map.xml.gz",
		"http://a.example/listed":    "PML http://a.example/list.txt",
	} {
		if hops[u] != want {
			t.Errorf("%s: %q, want %q", u, hops[u], want)
		}
	}
}

// A seed that is a sitemap counts as a page and is passed to the handler. It is also read as a
// sitemap.
func TestASeedMayBeASitemap(t *testing.T) {
	for sitemaps, want := range map[crawler.Sitemaps][]string{
		crawler.SitemapsOnly: {"http://a.example/map.xml", "http://a.example/", "http://a.example/mapped"},
		crawler.SitemapsNone: {"http://a.example/map.xml"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			mapped(w)
			w.Site("http://a.example").Robots("")
			w.Site("http://a.example").Page("/no/page", "")
			pages, _ := crawl(t, w, func(o *crawler.Options) { o.Sitemaps = sitemaps }, "http://a.example/map.xml")
			if sitemaps == crawler.SitemapsOnly {
				want = append(want, "http://a.example/no/page")
			}
			wantPages(t, pages, want...)
		})
	}
}

// If only the seeds are in scope, no sitemap is requested.
func TestAListOfSeedsNeedsNoSitemap(t *testing.T) {
	for _, scope := range []crawler.Scope{crawler.SeedsOnly(), crawler.Both(crawler.SameHost(), crawler.SeedsOnly())} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			mapped(w)
			pages, sum := crawl(t, w, func(o *crawler.Options) { o.Scope = scope }, "http://a.example/", "http://a.example/mapped")
			wantPages(t, pages, "http://a.example/", "http://a.example/mapped")
			if sum.Requests != 3 {
				t.Errorf("%v: %d requests", scope, sum.Requests)
			}
		})
	}
}

// Each run queues the sitemaps that a stored robots.txt names. So sitemaps are not lost if the last
// run was killed before it had queued them, or did not want them.
func TestAKeptRobotsTxtNamesItsSitemaps(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		mapped(w)
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Sitemaps, o.Limit = dir, crawler.SitemapsNone, 1 }, "http://a.example/")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		if !slices.Contains(pages, "http://a.example/zipped") || !slices.Contains(pages, "http://a.example/linked") {
			t.Errorf("%q", pages)
		}
		if n := w.Fetched("http://a.example/robots.txt"); n != 1 {
			t.Errorf("robots.txt was requested %d times", n)
		}
	})
}

// If robots.txt names a new sitemap during a long crawl, it is read.
func TestANewRobotsTxtNamesNewSitemaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/new", "").Func("/new.xml", sent("text/xml", urlset("http://a.example/new")))
		s.Page("/", `<a href="/1">x</a>`).Page("/1", `<a href="/2">x</a>`).Page("/2", "").Robots("User-agent: *\nCrawl-delay: 86401\n")
		var pages []string
		time.AfterFunc(24*time.Hour, func() { s.Robots("User-agent: *\nSitemap: /new.xml\n") })
		pages, _ = crawl(t, w, func(o *crawler.Options) { o.Patience = 100 * time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/1", "http://a.example/2", "http://a.example/new")
	})
}

// A crawl ends even if sitemap indexes name each other, or always new ones. A file that is not a
// sitemap is requested once. Invalid parts of a sitemap do not end the crawl.
func TestSitemapsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		asked := 0
		w.Site("http://a.example").Robots("Sitemap: /0.xml\nSitemap: /a.xml\nSitemap: /broken.xml\nSitemap: /gone.xml\nSitemap: /moved.xml\nSitemap: http://[\n").
			Page("/", "").Page("/found", "").
			Func("/a.xml", sent("text/xml", index("http://a.example/b.xml"))).Func("/b.xml", sent("text/xml", index("http://a.example/a.xml"))).
			Func("/broken.xml", sent("text/xml", "<urlset><url><loc>http://a.example/found</loc></url><url><loc>http://")).
			Redirect("/moved.xml", "http://files.example/moved.xml").
			Default(func(w http.ResponseWriter, r *http.Request) {
				var n int
				if _, err := fmt.Sscanf(r.URL.Path, "/%d.xml", &n); err != nil {
					http.NotFound(w, r)
					return
				}
				asked++
				sent("text/xml", index(fmt.Sprintf("http://a.example/%d.xml", n+1)))(w, r)
			})
		w.Site("http://files.example").Func("/moved.xml", sent("text/xml", urlset("http://a.example/moved")))
		w.Site("http://a.example").Page("/moved", "")
		pages, sum := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/found", "http://a.example/moved")
		if asked != 3 || sum.SkippedLinks[frontier.TooDeep] != 1 {
			t.Errorf("%d of endless sitemaps, %v", asked, sum.SkippedURLs)
		}
	})
}

// If many sites have large sitemaps, all are read, but only a few are in memory at the same time.
func TestManyLargeSitemaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites, pages = 12, 3000
		w := crawltest.New(t)
		var seeds []string
		for i := range sites {
			origin := fmt.Sprintf("http://h%d.example", i)
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			for j := range pages {
				fmt.Fprintf(z, "%s/no/%d\n", origin, j)
			}
			z.Close()
			w.Site(origin).Robots("User-agent: *\nDisallow: /no/\nSitemap: /map.gz\n").Page("/", "").Func("/map.gz", sent("application/gzip", zipped.String()))
			seeds = append(seeds, origin+"/")
		}
		_, sum := crawl(t, w, nil, seeds...)
		if sum.SkippedURLs[frontier.RobotsDisallowed] != sites*pages || sum.Pages != sites {
			t.Errorf("%d pages, %v", sum.Pages, sum.SkippedURLs)
		}
	})
}
