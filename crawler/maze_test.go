package crawler_test

import (
	"fmt"
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

// maze adds a site of ten pages with four endless spaces of URLs: one page under ever longer paths,
// session ids, a calendar, and a filter.
func maze(w *crawltest.Web) {
	s := w.Site("http://a.example")
	visits := 0
	page := func(w http.ResponseWriter, links ...string) {
		w.Header().Set("Content-Type", "text/html")
		for _, l := range links {
			fmt.Fprintf(w, `<a href="%s">x</a>`, l)
		}
	}
	s.Func("/", func(w http.ResponseWriter, _ *http.Request) {
		page(w, "/page/0", "/deep/", "/shop", "/calendar/2000-01", "/filter?")
	})
	for i := range 9 {
		s.Page(fmt.Sprintf("/page/%d", i), fmt.Sprintf(`<title>%d</title><a href="/page/%d">x</a>`, i, min(i+1, 8)))
	}
	s.Default(func(w http.ResponseWriter, r *http.Request) {
		visits++
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/deep/"):
			page(w, "left/", "right/", "ahead/")
		case path == "/shop":
			page(w, fmt.Sprintf("/shop?sid=%032d", visits), fmt.Sprintf("/shop?sid=%032d", visits+1))
		case strings.HasPrefix(path, "/calendar/"):
			month, _ := time.Parse("2006-01", strings.TrimPrefix(path, "/calendar/"))
			page(w, month.AddDate(0, 1, 0).Format("2006-01"), month.AddDate(0, -1, 0).Format("2006-01"))
		case path == "/filter":
			for i := range 10 {
				page(w, "/filter?"+strings.TrimPrefix(r.URL.RawQuery+"&f"+strconv.Itoa(i)+"=1", "&"))
			}
		default:
			http.NotFound(w, r)
		}
	})
}

// For site owners: "Endless calendars, session ids and paths that repeat themselves are
// not crawled."
//
// Most of a maze is not crawled, and the summary says where; all other pages are fetched.
func TestAMazeIsNotEntered(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			maze(w)
			pages, sum := crawl(t, w, func(o *crawler.Options) { o.MaxHostPages, o.FollowTraps = 1500, follow }, "http://a.example/")
			var real int
			kinds := map[string]int{}
			for _, p := range pages {
				kind, _, _ := strings.Cut(strings.TrimPrefix(p, "http://a.example/"), "/")
				kind, _, _ = strings.Cut(kind, "?")
				kinds[kind]++
				if kind == "page" {
					real++
				}
			}
			t.Logf("traps followed: %v: %d pages, %v; %v", follow, len(pages), kinds, sum.Traps[:min(len(sum.Traps), 8)])
			if !follow && real != 9 {
				t.Errorf("%d of 9 pages", real)
			}
			if follow != (len(pages) == 1500) || follow != (len(sum.Traps) == 0) || follow != (sum.SkippedLinks[frontier.Trap] == 0) {
				t.Errorf("%d pages, %v, %v", len(pages), sum.Traps, sum.SkippedLinks)
			}
		})
	}
}

// Some pages only refresh to another page in their own directory, and have equal bodies. They are
// not an endless space.
func TestRefreshPagesAreNotATrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		const refreshed = `<meta http-equiv="refresh" content="0; url=index.html">`
		links, want := `<a href="/docs/">x</a>`, []string{"http://a.example/docs/index.html"}
		s.Page("/docs/", refreshed).Page("/docs/index.html", "")
		for i := range 20 {
			dir := fmt.Sprintf("/docs/v%d/", i)
			links += fmt.Sprintf(`<a href="%s">x</a>`, dir)
			s.Page(dir, refreshed).Page(dir+"index.html", fmt.Sprint("version ", i))
			want = append(want, "http://a.example"+dir+"index.html")
		}
		s.Page("/", links)
		if err := newCrawl(t, w, nil, "http://a.example/").Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.AssertFetched(want...)
	})
}
