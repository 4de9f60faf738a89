package crawler_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// A malformed Content-Type loses neither links nor characters.
func TestAMalformedContentTypeLosesNothing(t *testing.T) {
	for _, fields := range [][]string{
		{"text/html; charset=windows-1251; charset=utf-8"}, {"text/html;; charset=windows-1251"},
		{"text/html; charset=windows-1251, text/html"}, {"text/html;charset=windows-1251", "text/html"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/1", "").Func("/", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header()["Content-Type"] = fields
				rw.Write([]byte("<title>\xcf\xf0\xe8\xe2\xe5\xf2</title><a href=/1>1</a>"))
			})
			c, err := crawler.New(crawler.Options{
				Identity: crawler.Identity{Token: "benchbot", Contact: "mailto:x@example.org"}, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w},
			})
			if err != nil {
				t.Fatal(err)
			}
			title := ""
			err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				title += p.Title()
				return nil
			}))
			if err != nil || title != "Привет" || w.Fetched("http://a.example/1") != 1 {
				t.Errorf("%q: title %q, error %v", fields, title, err)
			}
		})
	}
}
