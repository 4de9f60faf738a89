package crawler_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// headWeb returns a web with a site to crawl, which links to other sites. These are requested with
// HEAD.
func headWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	w.Site("https://a.example").
		Page("/", `<a href="/two">2</a> <a href="https://b.example/page">p</a> <a href="https://b.example/moved">m</a>
			<a href="https://b.example/refuses">r</a> <a href="https://b.example/gone">g</a> <a href="https://b.example/not">n</a>
			<a href="ftp://c.example/x">f</a>`).
		Page("/two", `<a href="https://b.example/page">the same</a>`)
	refuses := func(status int, get http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				rw.WriteHeader(status)
				return
			}
			get(rw, r)
		}
	}
	page := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Link", `</linked>; rel="next"`)
		rw.Header().Set("Content-Length", "37")
		io.WriteString(rw, `<title>T</title><a href="/more">m</a>`)
	}
	w.Site("https://b.example").
		Robots("User-agent: *\nDisallow: /private\nSitemap: /sitemap.xml\n").
		Func("/page", page).Func("/refuses", refuses(405, page)).Func("/target", page).Redirect("/moved", "/target").
		Func("/not", refuses(501, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/last", http.StatusFound) })).
		Func("/last", page).Page("/more", "x").Page("/linked", "x").Page("/sitemap.xml", "x")
	return w
}

// elsewhere sets options with which all sites except a.example are requested with HEAD.
func elsewhere(o *crawler.Options) {
	o.Scope = crawler.Anywhere()
	o.Links = func(_ *crawler.Page, l *crawler.Link) bool {
		l.Head = l.URL.Host() != "a.example"
		return l.URL.Scheme() != "ftp"
	}
}

// methods returns the requests that a web got, sorted, without those for robots.txt.
func methods(w *crawltest.Web) (all []string) {
	for _, r := range w.Log() {
		if r.Target != "/robots.txt" {
			all = append(all, r.Method+" "+r.URL())
		}
	}
	slices.Sort(all)
	return all
}

// A page that is requested with HEAD has no links except its redirect. If the server refuses HEAD,
// a GET request follows and has the same result. All files record this.
func TestPagesFetchedWithHEADHaveNoLinks(t *testing.T) {
	dir := t.TempDir()
	want := []string{
		"GET https://a.example/", "GET https://a.example/two", "GET https://b.example/not", "GET https://b.example/refuses",
		"HEAD https://b.example/gone", "HEAD https://b.example/last", "HEAD https://b.example/moved", "HEAD https://b.example/not",
		"HEAD https://b.example/page", "HEAD https://b.example/refuses", "HEAD https://b.example/target",
	}
	change := func(o *crawler.Options) {
		elsewhere(o)
		o.Dir, o.Output = dir, []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}
	}
	synctest.Test(t, func(t *testing.T) {
		w := headWeb(t)
		_, sum := crawl(t, w, change, "https://a.example/")
		if got := methods(w); !slices.Equal(got, want) {
			t.Errorf("asked\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if sum.Fetched != 9 || sum.Retries != 0 || len(sum.Repeats) != 0 {
			t.Errorf("summary %+v", sum)
		}
		w.AssertPolite()
		// The archive marks pages that were requested with HEAD, so a rescan finds no links in
		// them.
		more, sum := crawl(t, w, func(o *crawler.Options) { change(o); o.Rescan = true }, "https://a.example/")
		if len(more) != 0 || sum.Rescanned == 0 {
			t.Errorf("a rescan of %d brings %v", sum.Rescanned, more)
		}
		if got := methods(w); !slices.Equal(got, want) {
			t.Errorf("a rescan asks %v", got[len(want):])
		}
	})
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
		t.Error(err)
	}
	logged := logLines(t, dir)
	var got []string
	for _, l := range logged {
		method, ok := l.Annotation("method")
		if !ok {
			method = "GET"
		}
		if strings.HasPrefix(l.URL, "http") && !strings.HasSuffix(l.URL, "/robots.txt") {
			got = append(got, method+" "+l.URL)
		}
		if ok && (l.Digest != "" && l.Digest != "-" || l.Size > 0) {
			t.Errorf("%s has the digest %q and %d bytes", l.URL, l.Digest, l.Size)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("crawl.log has\n%s", strings.Join(got, "\n"))
	}
	for _, r := range records(t, dir) {
		head := slices.Contains(want, "HEAD "+r.URL) && !slices.Contains(want, "GET "+r.URL)
		if (r.Method == "HEAD") != head || head == (r.Digest != "") || head && (r.Size != 0 || r.Truncated != "" || r.Title != "") {
			t.Errorf("%+v", r)
		}
	}
	checkHeadRecords(t, dir)
}

// checkHeadRecords checks the records of HEAD requests in the archive and in the index.
func checkHeadRecords(t *testing.T, dir string) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{"https://b.example/page": 0, "https://b.example/refuses": 1, "https://a.example/two": 1, "https://b.example/robots.txt": 1} {
		if n := strings.Count(string(index), `"`+url+`"`); n != want {
			t.Errorf("the index has %d lines of %s, want %d", n, url, want)
		}
	}
	files, err := store.ArchiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	answers, requests := 0, 0
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		in := warc.NewReader(f)
		for {
			rec, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case rec.Type == warc.Request:
				raw, err := io.ReadAll(rec)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(string(raw), "HEAD ") {
					requests++
				}
			case rec.Type == warc.Response && rec.Head():
				answers++
				resp, err := rec.Response()
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || len(body) > 0 || rec.Header.Get(warc.FieldPayloadDigest) != "" || rec.Header.Get(warc.FieldTruncated) != "" {
					t.Errorf("%s: %q, %v, header %v", rec.TargetURI(), body, err, rec.Header)
				}
				if strings.HasSuffix(rec.TargetURI(), "/page") && resp.ContentLength != 37 {
					t.Errorf("%s: the length is %d", rec.TargetURI(), resp.ContentLength)
				}
			}
		}
		f.Close()
	}
	if answers != 7 || requests != 7 {
		t.Errorf("%d answers to HEAD and %d requests, want 7 each", answers, requests)
	}
}

