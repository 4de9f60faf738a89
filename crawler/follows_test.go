package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// URLs that the body of a loop over Pages follows are queued when the body ends. URLs that
// robots.txt or the scope forbids are not fetched.
func TestTheBodyOfPagesFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := crawltest.New(t), t.TempDir()
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no").
			Page("/", `<a href="/linked">x</a>`).Page("/linked", "").Page("/followed", "").Page("/later", "").Page("/no", "")
		w.Site("http://b.example").Page("/", "")
		var skipped []string
		run := func(leave string) (got []string) {
			c := newCrawl(t, w, func(o *crawler.Options) {
				o.Dir = dir
				o.OnSkip = func(s crawler.Skip) { skipped = append(skipped, s.URL.String()+" "+s.Code.String()) }
			}, "http://a.example/\tstart")
			for p, err := range c.Pages(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				target := p.URL.Target()
				got = append(got, target+" "+p.Entry.Tag)
				if target == "/followed" {
					if err := p.Follow("/later"); err != nil {
						t.Error(err)
					}
				}
				if target == "/" {
					if err := errors.Join(p.FollowTag("followed", "mine"), p.Follow("/no"), p.Follow("http://b.example/")); err != nil {
						t.Error(err)
					}
				}
				if target == leave {
					break
				}
			}
			return got
		}
		if got := run("/followed"); !slices.Equal(got, []string{"/ start", "/linked start", "/followed mine"}) {
			t.Errorf("the first run has %q", got)
		}
		if got := run(""); !slices.Equal(got, []string{"/followed mine", "/later mine"}) {
			t.Errorf("the second run has %q", got)
		}
		if want := []string{"http://b.example/ outside", "http://a.example/no refused"}; !slices.Equal(skipped, want) {
			t.Errorf("skipped %q, want %q", skipped, want)
		}
		w.AssertPolite()
		w.AssertNeverFetched("http://a.example/no", "http://b.example/")
		w.AssertFetched("http://a.example/", "http://a.example/linked", "http://a.example/later")
	})
}

// If a Scope panics for a URL that the body follows, the crawl ends, and the page is not marked as
// fetched.
func TestAScopeThatPanicsForWhatTheBodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 5)
		c := newCrawl(t, w, func(o *crawler.Options) {
			o.Scope = crawler.ScopeFunc(func(e frontier.Entry) bool {
				if e.URL.Target() == "/trap" {
					panic("a trap")
				}
				return true
			})
		}, seedsOf(1)...)
		var last error
		n := 0
		for p, err := range c.Pages(t.Context()) {
			if last = err; err != nil {
				continue
			}
			if n++; n == 2 {
				if err := p.Follow("/trap"); err != nil {
					t.Error(err)
				}
			}
		}
		var panicked *crawler.PanicError
		if !errors.As(last, &panicked) || n != 2 {
			t.Errorf("%d pages, then %v", n, last)
		}
	})
}

// URLs that the body follows are treated like those that a Handler follows: Options.Links may set a
// tag or refuse them, and links into endless spaces are refused.
func TestLinksAndTrapsCountForWhatTheBodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/x/x/", "").Page("/item", "")
		var skipped []string
		c := newCrawl(t, w, func(o *crawler.Options) {
			o.OnSkip = func(s crawler.Skip) { skipped = append(skipped, s.URL.Target()+" "+s.Code.String()) }
			o.Rewrite = crawler.StripTracking
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool {
				l.Tag += " seen"
				return l.URL.Target() != "/refused"
			}
		}, "http://a.example/x/x/")
		var got []string
		for p, err := range c.Pages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, p.URL.Target()+" "+p.Entry.Tag); p.Entry.Depth == 0 {
				err := errors.Join(p.FollowTag("/item?utm_source=x", "mine"), p.Follow("/refused"), p.Follow("x/"), p.Follow("x/"))
				if err != nil {
					t.Error(err)
				}
			}
		}
		if want := []string{"/x/x/ ", "/item mine seen"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if want := []string{"/refused program", "/x/x/x/ trap"}; !slices.Equal(skipped, want) {
			t.Errorf("skipped %q, want %q", skipped, want)
		}
		if traps := c.Summary().Traps; len(traps) != 1 || traps[0].URLs != 1 {
			t.Errorf("%+v", traps)
		}
	})
}

// Page.Resolve resolves a reference like a link of the page: relative to its base element, and with
// the query in its encoding.
func TestAReferenceIsResolvedAsALink(t *testing.T) {
	t.Parallel()
	p := crawltest.Answer(t, "http://a.example/x/", 200, http.Header{"Content-Type": {"text/html; charset=iso-8859-1"}}, `<base href="/base/">`)
	for ref, want := range map[string]string{
		"y?q=\u00fc": "http://a.example/base/y?q=%FC", "/z": "http://a.example/z", "//b.example": "http://b.example/", "mailto:x@a.example": "",
	} {
		u, err := p.Resolve(ref)
		var bad *frontier.URLError
		if u.String() != want || (want == "") != errors.As(err, &bad) {
			t.Errorf("%s: %s, %v, want %q", ref, u, err, want)
		}
	}
	if len(p.Followed()) > 0 {
		t.Errorf("%v", p.Followed())
	}
}

