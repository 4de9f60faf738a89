package crawler_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// A body that ends early is no page: it is asked for three times, and given up.
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
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Patience = 48 * time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/")
		if n := w.Fetched("http://a.example/cut"); n != 3 || sum.Skips[crawler.SkipFailed] != 1 {
			t.Errorf("asked for %d times, %v", n, sum.Skips)
		}
		w.AssertNeverFetched("http://a.example/half")
		w.AssertPolite()
	})
}

// Links count from the base element, and what a page follows does, too.
func TestLinksCountFromTheBaseElement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<base href="/deep/"><a href="x">x</a>`).Page("/deep/x", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/deep/x")
		w.AssertNeverFetched("http://a.example/x")
	})
}
