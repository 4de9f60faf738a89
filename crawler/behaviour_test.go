package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A page whose body ends too early is requested three times. Then the part that arrived is kept.
func TestABodyThatEndsEarlyIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/cut">x</a>`).Func("/cut", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Content-Length", "1000")
			io.WriteString(rw, `<a href="/half">x</a>`)
			http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		})
		w.Site("http://a.example").Page("/half", "")
		dir := t.TempDir()
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience = dir, 48*time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/cut", "http://a.example/half")
		if n := w.Fetched("http://a.example/cut"); n != 3 || sum.SkippedURLs[frontier.Failed] != 0 || sum.Errors["truncated"] != 2 || sum.Status[200] != 5 {
			t.Errorf("requested %d times, skipped %v, failed %v, answers %v", n, sum.SkippedURLs, sum.Errors, sum.Status)
		}
		w.AssertPolite()
		notes := []string{}
		for _, l := range logLines(t, dir) {
			if l.URL == "http://a.example/cut" {
				why, _ := l.Annotation("error")
				cut, _ := l.Annotation("trunc")
				notes = append(notes, fmt.Sprint(l.Status, " ", why, " ", cut))
			}
		}
		if want := []string{"200 truncated disconnect", "200 truncated disconnect", "200  disconnect"}; !slices.Equal(notes, want) {
			t.Errorf("crawl.log says %q, want %q", notes, want)
		}
		if row := tableOf(t, dir)["/cut"]; row == nil || row.Truncated != "disconnect" || row.Fate != export.Fetched || row.WARCFile == "" || row.Links == nil || *row.Links != 1 {
			t.Errorf("the row of the page: %+v", row)
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	})
}

// Links of a page, and the arguments of Page.Follow, are resolved relative to the base element.
func TestLinksCountFromTheBaseElement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<base href="/deep/"><a href="x">x</a>`).Page("/deep/x", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/deep/x")
		w.AssertNeverFetched("http://a.example/x")
	})
}
