package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

func TestEquivalentURLs(t *testing.T) {
	all := crawler.Together(crawler.StripIndex, crawler.SortQuery, crawler.StripTracking)
	for _, tc := range []struct {
		rule      func(frontier.URL) frontier.URL
		url, want string
	}{
		{crawler.SortQuery, "/x?b=2&a=1&b=1", "/x?a=1&b=2&b=1"},
		{crawler.SortQuery, "/x?a=1&b=2", "/x?a=1&b=2"},
		{crawler.SortQuery, "/x?b&a", "/x?a&b"},
		{crawler.SortQuery, "/b&a", "/b&a"},
		{crawler.SortQuery, "/x?a-=1&a=2", "/x?a=2&a-=1"},
		{crawler.StripIndex, "/index.html", "/"},
		{crawler.StripIndex, "/a/INDEX.PHP?page=2", "/a/?page=2"},
		{crawler.StripIndex, "/a/Default.aspx", "/a/"},
		{crawler.StripIndex, "/a/index.xhtml?", "/a/?"},
		{crawler.StripIndex, "/a/myindex.html", "/a/myindex.html"},
		{crawler.StripIndex, "/a/index.html/", "/a/index.html/"},
		{crawler.StripIndex, "/?x=/index.html", "/?x=/index.html"},
		{crawler.StripIndex, "/index.html5", "/index.html5"},
		{crawler.StripTracking, "/x;jsessionid=0123456789AB;jsessionid=0123456789AB?a", "/x?a"},
		{all, "/index.html;jsessionid=0123456789AB?z=1&utm_source=x&a=2", "/?a=2&z=1"},
	} {
		u, err := frontier.ParseURL("http://a.example" + tc.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.rule(u).Target(); got != tc.want {
			t.Errorf("%s is taken for %s, want %s", tc.url, got, tc.want)
		}
	}
	refuses := crawler.Together(func(frontier.URL) frontier.URL { return frontier.URL{} }, crawler.StripIndex)
	turns := crawler.Together(func(u frontier.URL) frontier.URL {
		v, _ := u.Resolve("/" + u.Target())
		return v
	})
	u, _ := frontier.ParseURL("http://a.example/x")
	if got := refuses(u); !got.IsZero() {
		t.Errorf("what one refuses is %s", got)
	}
	turns(u) // does not loop for ever
}

// Each rule returns its own results unchanged, and returns URLs on the same site.
func FuzzSameRules(f *testing.F) {
	for _, target := range []string{"/index.html;jsessionid=0123456789AB?z=1&utm_source=x&a=2", "/..;sid=0123456789AB/index.php?&b&&a", "/%69ndex.html?%7A=1&b", "/a/.;sid=0123456789AB"} {
		f.Add(target)
	}
	rules := []func(frontier.URL) frontier.URL{crawler.StripIndex, crawler.SortQuery, crawler.StripTracking}
	rules = append(rules, crawler.Together(rules...))
	f.Fuzz(func(t *testing.T, target string) {
		u, err := frontier.ParseURL("https://a.example/" + target)
		if err != nil {
			return
		}
		for i, rule := range rules {
			once := rule(u)
			if again := rule(once); again != once || once.Site() != u.Site() {
				t.Errorf("rule %d: %s becomes %s, and then %s", i, u, once, again)
			}
			o := crawler.Options{Follow: crawler.Follow{Same: rule}}
			same := crawler.SameAs(&o, u)
			if again := crawler.SameAs(&o, same); again.Key() != same.Key() {
				t.Errorf("rule %d: %s is taken for %s, and that for %s", i, u, same, again)
			}
			// URLs that differ only in escapes are equivalent with any rule.
			normal, err := frontier.ParseURL(u.Key())
			if err == nil && normal.Key() == u.Key() && crawler.SameAs(&o, normal).Key() != same.Key() {
				t.Errorf("rule %d: %s is taken for %s, and %s for %s", i, u, same, normal, crawler.SameAs(&o, normal))
			}
		}
	})
}

// sameWeb returns a web whose pages have several URLs.
func sameWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	w.Site("http://a.example").
		Robots("User-agent: *\nDisallow: /private?b\nClean-param: ref&sid /c/\n").
		Page("/", `<a href="/index.html">1</a> <a href="/dir/">2</a> <a href="/dir/index.php">3</a> <a href="/q?b=2&amp;a=1">4</a> <a href="/q?a=1&amp;b=2">5</a>
			<a href="/t?utm_source=x">6</a> <a href="/t">7</a> <a href="/c/x?ref=1">8</a> <a href="/c/x?sid=2">9</a> <a href="/d/x?ref=1">10</a> <a href="/d/x">11</a>
			<a href="/private?b&amp;a">12</a> <a href="http://b.example/c/?sid=1">13</a> <a href="http://b.example/c/?sid=2">14</a>`).
		Default(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "x") })
	w.Site("http://b.example").Robots("Clean-param: sid").
		Default(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "x") })
	return w
}

