package crawler_test

import (
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// equivalent runs a crawl with all rules of the settings for equivalent URLs. Its first seed is
// http://a.example/index.html, which redirects to http://a.example/. The function again continues
// the crawl with another seed. It returns the result of Idle, and the requests.
func equivalent(t *testing.T) (dir string, again func(seed string) (idle bool, asked []string)) {
	t.Helper()
	dir = t.TempDir()
	w := crawltest.New(t)
	w.Site("http://a.example").
		Robots("User-agent: *\nDisallow: /*ref=b\nClean-param: ref /items\n").
		Redirect("/index.html", "/").
		Page("/", `<a href="/items?ref=a&id=1">1</a> <a href="/items?id=1&ref=b">1</a> <a href="/dir/">d</a> <a href="/dir/index.php">d</a>
			<a href="/x;jsessionid=0123456789ABCDEF">x</a> <a rel="nofollow" href="/x?utm_source=1">x</a> <a rel="nofollow" href="/y">y</a>
			<a href="/two?b=1&a=2">2</a> <a href="/two?a=2&b=1">2</a> <a href="http://b.example/">b</a>`).
		Page("/items?ref=a&id=1", "1").Page("/dir/", "d").Page("/x;jsessionid=0123456789ABCDEF", "x").Page("/two?b=1&a=2", "2")
	w.Site("http://b.example").Page("/", `<a href="http://a.example/items?id=2&ref=a">2</a> <a href="http://a.example/items?id=2&ref=c">2</a>`)
	w.Site("http://a.example").Page("/items?id=2&ref=a", "2").Page("/items?id=2&ref=c", "2")
	options := func(o *crawler.Options) {
		o.Dir, o.CleanParam = dir, true
		o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputLinks}
		if err := settingOf(t, o, "same").Set("index,query-order,tracking"); err != nil {
			t.Fatal(err)
		}
	}
	seeds := []string{"http://a.example/index.html", "http://b.example/"}
	crawl(t, w, options, seeds...)
	return dir, func(seed string) (idle bool, asked []string) {
		opts := crawler.Options{Identity: testIdentity, Seeds: append(seeds, seed), Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}}
		options(&opts)
		c, err := crawler.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		idle = c.Idle()
		before := len(w.Log())
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Log()[before:] {
			asked = append(asked, r.Target)
		}
		return idle, asked
	}
}

// Each URL that counts as the same page as a requested URL has the entry of that URL: the requested
// URL itself, the URL that represents them, and others. robots.txt is that of the requested URL.
func TestEquivalentURLsHaveOneEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _ := equivalent(t)
		a := accountOf(t, dir)
		r, err := storage.OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for asked, want := range map[string]string{
			"/items?ref=a&id=1": "/items?ref=a&id=1", "/items?id=1&ref=b": "/items?ref=a&id=1", "/items?id=1": "/items?ref=a&id=1", "/items?utm_source=z&id=1": "/items?ref=a&id=1",
			"/dir/": "/dir/", "/dir/index.php": "/dir/", "/dir/INDEX.HTML": "/dir/",
			"/x;jsessionid=0123456789ABCDEF": "/x;jsessionid=0123456789ABCDEF", "/x": "/x;jsessionid=0123456789ABCDEF", "/x?utm_source=1": "/x;jsessionid=0123456789ABCDEF",
			"/two?b=1&a=2": "/two?b=1&a=2", "/two?a=2&b=1": "/two?b=1&a=2",
			"/items?id=2&ref=a": "/items?id=2&ref=a", "/items?id=2&ref=c": "/items?id=2&ref=c", // found on another site, which does not know the Clean-param line
			"/index.html": "/index.html", "/": "/", "/default.htm": "/index.html", // a redirect between equivalent URLs is followed
			"/items": "", "/items?id=3": "", "/y": "", "/two?a=2": "", "/x/index.html": "",
		} {
			x := explain(t, a, "http://a.example"+asked)
			u, err := frontier.ParseURL("http://a.example" + asked)
			if err != nil {
				t.Fatal(err)
			}
			k, known, err := r.Entry(u)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				if x.Known || known {
					t.Errorf("%s is known, as %s and %s", asked, x.URL, k.URL)
				}
				continue
			}
			if !x.Known || x.URL.Target() != want || !known || k.URL.Target() != want {
				t.Errorf("%s is explained as %v %s, read as %v %s; want %s", asked, x.Known, x.URL, known, k.URL, want)
			}
			if x.Fate.Code != frontier.Fetched || len(x.Tries) != 1 || x.Robots == nil || x.Robots.Verdict.Rule.Line != 0 {
				t.Errorf("%s: %s, %d tries, %+v", asked, x.Fate.Code, len(x.Tries), x.Robots)
			}
		}
	})
}

// A refused link to a page that was fetched under another URL is not listed.
func TestRefusedLinksToEquivalentURLsAreNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _ := equivalent(t)
		var got []string
		for l, err := range accountOf(t, dir).Refused() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l.To.Target())
		}
		if len(got) != 1 || got[0] != "/y" {
			t.Errorf("%q", got)
		}
	})
}

// A new seed of a finished crawl is requested, unless the same page was requested. Clean-param lines
// do not apply to seeds.
func TestASeedThatIsEquivalent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, again := equivalent(t)
		for seed, want := range map[string]int{"/index.htm": 0, "/two?a=2&b=1": 0, "/items?id=1&ref=z": 1} {
			if idle, asked := again("http://a.example" + seed); len(asked) != want || idle != (want == 0) {
				t.Errorf("%s: idle %v, requests for %q", seed, idle, asked)
			}
		}
	})
}
