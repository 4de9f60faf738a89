package crawler_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// The sitemaps of a crawl are counted by their results. For each empty one a warning is logged.
func TestSitemapsAreCounted(t *testing.T) {
	const (
		site = "http://a.example"
		page = `<!DOCTYPE html><title>Not here</title><a href="/x">x</a>`
	)
	three := urlset(site+"/1", site+"/2", site+"/3")
	empty := func(path, reason string) crawler.EmptySitemap {
		return crawler.EmptySitemap{URL: site + path, Reason: reason}
	}
	many := func(n int) (said map[string]http.HandlerFunc, named []string) {
		said = map[string]http.HandlerFunc{}
		for i := range n {
			named = append(named, fmt.Sprintf("/%02d.xml", i))
			said[named[i]] = sent("text/xml", urlset())
		}
		return said, named
	}
	manySaid, manyNamed := many(25)
	for name, test := range map[string]struct {
		robots []string // sitemaps in robots.txt: paths or URLs
		said   map[string]http.HandlerFunc
		seeds  []string // paths of the seeds; nil means /
		none   bool     // the crawl uses SitemapsNone
		want   crawler.SitemapCounts
		warned int
	}{
		"none": {},
		"three URLs": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", three)},
			want: crawler.SitemapCounts{Named: 1, Read: 1, URLs: 3}},
		"not read": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", urlset())}, none: true},
		"named twice": {robots: []string{"/map.xml", site + "/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", three)},
			want: crawler.SitemapCounts{Named: 1, Read: 1, URLs: 3}},
		"forbidden": {robots: []string{"/no/map.xml"}, want: crawler.SitemapCounts{Named: 1}},
		"an index with two": {robots: []string{"/index.xml"}, said: map[string]http.HandlerFunc{
			"/index.xml": sent("text/xml", index(site+"/a.xml", site+"/b.txt")),
			"/a.xml":     sent("text/xml", three), "/b.txt": sent("text/plain", site+"/4\n"),
		}, want: crawler.SitemapCounts{Named: 3, Read: 3, URLs: 4}},
		"an index that names elsewhere": {robots: []string{"/index.xml"}, said: map[string]http.HandlerFunc{
			"/index.xml": sent("text/xml", index("http://b.example/b.xml")),
		}, want: crawler.SitemapCounts{Named: 2, Read: 1}},
		"empty": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", urlset())},
			want: crawler.SitemapCounts{Named: 1, Read: 1, Empty: 1, FirstEmpty: []crawler.EmptySitemap{empty("/map.xml", "lists no URL")}}, warned: 1},
		"no body": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", "")},
			want: crawler.SitemapCounts{Named: 1, Read: 1, Empty: 1, FirstEmpty: []crawler.EmptySitemap{empty("/map.xml", "is no sitemap")}}, warned: 1},
		"a page": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/html", page)},
			want: crawler.SitemapCounts{Named: 1, Read: 1, Empty: 1, FirstEmpty: []crawler.EmptySitemap{empty("/map.xml", "is no sitemap")}}, warned: 1},
		"a Link field is not listed": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", `</1>; rel="next"`)
			sent("text/xml", urlset())(w, r)
		}}, want: crawler.SitemapCounts{Named: 1, Read: 1, Empty: 1, FirstEmpty: []crawler.EmptySitemap{empty("/map.xml", "lists no URL")}}, warned: 1},
		"404": {robots: []string{"/gone.xml"}, want: crawler.SitemapCounts{Named: 1, Failed: 1}},
		"503, each time": {robots: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
			want: crawler.SitemapCounts{Named: 1, Failed: 1}},
		"moved": {robots: []string{"/old.xml"}, said: map[string]http.HandlerFunc{
			"/old.xml": http.RedirectHandler("/map.xml", http.StatusMovedPermanently).ServeHTTP, "/map.xml": sent("text/xml", three),
		}, want: crawler.SitemapCounts{Named: 1, Read: 1, URLs: 3}},
		"a seed": {seeds: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", three)},
			want: crawler.SitemapCounts{Read: 1, URLs: 3}},
		"a seed, not read": {seeds: []string{"/map.xml"}, said: map[string]http.HandlerFunc{"/map.xml": sent("text/xml", three)}, none: true},
		"all": {robots: []string{"/index.xml", "/empty.xml", "/page.xml", "/gone.xml"}, said: map[string]http.HandlerFunc{
			"/index.xml": sent("text/xml", index(site+"/a.xml", site+"/b.xml")), "/a.xml": sent("text/xml", three), "/b.xml": sent("text/xml", index()),
			"/empty.xml": sent("text/xml", urlset()), "/page.xml": sent("text/html", page),
		}, want: crawler.SitemapCounts{Named: 6, Read: 5, Failed: 1, URLs: 3, Empty: 3, FirstEmpty: []crawler.EmptySitemap{
			empty("/b.xml", "lists no URL"), empty("/empty.xml", "lists no URL"), empty("/page.xml", "is no sitemap"),
		}}, warned: 3},
		"many": {robots: manyNamed, said: manySaid, want: crawler.SitemapCounts{Named: 25, Read: 25, Empty: 25, FirstEmpty: []crawler.EmptySitemap{
			empty("/00.xml", "lists no URL"), empty("/01.xml", "lists no URL"), empty("/02.xml", "lists no URL"),
		}}, warned: 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				robots := "User-agent: *\nDisallow: /no/\n"
				for _, s := range test.robots {
					robots += "Sitemap: " + s + "\n"
				}
				s := w.Site(site).Robots(robots).Page("/", "").Page("/1", "").Page("/2", "").Page("/3", "").Page("/4", "").Page("/x", "")
				for path, h := range test.said {
					s.Func(path, h)
				}
				seeds := []string{site + "/"}
				if test.seeds != nil {
					seeds = nil
				}
				for _, path := range test.seeds {
					seeds = append(seeds, site+path)
				}
				var said bytes.Buffer
				_, sum := crawl(t, w, func(o *crawler.Options) {
					o.Logger, o.Patience = slog.New(slog.NewTextHandler(&said, nil)), 24*time.Hour
					if test.none {
						o.Sitemaps = crawler.SitemapsNone
					}
				}, seeds...)
				got := sum.Sitemaps
				slices.SortFunc(got.FirstEmpty, func(a, b crawler.EmptySitemap) int { return strings.Compare(a.URL, b.URL) })
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
					t.Errorf("%+v, want %+v", got, test.want)
				}
				if n := strings.Count(said.String(), "a sitemap lists nothing"); n != test.warned {
					t.Errorf("%d warnings, want %d:\n%s", n, test.warned, said.String())
				}
				for _, one := range got.FirstEmpty {
					if want := fmt.Sprintf("url=%s reason=%q", one.URL, "it "+one.Reason); !strings.Contains(said.String(), want) {
						t.Errorf("no warning has %s:\n%s", want, said.String())
					}
				}
				if want := fmt.Sprintf("sitemaps that list nothing: %d", got.Empty); strings.Contains(sum.String(), want) != (got.Empty > 0) {
					t.Errorf("%s", sum)
				}
			})
		})
	}
}