// The first link to a URL decides its method. The URL is requested once, and a handler sees the
// method.
func TestTheFirstLinkDecidesTheMethod(t *testing.T) {
	for _, first := range []string{"HEAD", "GET"} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href="/1">1</a> <a href="/x">x</a>`).Page("/1", `<a href="/x">x</a>`).Page("/x", "x")
			heads := 0
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}
			o.Links = func(p *crawler.Page, l *crawler.Link) bool {
				l.Head = l.URL.Target() == "/x" && (p.Entry.Depth == 0) == (first == "HEAD")
				return true
			}
			c, err := crawler.New(o)
			if err == nil {
				err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
					if p.Entry.Head && p.Exchange.Head && len(p.Body) == 0 && p.Status == 200 {
						heads++
					}
					return nil
				}))
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(methods(w), first+" http://a.example/x") || len(methods(w)) != 3 || heads != map[string]int{"HEAD": 1}[first] {
				t.Errorf("asked %v, %d by HEAD", methods(w), heads)
			}
		})
	}
}

// After a kill the next run uses HEAD for the page, or GET if the server has refused HEAD before.
func TestMethodsSurviveAKill(t *testing.T) {
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		fails := true
		w.Site("http://a.example").Page("/", `<a href="http://b.example/refuses">r</a> <a href="http://b.example/moment">m</a> <a href="http://b.example/late">l</a>`)
		w.Site("http://b.example").
			Func("/refuses", func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodHead:
					rw.WriteHeader(http.StatusMethodNotAllowed)
				case fails:
					fails = false
					rw.WriteHeader(http.StatusInternalServerError)
				}
			}).
			Func("/moment", func(rw http.ResponseWriter, r *http.Request) {
				if _, err := os.Stat(killed); err != nil {
					if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
						t.Error(err)
					}
				}
			}).
			Page("/late", "x")
		run := func(dir string) []string {
			before := len(w.Log())
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Patience: time.Hour}}
			elsewhere(&o)
			c, err := crawler.New(o)
			if err == nil {
				err = c.Run(t.Context(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, r := range w.Log()[before:] {
				if r.Target != "/robots.txt" && r.Site == "http://b.example" {
					asked = append(asked, r.Method+" "+r.Target)
				}
			}
			return asked
		}
		run(dir)
		want := []string{"GET /refuses", "HEAD /moment", "HEAD /late"}
		if got := run(killed); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		w.AssertPolite()
	})
	for _, d := range []string{dir, killed} {
		if _, err := store.Verify(t.Context(), d, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
			t.Error(err)
		}
	}
}