// Only the first of several equivalent URLs is requested. It is requested as it is written, and
// robots.txt is applied to that form. Without rules for equivalent URLs all are requested.
func TestOfEquivalentURLsTheFirstIsRequested(t *testing.T) {
	plain := []string{
		"/", "/index.html", "/dir/", "/dir/index.php", "/q?b=2&a=1", "/q?a=1&b=2", "/t?utm_source=x", "/t", "/c/x?ref=1", "/c/x?sid=2", "/d/x?ref=1", "/d/x",
	}
	but := func(without ...string) (all []string) {
		for _, p := range plain {
			if !slices.Contains(without, p) {
				all = append(all, p)
			}
		}
		return all
	}
	for name, test := range map[string]struct {
		same  string
		clean bool
		want  []string
	}{
		"nothing":     {"", false, plain},
		"index":       {"index", false, but("/index.html", "/dir/index.php")},
		"query-order": {"query-order", false, but("/q?a=1&b=2")},
		"tracking":    {"tracking", false, but("/t", "/d/x?ref=1")},
		"clean-param": {"", true, but("/c/x?sid=2")},
		"all":         {"tracking,index,query-order", true, but("/index.html", "/dir/index.php", "/q?a=1&b=2", "/t", "/c/x?sid=2")},
	} {
		if name == "tracking" {
			test.want = but("/t")
		}
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"", t.TempDir()} {
				synctest.Test(t, func(t *testing.T) {
					w := sameWeb(t)
					_, sum := crawl(t, w, func(o *crawler.Options) {
						o.Dir, o.Scope, o.CleanParam = dir, crawler.Anywhere(), test.clean
						for _, s := range o.Settings() {
							if s.Name == "same" && test.same != "" {
								if err := s.Set(test.same); err != nil {
									t.Fatal(err)
								}
							}
						}
					}, "http://a.example/")
					var asked []string
					for _, r := range w.Log() {
						if r.Site == "http://a.example" && r.Target != "/robots.txt" {
							asked = append(asked, r.Target)
						}
					}
					if !slices.Equal(asked, test.want) {
						t.Errorf("asked for\n%q, want\n%q", asked, test.want)
					}
					// The crawl has found /private?b&a first, which is forbidden, although
					// /private?a&b is not.
					if sum.SkippedURLs[frontier.RobotsDisallowed] != 1 {
						t.Errorf("skips %v", sum.SkippedURLs)
					}
					w.AssertFetched("http://b.example/c/?sid=1", "http://b.example/c/?sid=2") // the robots.txt of b was not known when these links were found
					w.AssertPolite()
				})
				if dir != "" {
					if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// The target of a redirect is requested even if it is equivalent to the redirecting URL, because
// otherwise the page would be lost. Redirects in a circle end.
func TestARedirectToAnEquivalentURLIsFollowed(t *testing.T) {
	for name, test := range map[string]struct {
		web  func(*crawltest.Site)
		want []string
	}{
		"to the plain one": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a?utm_source=1">a</a> <a href="/later">l</a>`).Redirect("/a?utm_source=1", "/a").Page("/a", "x").Page("/later", `<a href="/a?utm_source=2">a</a> <a href="/a">a</a>`)
		}, []string{"/", "/a?utm_source=1", "/later", "/a"}},
		"to one with more": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a">a</a>`).Redirect("/a", "/a?utm_source=1").Page("/a?utm_source=1", `<a href="/a">a</a>`)
		}, []string{"/", "/a", "/a?utm_source=1"}},
		"in a ring of two": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a">a</a>`).Redirect("/a", "/a?utm_source=1").Redirect("/a?utm_source=1", "/a")
		}, []string{"/", "/a", "/a?utm_source=1"}},
		"in a ring of three": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a?utm_source=1">a</a>`).Redirect("/a?utm_source=1", "/a?utm_source=2").Redirect("/a?utm_source=2", "/a").Redirect("/a", "/a?utm_source=1")
		}, []string{"/", "/a?utm_source=1", "/a?utm_source=2", "/a", "/a?utm_source=1"}},
		"to another spelling": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/%7Ea">a</a> <a href="/b">b</a>`).Redirect("/%7Ea", "/~a").Page("/~a", `<a href="/%7ea">a</a>`).Page("/b", `<a href="/~a">a</a>`)
		}, []string{"/", "/%7Ea", "/b", "/~a"}},
		"in a ring of two spellings": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/%7Ea">a</a>`).Redirect("/%7Ea", "/~a").Redirect("/~a", "/%7Ea")
		}, []string{"/", "/%7Ea", "/~a"}},
		"in a ring of three spellings": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/%7Ea">a</a>`).Redirect("/%7Ea", "/~a").Redirect("/~a", "/~%61").Redirect("/~%61", "/%7Ea")
		}, []string{"/", "/%7Ea", "/~a"}},
		"to itself": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a?utm_source=1">a</a>`).Redirect("/a?utm_source=1", "/a?utm_source=1")
		}, []string{"/", "/a?utm_source=1"}},
		"to another page": {func(s *crawltest.Site) {
			s.Page("/", `<a href="/a">a</a> <a href="/b">b</a>`).Redirect("/b", "/a?utm_source=1").Page("/a", "x")
		}, []string{"/", "/a", "/b"}},
		"of the seed": {func(s *crawltest.Site) {
			s.Redirect("/", "/index.html").Page("/index.html", `<a href="/">a</a> <a href="/index.php">b</a>`)
		}, []string{"/", "/index.html"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"", t.TempDir()} {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					test.web(w.Site("http://a.example"))
					crawl(t, w, func(o *crawler.Options) {
						o.Dir, o.Same = dir, crawler.Together(crawler.StripTracking, crawler.StripIndex)
					}, "http://a.example/")
					var asked []string
					for _, r := range w.Log() {
						if r.Target != "/robots.txt" {
							asked = append(asked, r.Target)
						}
					}
					if !slices.Equal(asked, test.want) {
						t.Errorf("requested %q, want %q", asked, test.want)
					}
				})
				if dir != "" {
					if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// A run after a kill, and a run with other rules, know the URL with which a page was requested. A
// rescan queues URLs that were equivalent under the earlier rules. SameAs returns the URL with
// which a page is stored.
func TestEquivalentURLsOutliveTheRun(t *testing.T) {
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("Clean-param: ref").
			Page("/", `<a href="/x?utm_source=1">x</a> <a href="/moment">m</a> <a href="/x?utm_source=2">x</a> <a href="/y?ref=1">y</a> <a href="/y?ref=2">y</a>`).
			Func("/moment", func(rw http.ResponseWriter, r *http.Request) {
				if _, err := os.Stat(killed); err != nil {
					if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
						t.Error(err)
					}
				}
				rw.Header().Set("Content-Type", "text/html")
				io.WriteString(rw, `<a href="/x?utm_source=3">x</a> <a href="/y?ref=3">y</a>`)
			}).
			Default(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "x") })
		run := func(dir string, change func(*crawler.Options)) (asked []string) {
			before := len(w.Log())
			crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Same, o.CleanParam = dir, crawler.StripTracking, true
				change(o)
			}, "http://a.example/")
			for _, r := range w.Log()[before:] {
				if r.Target != "/robots.txt" {
					asked = append(asked, r.Target)
				}
			}
			return asked
		}
		as := func(*crawler.Options) {}
		want := func(what string, got []string, want ...string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s asks for %q, want %q", what, got, want)
			}
		}
		want("the run", run(dir, as), "/", "/x?utm_source=1", "/moment", "/y?ref=1")
		want("a run after a kill", run(killed, as), "/moment", "/y?ref=1")
		want("a rescan", run(dir, func(o *crawler.Options) { o.Rescan = true }))
		want("a rescan without the rules", run(dir, func(o *crawler.Options) { o.Rescan, o.Same, o.CleanParam = true, nil, false }),
			"/x?utm_source=1", "/x?utm_source=2", "/y?ref=1", "/y?ref=2", "/x?utm_source=3", "/y?ref=3") // these URLs are stored with other keys
		want("a rescan with them again", run(dir, func(o *crawler.Options) { o.Rescan = true }))
	})
	for _, d := range []string{dir, killed} {
		if _, err := store.Verify(t.Context(), d, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
			t.Error(err)
		}
	}
	r, err := store.OpenReader(killed)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := crawler.Options{Follow: crawler.Follow{Same: crawler.StripTracking}}
	for raw, want := range map[string]bool{"/x?utm_source=1": true, "/x?utm_source=9": true, "/x": true, "/x?a": false, "/moment": true} {
		u, err := frontier.ParseURL("http://a.example" + raw)
		if err != nil {
			t.Fatal(err)
		}
		fate, ok, err := r.Fate(crawler.SameAs(&o, u))
		if err != nil || ok != want || ok && fate.Status != 200 {
			t.Errorf("%s is known: %v, %+v, %v", u, ok, fate, err)
		}
	}
}

