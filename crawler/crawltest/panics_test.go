package crawltest

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

// A test fails if a handler of a site panics, unless it panics with http.ErrAbortHandler to break
// the connection. A handler can flush its output.
func TestAPanicOfAHandlerFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		w := New(r)
		w.Site("http://a.example").Page("/", "<a href=/abort>1</a><a href=/flush>2</a>").
			Func("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).
			Func("/flush", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }).
			Func("/panic", func(http.ResponseWriter, *http.Request) { panic("a mistake of the test") })
		visit := func(seed string) {
			t.Helper()
			c, err := crawler.New(crawler.Options{
				Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: []string{seed},
				Wire: crawler.Wire{Network: w}, Budget: crawler.Budget{MaxTime: time.Minute},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if visit("http://a.example/"); r.seen() != 0 || w.Fetched("http://a.example/flush") != 1 || w.Fetched("http://a.example/abort") == 0 {
			t.Error("the test failed without a panic, or a page was not requested")
		}
		if visit("http://a.example/panic"); r.seen() == 0 {
			t.Error("the test did not fail")
		}
	})
}