// Page.Broken returns references that are not valid URLs. References with other schemes are valid.
func TestBrokenReferencesAreNamed(t *testing.T) {
	t.Parallel()
	p := crawltest.Page(t, "http://a.example/x/", `<a href="http://">1</a><a href=" https://[::1">2</a><img src="//b.example:99999/">
		<a href="/fine"></a><a href=""></a><a href="#x"></a><a href="mailto:x@a.example"><a href="javascript:1"><a href="data:,x"><a href="tel:1"><a href="x y:z">`)
	var got []string
	for _, bad := range p.Broken() {
		got = append(got, fmt.Sprintf("%q: %v", bad.Raw, bad.Err))
	}
	want := []string{`"http://": host is not valid`, `" https://[::1": host is not valid`, `"//b.example:99999/": port is not a number from 1 to 65535`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if p := crawltest.Page(t, "http://a.example/", strings.Repeat(`<a href="http://">`, 2000)); len(p.Broken()) != 1000 {
		t.Errorf("%d broken references", len(p.Broken()))
	}
	if p := crawltest.Answer(t, "http://a.example/", 404, nil, `<a href="http://">`); p.Broken() != nil {
		t.Errorf("%v", p.Broken())
	}
}

// FollowAll follows the links that match the selector, and gives each the tag. It leaves out links
// that the owner asks not to follow. Other elements of the page have no effect.
func TestFollowAll(t *testing.T) {
	const html = `<base href=/b/><a class=item href=1>1</a> <a class=item href=" 2&#9;">2</a> <a class=other href=3>3</a>
		<a class=item rel="nofollow x" href=4>4</a> <a class=item>no href</a> <a class=item href="http://">broken</a>
		<a class=item href=mailto:x@y>mail</a> <span class=item>no link</span> <area class=item href=//b.example/5>`
	for name, test := range map[string]struct {
		html, selector string
		want           []string
		wrong          bool
	}{
		"items":        {html, ".item", []string{"http://a.example/b/1 item", "http://a.example/b/2 item", "http://b.example/5 item"}, false},
		"two":          {html, "a.other, area", []string{"http://a.example/b/3 item", "http://b.example/5 item"}, false},
		"none":         {html, "li a", nil, false},
		"no selector":  {html, "a[", nil, true},
		"empty":        {html, "", nil, true},
		"no links":     {"", "a", nil, false},
		"of the page":  {`<meta name=robots content=nofollow><a href=/1>1</a>`, "a", nil, false},
		"a wrong base": {`<base href="http://"><a href=/1>1</a>`, "a", []string{"http://a.example/1 item"}, false},
	} {
		p := crawltest.Page(t, "http://a.example/page", test.html)
		err := p.FollowAll(test.selector, "item")
		var got []string
		for _, e := range p.Followed() {
			got = append(got, e.URL.String()+" "+e.Tag)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) || (err != nil) != test.wrong {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
	p := crawltest.Page(t, "http://a.example/page", strings.Repeat("<div>", 600)+"<a href=/1>1</a>")
	if err := p.FollowAll("a", ""); err == nil || len(p.Followed()) > 0 {
		t.Errorf("of a page that Doc refuses: %v", err)
	}
}

// With OnlyFollowed a crawl fetches only the URLs that the handler follows, redirects, and images
// and scripts. It fetches neither other links nor sitemaps.
func TestOnlyFollowed(t *testing.T) {
	for _, loop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Robots("Sitemap: /map.txt").File("/map.txt", "text/plain", "http://a.example/mapped").Page("/mapped", "").
				Page("/", `<a class=item href=/1>1</a><a href=/2>2</a><a class=item href=/3>3</a><img src=/i.png><iframe src=/frame></iframe>`).
				Page("/1", `<a href=/4>4</a>`).Page("/2", "").Redirect("/3", "/moved").Page("/moved", `<a href=/4>4</a>`).Page("/4", "").
				File("/i.png", "image/png", "x").Page("/frame", `<a href=/4>4</a>`)
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}
			o.OnlyFollowed, o.Requisites = true, true
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if loop {
				for p, err := range c.Pages(t.Context()) {
					if err == nil {
						err = p.FollowAll(".item", "item")
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			} else if err := c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error { return p.FollowAll(".item", "item") })); err != nil {
				t.Fatal(err)
			}
			w.AssertFetched("http://a.example/", "http://a.example/1", "http://a.example/3", "http://a.example/moved", "http://a.example/i.png", "http://a.example/frame")
			w.AssertNeverFetched("http://a.example/2", "http://a.example/4", "http://a.example/map.txt", "http://a.example/mapped")
			w.AssertPolite()
		})
	}
}
