package crawler_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// If the identity has an e-mail address, each request has a From field: requests for pages and for
// robots.txt, retries without optional fields, and requests to another site.
func TestEveryRequestHasTheFromField(t *testing.T) {
	for id, want := range map[crawler.Identity]string{
		{Token: "benchbot", Contact: "x@example.org"}:                                   "x@example.org",
		{Token: "benchbot", Contact: "mailto:x@example.org"}:                            "x@example.org",
		{Token: "benchbot", Contact: "https://example.org/bot"}:                         "",
		{Token: "benchbot", Contact: "https://example.org/bot", Mail: "x@example.org"}:  "x@example.org",
		{Token: "benchbot", Contact: "http://example.org/", Mail: "mailto:x@x.example"}: "x@x.example",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href="/1">1</a>`).Page("/1", "").
				Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Accept-Encoding") != "" {
						rw.WriteHeader(http.StatusNotAcceptable)
						return
					}
					rw.Header().Set("Location", "http://b.example/robots.txt")
					rw.WriteHeader(http.StatusFound)
				})
			w.Site("http://b.example").Robots("User-agent: *\nAllow: /")
			pages, _ := crawl(t, w, func(o *crawler.Options) { o.Identity = id }, "http://a.example/")
			wantPages(t, pages, "http://a.example/", "http://a.example/1")
			if len(w.Log()) != 5 {
				t.Errorf("%d requests", len(w.Log()))
			}
			for _, r := range w.Log() {
				if got := r.Header.Get("From"); got != want {
					t.Errorf("%+v: From of %s is %q, want %q", id, r.URL(), got, want)
				}
			}
			w.AssertPolite()
		})
	}
}

func TestInvalidMailAddressesAreRefused(t *testing.T) {
	id := crawler.Identity{Token: "benchbot", Contact: "https://example.org/", Mail: "https://example.org/"}
	if err := id.Check(); err == nil {
		t.Error("no error")
	}
}
