package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// order returns the targets of the pages in the order in which they were fetched.
func order(t *testing.T, w *crawltest.Web, change func(*crawler.Options), seeds ...string) (paths []string) {
	t.Helper()
	o := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}}
	change(&o)
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		paths = append(paths, p.URL.Target()+strings.TrimSuffix(" "+p.Entry.Tag, " "))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// The rank of a link orders the pages of a site, even pages that are found later. The tag of a link
// becomes the tag of its target. Refused links are passed to OnSkip.
func TestLinksAreRankedAndTagged(t *testing.T) {
	for name, test := range map[string]struct {
		links func(*crawler.Page, *crawler.Link) bool
		want  string
	}{
		"as they are": {func(*crawler.Page, *crawler.Link) bool { return true }, "/ /a /b /a1 /a2 /b1 /b2"},
		"deep first": {func(p *crawler.Page, l *crawler.Link) bool {
			l.Rank = 255 - uint8(p.Entry.Depth)
			return true
		}, "/ /a /a1 /a2 /b /b1 /b2"},
		"best first": {func(_ *crawler.Page, l *crawler.Link) bool {
			if l.Rank = 9; strings.Contains(l.URL.Target(), "b") {
				l.Rank = 1
			}
			return true
		}, "/ /b /b1 /b2 /a /a1 /a2"},
		"tagged": {func(_ *crawler.Page, l *crawler.Link) bool {
			if l.Where == "a/href" && l.URL.Target() == "/b" {
				l.Tag = "b"
			}
			return true
		}, "/ /a /b b /a1 /a2 /b1 b /b2 b"},
		"refused": {func(p *crawler.Page, l *crawler.Link) bool { return p.Entry.Depth == 0 }, "/ /a /b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site("http://a.example").Page("/", `<a href="/a">x</a><a href="/b">x</a><a href="/b">x</a>`)
				for _, p := range []string{"/a", "/b"} {
					s.Page(p, fmt.Sprintf(`<a href="%s1">x</a><a href="%[1]s2">x</a><a href="http://b.example/">x</a>`, p))
					s.Page(p+"1", "").Page(p+"2", "")
				}
				skipped := map[frontier.Code]int{}
				got := order(t, w, func(o *crawler.Options) {
					o.Links, o.OnSkip = test.links, func(s crawler.Skip) { skipped[s.Code]++ }
				}, "http://a.example/")
				if strings.Join(got, " ") != test.want || (skipped[frontier.RefusedByProgram] == 4) != (name == "refused") {
					t.Errorf("%q, want %q; %v", got, test.want, skipped)
				}
				w.AssertPolite()
			})
		})
	}
}

// Rewrite is applied to every URL, wherever it comes from, before the URL is looked up.
func TestURLsAreRewritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("Sitemap: /map?utm_source=r\nSitemap: /refused\n").
			Page("/", `<a href="/x?utm_source=1">x</a><a href="/x?utm_source=2">x</a><a href="/go?b=2&utm_medium=z&a=1">x</a><a href="/refused">x</a>`).
			Page("/x", "").Redirect("/go?b=2&a=1", "/x?gclid=7").
			Func("/map", sent("text/plain", "http://a.example/mapped?fbclid=1")).Page("/mapped", "")
		got := order(t, w, func(o *crawler.Options) {
			o.Dir = dir
			o.Rewrite = func(u frontier.URL) frontier.URL {
				if u.Target() == "/refused" {
					return frontier.URL{}
				}
				return crawler.StripTracking(u)
			}
		}, "http://a.example/?utm_campaign=seed")
		slices.Sort(got)
		if want := "/ /go?b=2&a=1 /mapped /x"; strings.Join(got, " ") != want {
			t.Errorf("%q, want %s", got, want)
		}
		w.AssertFetched("http://a.example/map", "http://a.example/x")
		w.AssertNeverFetched("http://a.example/refused")
	})
}

// If a hook refuses a seed, or panics for it, New fails. A panic in a visit ends the run, and the
// next run fetches the page.
func TestHooksThatMisbehave(t *testing.T) {
	zero := func(frontier.URL) frontier.URL { return frontier.URL{} }
	for name, rewrite := range map[string]func(frontier.URL) frontier.URL{"Seeds": zero, "Rewrite": func(frontier.URL) frontier.URL { panic("x") }} {
		_, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Follow: crawler.Follow{Rewrite: rewrite}})
		var bad *crawler.OptionError
		if !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, scope := range map[string]crawler.Scope{"Admit": badScope{}, "Clone": badScope{cloned: true}} {
		_, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Scope: scope})
		var bad *crawler.OptionError
		if !errors.As(err, &bad) || bad.Field != "Scope" || !strings.Contains(err.Error(), "in "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">x</a>`).Page("/1", "")
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Follow: crawler.Follow{Links: func(*crawler.Page, *crawler.Link) bool { panic("in Links") }}}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		var panicked *crawler.PanicError
		if err := c.Run(t.Context(), nil); !errors.As(err, &panicked) || panicked.Value != "in Links" {
			t.Errorf("%v", err)
		}
		got := order(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		if strings.Join(got, " ") != "/ /1" {
			t.Errorf("%q", got)
		}
		w.AssertPolite()
	})
}

