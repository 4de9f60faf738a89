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

// A host names all hosts below it and all its ports, a URL all URLs that begin with it, in any
// escaped form.
func TestWhatAnOptOutListMeans(t *testing.T) {
	l := optOutList(t, "\ufeff# asked by mail\nExample.org\n\n  https://b.example/~joe/ # his pages\nhttp://c.example\nbücher.example\n[2001:DB8::1]\n192.0.2.7\n.dots.example.\nhttps://d.example/a#b\n")
	if l.Len() != 8 || optOutList(t, "").Len() != 0 {
		t.Errorf("%d places", l.Len())
	}
	for raw, want := range map[string]string{
		"http://example.org/": "list:2: example.org", "https://www.EXAMPLE.org:8443/x": "list:2: example.org", "ftp://a.b.example.org/": "list:2: example.org", "http://example.org./": "list:2: example.org",
		"http://notexample.org/": "", "http://org/": "", "http://example.org.evil.test/": "",
		"https://b.example/~joe/": "list:4: https://b.example/~joe/", "https://b.example/%7Ejoe/x?y": "list:4: https://b.example/~joe/", "https://b.example:443/~joe/": "list:4: https://b.example/~joe/",
		"https://b.example/~joe": "", "http://b.example/~joe/": "", "https://b.example/robots.txt": "",
		"http://c.example/": "list:5: http://c.example", "http://c.example/x": "list:5: http://c.example", "https://c.example/": "",
		"http://xn--bcher-kva.example/": "list:6: xn--bcher-kva.example", "http://[2001:db8::1]:81/": "list:7: 2001:db8::1", "http://192.0.2.7/": "list:8: 192.0.2.7", "http://192.0.2.70/": "",
		"http://www.dots.example/": "list:9: dots.example", "https://d.example/ab": "list:10: https://d.example/a#b",
	} {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Why(u); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if got := new(crawler.OptOutList).Why(u); got != "" {
			t.Errorf("%s: %q by no list", raw, got)
		}
	}
	if got := l.Why(frontier.URL{}); got != "" {
		t.Error(got)
	}
}

// An invalid line is an error with its number, and no list is returned.
func TestAnInvalidOptOutListIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"a.example:80": "neither a host", "*.example.org": "neither a host", "a.example/x": "neither a host", "a b": "more than one place", "https://": "", "gopher://a.example/": "",
		"https://a.example/ b": "more than one place", "me@a.example": "neither a host", "a..example": "neither a host", "?": "neither a host", "[::1": "neither a host", ".": "neither a host", "%zz": "neither a host",
	} {
		l, err := crawler.ReadOptOutList(strings.NewReader("fine.example\n"+line+"\n# comment\n"+line), "list")
		if l != nil || err == nil || !strings.HasPrefix(err.Error(), "list:2: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nlist:4: ") {
			t.Errorf("%q: %v, %v", line, l, err)
		}
	}
	if _, err := crawler.ReadOptOutList(strings.NewReader("a.example\n"+strings.Repeat("x", 70_000)), "list"); err == nil || !strings.HasPrefix(err.Error(), "list:2: ") {
		t.Error(err)
	}
}

// For any list, the places that it names are excluded, and errors name their lines.
func FuzzOptOutList(f *testing.F) {
	for _, s := range []string{"example.org\nhttps://a.example/x # y", "[::1]", "a..b", "http://%zz", "\ufeff#", "bücher.example", "1.2.3.4", "0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := crawler.ReadOptOutList(strings.NewReader(text), "list")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "list:") || l != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for line := range strings.Lines(text) {
			u, err := frontier.ParseURL(strings.TrimSpace(line))
			if err == nil && strings.Contains(line, "://") && !strings.ContainsAny(line, "# \t\ufeff") && l.Why(u) == "" {
				t.Fatalf("%q does not leave out %s", text, u)
			}
		}
	})
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
		// Its robots.txt redirects to an excluded place, so its rules are unknown.
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

// A queued URL that is put on the list is put aside, and comes back when it is removed from
// the list; seeds, too.
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

// A function that panics ends the crawl before any request.
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