// If a rule panics, the crawl ends with an error that names it. A result on another site is
// ignored.
func TestInvalidRulesForEquivalentURLs(t *testing.T) {
	_, err := crawler.New(crawler.Options{
		Identity: testIdentity, Seeds: []string{"http://a.example/"},
		Follow: crawler.Follow{Same: func(frontier.URL) frontier.URL { panic("a bug") }},
	})
	if err == nil || !strings.Contains(err.Error(), "Same") {
		t.Errorf("a rule that panics for a seed: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">1</a> <a href="/2">2</a>`).Page("/1", "x").Page("/2", "x")
		elsewhere, _ := frontier.ParseURL("http://b.example/")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Same = func(frontier.URL) frontier.URL { return elsewhere } }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/1", "http://a.example/2")
	})
	for text, want := range map[string]string{"index,query-order": "index,query-order", "tracking,index,index": "index,tracking", "": "", "other": `"other" is not one of index, query-order, tracking`} {
		var o crawler.Options
		for _, s := range o.Settings() {
			if s.Name != "same" {
				continue
			}
			var got string
			if err := s.Set(text); err != nil {
				got = err.Error()
			} else if got = s.String(); (o.Same == nil) != (text == "") {
				t.Errorf("%q: Same is set: %v", text, o.Same != nil)
			}
			if got != want {
				t.Errorf("--same %q: %s, want %s", text, got, want)
			}
			if o.Same = crawler.SortQuery; text == "" && fmt.Sprint(s) != "a function" {
				t.Errorf("a function is written %s", s)
			}
		}
	}
}
