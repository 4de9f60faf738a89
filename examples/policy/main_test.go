package main

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// The pages of each site are requested in the order of their dates. The budget of a site ends
// before its archive, and does not affect the other site. A crawl that is continued keeps the
// order. Today is 2000-01-01.
func TestNewArticlesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Page("/", `<a href="/all">The archive</a> <a href="/1999/06/01/old">Old</a> <a href="/1999/12/30/late">Late</a>
				<a href="/quiet">Quiet</a> <a href="/busy">Busy</a> <a href="/2000-01-01-new">New</a>`).
			Page("/all", "").Page("/1999/06/01/old", "").Page("/1999/12/30/late", `<a href="/by-late">x</a>`).Page("/2000-01-01-new", "").
			Page("/quiet", `<time datetime="1999-12-01">1 December</time> <a href="/by-quiet">x</a>`).
			Page("/busy", `<time datetime="1999-12-31T20:00Z">yesterday</time> <a href="/by-busy">x</a> <a href="/ad" rel=nofollow>x</a>`).
			Page("/by-quiet", "").Page("/by-late", "").
			Page("/by-busy", `<a href="/last">x</a>`).Page("/last", "")
		w.Site("https://b.example").
			Page("/", `<a href="/older">Older posts</a> <a href="/1990/01/01/a">x</a> <a href="/2010/01/01/b">x</a>`).
			Page("/older", "").Page("/1990/01/01/a", "").Page("/2010/01/01/b", `<meta name=robots content=nofollow><time datetime="1999-12-31"></time><a href="/hidden">x</a>`)
		var mu sync.Mutex
		got := map[string][]string{}
		dir := filepath.Join(t.TempDir(), "crawl")
		for _, limit := range []int{6, 0} {
			err := run(t.Context(), crawler.Options{
				Identity: crawler.Identity{Token: "newsbot", Contact: "https://example.org/newsbot"},
				Seeds:    []string{"https://a.example/", "https://b.example/"}, Dir: dir,
				Wire:   crawler.Wire{Network: w, RootCAs: w.RootCAs()},
				Budget: crawler.Budget{Limit: limit, MaxHostPages: 9},
			}, func(p *crawler.Page) {
				mu.Lock()
				defer mu.Unlock()
				got[p.URL.Host()] = append(got[p.URL.Host()], p.URL.Target())
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for host, want := range map[string][]string{
			// The links of /busy come before that of /quiet, which was found earlier.
			"a.example": {"/", "/2000-01-01-new", "/quiet", "/busy", "/by-busy", "/last", "/1999/12/30/late", "/by-late", "/by-quiet"},
			"b.example": {"/", "/2010/01/01/b", "/1990/01/01/a", "/older"},
		} {
			if !slices.Equal(got[host], want) {
				t.Errorf("%s: %q, want %q", host, got[host], want)
			}
		}
		w.AssertPolite()
	})
}
