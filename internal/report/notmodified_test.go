package report_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/report"
)

// tagged returns a handler that serves pages, and answers 304 if the client has the page
// already. It always answers 304 for /stray.
func tagged(pages map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, ok := pages[req.URL.Path]
		w.Header().Set("ETag", `"1"`)
		switch {
		case req.URL.Path == "/stray" || ok && req.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		case ok:
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(body))
		default:
			http.NotFound(w, req)
		}
	}
}

// again crawls a site for the second time. Four pages have not changed; two of them have the
// same body, and one is empty. One page is new.
func again(t *testing.T) (dir string, sum crawler.Summary) {
	root := t.TempDir()
	pages := map[string]string{
		"/":  "<title>Home</title><a href=/b></a><a href=/c></a><a href=/e></a><a href=/stray></a><a href=/no></a>",
		"/b": "<title>Twice</title>the same", "/c": "<title>Twice</title>the same", "/e": "",
	}
	for _, name := range []string{"was.crawl", "is.crawl"} {
		dir = filepath.Join(root, name)
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Default(tagged(pages))
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir}
			if name == "is.crawl" {
				o.Previous, o.Seeds = filepath.Join(root, "was.crawl"), append(o.Seeds, "http://a.example/new")
			}
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return nil })); err != nil {
				t.Fatal(err)
			}
			sum = c.Summary()
		})
		pages["/new"] = "<title>New</title>"
	}
	return dir, sum
}

// A page with a 304 answer counts like any other page, with the type and the body of the
// archived page. If the page is not archived, the 304 does not count as a page.
func TestAPageThatIsNotModifiedCountsAsAPage(t *testing.T) {
	dir, sum := again(t)
	r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Pages != 5 || sum.Status[304] != 5 || r.Pages != 5 || r.NotModified != 4 || r.SiteRows.Rows[0].Pages != 5 {
		t.Errorf("the crawl has counted %d pages and %v, the report %d, %d of them not modified, %+v", sum.Pages, sum.Status, r.Pages, r.NotModified, r.SiteRows.Rows)
	}
	html := slices.IndexFunc(r.Types, func(of report.Type) bool { return of.Name == "text/html" })
	if html < 0 || r.Types[html].Requests != 5 || r.Types[html].Bytes != int64(len("<title>New</title>")) {
		t.Errorf("types: %+v", r.Types)
	}
	if len(r.Same.Rows) != 1 || r.Same.Rows[0].Pages != 2 || r.Same.Rows[0].Bytes != 0 || r.Same.Rows[0].Title != "Twice" || r.Repeated != 1 {
		t.Errorf("duplicates: %+v, %d", r.Same, r.Repeated)
	}
	n := int64(0)
	for _, p := range r.Series.Points {
		n += p.Pages
	}
	_, tree := pageOf(t, r)
	if n != 5 || !strings.Contains(text(tree), "pages, 4 of them by a 304") || !strings.Contains(text(tree), "not sent") {
		t.Errorf("%d pages over time; the page says %s", n, text(tree)[:400])
	}
}