// A badScope panics when it is cloned, or at the first seed.
type badScope struct{ cloned bool }

func (s badScope) Clone() crawler.Scope {
	if s.cloned {
		panic("in Clone")
	}
	return s
}

func (badScope) Admit(frontier.URL)           { panic("in Admit") }
func (badScope) Contains(frontier.Entry) bool { return true }

// StripTracking removes only parameters that do not change the page.
func TestStripTracking(t *testing.T) {
	const id = "0123456789abcdef"
	for raw, want := range map[string]string{
		"/":                                       "/",
		"/?a=1&b=2":                               "/?a=1&b=2",
		"/?b=2&utm_source=x&a=1":                  "/?b=2&a=1",
		"/?utm_source=x":                          "/",
		"/?UTM_Source=x&GCLID=1":                  "/",
		"/?utm=1&gclidx=2&xgclid=3":               "/?utm=1&gclidx=2&xgclid=3",
		"/?":                                      "/?",
		"/?a&&b":                                  "/?a&&b",
		"/x;jsessionid=" + id + "?a=1":            "/x?a=1",
		"/x;jsessionid=" + id + "/y":              "/x/y",
		"/x;jsessionid=" + id + ";v=1":            "/x;v=1",
		"/x;JSESSIONID=" + id:                     "/x",
		"/x;v=1;jsessionid=" + id:                 "/x;v=1;jsessionid=" + id,
		"/x;jsessionid=7":                         "/x;jsessionid=7",
		"/?PHPSESSID=" + id + "&q=%20":            "/?q=%20",
		"/?sid=12":                                "/?sid=12",
		"/?sid=24/05/12/0123456":                  "/?sid=24/05/12/0123456",
		"/?sid=24%2f05%2f12%2f0123456":            "/?sid=24%2f05%2f12%2f0123456",
		"/?sid=" + id:                             "/",
		"/?q=a+b&fbclid=1&mtm_kwd=z&r=http://x/?": "/?q=a+b&r=http://x/?",
	} {
		u := mustURL(t, "http://a.example"+raw)
		got := crawler.StripTracking(u)
		if got.Target() != want {
			t.Errorf("%s: %s, want %s", raw, got.Target(), want)
		}
		if crawler.StripTracking(got) != got {
			t.Errorf("%s: not the same when it is stripped again", raw)
		}
	}
}

// Both contains the URLs that are in both scopes. Its name has the names of both.
func TestBothScopes(t *testing.T) {
	docs := regexp.MustCompile(`/docs/`)
	given := crawler.SameHost()
	s := crawler.Both(given, crawler.ScopeFunc(func(e frontier.Entry) bool { return docs.MatchString(e.URL.Target()) }))
	mine := s.(interface{ Clone() crawler.Scope }).Clone()
	mine.Admit(mustURL(t, "http://a.example/"))
	for raw, want := range map[string]bool{"http://a.example/docs/x": true, "http://a.example/x": false, "http://b.example/docs/x": false} {
		e := frontier.Entry{URL: mustURL(t, raw)}
		if mine.Contains(e) != want || given.Contains(e) {
			t.Errorf("%s: %v", raw, mine.Contains(e))
		}
	}
	if text := fmt.Sprint(mine); text != "host and crawler.ScopeFunc" {
		t.Errorf("%q", text)
	}
}

// The tag of a followed link applies to the result of Rewrite, for each form of the link. If there
// are several tags, the last one is used.
func TestATagIsThatOfTheRewrittenURL(t *testing.T) {
	for name, test := range map[string]struct {
		page, want string
		follow     []string // a URL and its tag; without a tag Page.Follow is called
	}{
		"followed":                 {"", "/ /item item", []string{"/item?utm_source=x item"}},
		"a link, written so":       {`<a href="/item?utm_source=x">x</a>`, "/ /item item", []string{"/item?utm_source=x item"}},
		"a link, written not so":   {`<a href="/item?utm_source=x">x</a>`, "/ /item item", []string{"/item item"}},
		"a link, written as it is": {`<a href="/item">x</a>`, "/ /item item", []string{"/item?utm_source=x item"}},
		"several":                  {"", "/ /item last", []string{"/item?utm_source=x first", "/item?utm_source=y last"}},
		"and without a tag":        {"", "/ /item item", []string{"/item?utm_source=x item", "/item?utm_source=y"}},
		"of others":                {`<a href="/item">x</a>`, "/ /item /other item", []string{"/other?utm_source=x item"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", test.page).Page("/item", "").Page("/other", "")
				var got []string
				c := newCrawl(t, w, func(o *crawler.Options) { o.Rewrite = crawler.StripTracking }, "http://a.example/")
				err := c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
					got = append(got, strings.TrimSpace(p.URL.Target()+" "+p.Entry.Tag))
					if p.URL.Target() != "/" {
						return nil
					}
					for _, f := range test.follow {
						ref, tag, tagged := strings.Cut(f, " ")
						err := p.Follow(ref)
						if tagged {
							err = p.FollowTag(ref, tag)
						}
						if err != nil {
							return err
						}
					}
					return nil
				}))
				if err != nil || strings.Join(got, " ") != test.want {
					t.Errorf("%q, %v, want %q", got, err, test.want)
				}
			})
		})
	}
}
