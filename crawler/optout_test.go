package crawler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

func optOutList(t *testing.T, text string) *crawler.OptOutList {
	t.Helper()
	l, err := crawler.ReadOptOutList(strings.NewReader(text), "list")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// For site owners: "Nothing is requested from a place on the operator's opt-out list,
// not even its robots.txt."
func TestOptedOutPlacesGetNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="http://out.example/">1</a><a href="/private/x">2</a><a href="/go">3</a><a href="/open">4</a><img src="http://www.out.example/i.gif">`).
			Page("/private/x", "").Redirect("/go", "http://out.example/there").Page("/open", "")
		w.Site("http://out.example").Page("/", "").Page("/there", "").Page("/rules.txt", "User-agent: *\nAllow: /")
		w.Site("http://www.out.example").Page("/i.gif", "GIF")
		// The robots.txt of this site redirects to an excluded place, so its rules are unknown.
		w.Site("http://led.example").Redirect("/robots.txt", "http://out.example/rules.txt").Page("/", "")
		pages, sum := crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Scope, o.Requisites = dir, crawler.Anywhere(), true
			o.OptOut = optOutList(t, "out.example\nhttp://a.example/private/").Why
		}, "http://a.example/", "http://out.example/seed", "http://led.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/go", "http://a.example/open")
		for _, r := range w.Log() {
			if strings.HasSuffix(r.Site.Host(), "out.example") || strings.HasPrefix(r.Target, "/private/") {
				t.Errorf("%s was requested", r.URL())
			}
		}
		w.AssertNeverFetched("http://led.example/")
		if n := w.Dials("out.example"); n != 0 || sum.SkippedLinks[frontier.OptedOut] != 4 || sum.SkippedURLs[frontier.OptedOut] != 1 {
			t.Errorf("%d connections, links %v, URLs %v", n, sum.SkippedLinks, sum.SkippedURLs)
		}
		if l := logOf(t, dir)["/seed"]; l == nil || l.Status != crawllog.OptedOut || !l.Start.IsZero() || !slices.Equal(l.Annotations, []string{"optout:list:1:%20out.example"}) {
			t.Errorf("%+v", l)
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	})
}

// If a queued URL is added to the opt-out list, it is removed from the queue. When it is removed
// from the list, it is queued again. Seeds are treated in the same way.
func TestOptedOutURLsArePutAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		book(w, "http://a.example", 4)
		seeds := []string{"http://a.example/0", "http://b.example/0"}
		book(w, "http://b.example", 1)
		run := func(limit int, list string) crawler.Summary {
			_, sum := crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Limit, o.Concurrency, o.OptOut = dir, limit, 1, optOutList(t, list).Why
			}, seeds...)
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			return sum
		}
		run(1, "b.example")
		before := len(w.Log())
		if sum := run(0, "example"); len(w.Log()) != before || sum.SkippedURLs[frontier.OptedOut] == 0 || len(sum.Left) != 0 || sum.End != crawler.EndDone {
			t.Errorf("%d requests; %v", len(w.Log())-before, sum)
		}
		run(0, "")
		w.AssertFetched("http://a.example/0", "http://a.example/3", "http://b.example/0")
	})
}

// If Options.OptOut panics, the crawl ends before any request.
func TestAPanicOfTheOptOutEndsTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, OptOut: func(frontier.URL) string { panic("odd") }})
		if err != nil {
			t.Fatal(err)
		}
		var panicked *crawler.PanicError
		if err := c.Run(t.Context(), nil); !errors.As(err, &panicked) || panicked.Where != "OptOut" || fmt.Sprint(panicked.Value) != "odd" || len(w.Log()) != 0 {
			t.Errorf("%v, %d requests", err, len(w.Log()))
		}
	})
}
