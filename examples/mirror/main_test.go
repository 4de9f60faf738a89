package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// hostile are targets whose plain names would leave the directory, be too long, collide with
// each other, or name both a file and a directory.
var hostile = []string{
	"/a", "/a/", "/A/", "/a/index.html", "/a/b", "/a.html", "/a.html/b", "/a.html/b.html", "/v1.2/c", "/v1_2/c",
	"/..%2f..%2fetc", "/%2e%2e/x", "/...", "/a..", "/..x/y", "/x%00y", "/con:aux", `/back\slash`, "/crawl/", "/more/",
	"/?a=/../", "/?a=/../../../x", "/?a=_.._", "/?", "/a?b=c", "/a?b=C", "/a_b=c", "/p.php?id=1", "/p.php?id=2", "/p.php.html",
	"/%C3%BC", "/ü/ß.html", "/%FF", "/%25", "/_25", "/~user/", "/" + strings.Repeat("n", 300), "/" + strings.Repeat("n", 301) + "/",
	"/" + strings.Repeat("d/", 300), "/x." + strings.Repeat("e", 300), "/x//double//slash", "/;p=1,2/q", "/a'b\"c",
}

// served returns the answer of a file server that serves the mirror in dir.
func served(t *testing.T, dir, path string) *httptest.ResponseRecorder {
	t.Helper()
	for range 3 {
		w := httptest.NewRecorder()
		http.FileServer(http.Dir(dir)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		to, err := url.Parse(w.Header().Get("Location"))
		if err != nil || w.Code/100 != 3 {
			return w
		}
		path = (&url.URL{Path: path}).ResolveReference(to).Path // a/index.html is at a/
	}
	t.Fatalf("%s is redirected", path)
	return nil
}

// pages returns the HTML pages of a mirror by their paths.
func pages(t *testing.T, dir string) map[string]*goquery.Document {
	t.Helper()
	all := map[string]*goquery.Document{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") {
			return err
		}
		file, err := os.Open(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		defer file.Close()
		all["/"+path], err = goquery.NewDocumentFromReader(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each link of a mirrored page to a page that was fetched leads to the copy of that page.
func TestHostileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "parent", "mirror")
		w := crawltest.New(t)
		var links strings.Builder
		site := w.Site("https://a.example").Robots("User-agent: *\nDisallow: /private")
		for _, target := range hostile {
			u, err := frontier.ParseURL("https://a.example" + target)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&links, "<a href=\"%s#f\" title=\"%s\">x</a> ", html.EscapeString(target), html.EscapeString(u.Key()))
			site.Page(u.Target(), "<title>"+html.EscapeString(u.Key())+`</title><a href="/" title="https://a.example/">home</a> <a href=#part>part</a> <a href=mailto:a@a.example>mail</a>`)
		}
		links.WriteString(`<a class=gone href="/gone">1</a> <a class=gone href="/private/x">2</a> <a class=gone href="//b.example/?q=1#f">3</a> <a class=gone href="/refused">4</a> <a href="/old" title="https://a.example/a">5</a>`)
		site.Page("/", "<title>https://a.example/</title>"+links.String()).Page("/refused", "<meta name=robots content=noarchive>").Redirect("/old", "/older").Redirect("/older", "/a")
		opts := crawler.Options{
			Identity: crawler.Identity{Token: "mirrorbot", Contact: "https://example.org/mirrorbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
			Follow: crawler.Follow{FollowTraps: true},
		}
		ctx, kill := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, kill)
		if err := mirror(ctx, dir, opts); !errors.Is(err, context.Canceled) {
			t.Fatalf("the error is %v", err)
		}
		front := filepath.Join(dir, "https.a.example", "index.html")
		for _, opts.Limit = range []int{30, 0} { // each run completes the one before
			if err := mirror(t.Context(), dir, opts); err != nil {
				t.Fatal(err)
			}
			if opts.Limit > 0 {
				if err := os.Truncate(front, 9); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := pages(t, dir)
		titles, lower := map[string]bool{}, map[string]string{}
		for path, doc := range all {
			if other := lower[strings.ToLower(path)]; other != "" {
				t.Errorf("%s and %s are one file on some systems", path, other)
			}
			lower[strings.ToLower(path)] = path
			titles[doc.Find("title").Text()] = true
			doc.Find("a").Each(func(_ int, a *goquery.Selection) {
				href := a.AttrOr("href", "")
				want, internal := a.Attr("title")
				if !internal {
					return
				}
				u, err := url.Parse(href)
				if err != nil || u.IsAbs() {
					t.Errorf("%s: the link to %s is %q (%v)", path, want, href, err)
					return
				}
				to := (&url.URL{Path: path}).ResolveReference(u)
				if got := served(t, dir, to.Path); got.Code != 200 || !strings.Contains(got.Body.String(), "<title>"+html.EscapeString(want)+"</title>") {
					t.Errorf("%s: the link %q to %s leads to %d %.200s", path, href, want, got.Code, got.Body)
				}
			})
		}
		for _, r := range w.Log() {
			if r.Status == 200 && r.Target != "/robots.txt" && r.Target != "/refused" {
				if u, err := frontier.ParseURL(r.URL()); err != nil || !titles[u.Key()] {
					t.Errorf("no copy of %s", r.URL())
				}
			}
		}
		if len(titles) != len(all) || len(all) < len(hostile)-3 {
			t.Errorf("%d files with %d titles for %d targets", len(all), len(titles), len(hostile))
		}
		var gone []string
		all["/https.a.example/index.html"].Find("a.gone").Each(func(_ int, a *goquery.Selection) { gone = append(gone, a.AttrOr("href", "")) })
		if want := []string{"https://a.example/gone", "https://a.example/private/x", "https://b.example/?q=1#f", "https://a.example/refused"}; !slices.Equal(gone, want) {
			t.Errorf("links to pages without a copy are %q, want %q", gone, want)
		}
		if around, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(around) != 1 {
			t.Errorf("beside the mirror are %v, %v", around, err)
		}
		w.AssertPolite()
	})
}

// A copy has the text of its page, in UTF-8, and relative links in each place that can have one.
func TestEachKindOfLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		w.Site("https://a.example").
			Func("/dir/page", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
				io.WriteString(rw, "<head><base href=/base/><meta http-equiv=refresh content='9; URL=next.php?x=1#f'><title>\xfc</title>"+
					"<link rel=stylesheet href=style integrity=sha256-x><style>p { background: url('i.png') }</style></head>"+
					"<a href='next.php?x=1'>n</a><img src=' i.png ' srcset='i.png 1x, https://cdn.example/j.png?a=1,2 2x,/gone.png 3x'>"+
					"<p style='background: url(\"i.png\")'><a href=#part>x</a><form action=/search></form><img data-src=i.png><svg><image xlink:href=i.png /></svg>")
			}).
			File("/base/style", "text/css", `@import "more.css"; p { mask: url(#m); cursor: url( i.png ), url(data:image/png;base64,AA==) }`).
			File("/base/more.css", "text/css; charset=iso-8859-1", "p::before { content: '\xfc' }").
			File("/base/i.png", "image/png", "png").Page("/base/next.php?x=1", "<title>next</title>").Status("/gone.png", 404)
		w.Site("https://cdn.example").File("/j.png?a=1,2", "image/png", "another png")
		err := mirror(t.Context(), dir, crawler.Options{
			Identity: crawler.Identity{Token: "mirrorbot", Contact: "https://example.org/mirrorbot"},
			Seeds:    []string{"https://a.example/dir/page"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"dir/page/index.html": `<html><head><meta charset="utf-8"/><base/><meta http-equiv="refresh" content="9; URL=../../base/next_x=1.php.html#f"/><title>ü</title>` +
				`<link rel="stylesheet" href="../../base/style.css"/><style>p { background: url('../../base/i.png') }</style></head>` +
				`<body><a href="../../base/next_x=1.php.html">n</a><img src=" ../../base/i.png " srcset="../../base/i.png 1x, ../../../https.cdn.example/j_a=1_2.png 2x,https://a.example/gone.png 3x"/>` +
				`<p style="background: url(&#34;../../base/i.png&#34;)"><a href="#part">x</a></p><form action="https://a.example/search"></form><img data-src="../../base/i.png"/><svg><image xlink:href="../../base/i.png"></image></svg></body></html>`,
			"base/style.css":         "\ufeff" + `@import "more.css"; p { mask: url(#m); cursor: url( i.png ), url(data:image/png;base64,AA==) }`,
			"base/more.css":          "\ufeffp::before { content: 'ü' }",
			"base/i.png":             "png",
			"base/next_x=1.php.html": `<html><head><meta charset="utf-8"/><title>next</title></head><body></body></html>`,
		} {
			if got, err := os.ReadFile(filepath.Join(dir, "https.a.example", name)); err != nil || string(got) != want {
				t.Errorf("%s is (%v)\n%s, want\n%s", name, err, got, want)
			}
		}
		w.AssertPolite()
	})
}
