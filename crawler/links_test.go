package crawler_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Page.Follow resolves its argument like a link of the page: relative to the base element, and with
// the query in the page's encoding.
func TestFollowReadsReferencesAsThePageDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var mu sync.Mutex
		var asked []string
		note := func(contentType, body string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.RequestURI)
				w.Header().Set("Content-Type", contentType)
				io.WriteString(w, body)
			}
		}
		w.Site("http://a.example").
			Func("/", note("text/html; charset=windows-1252", "<base href=/based/><a href='link?q=\xe9'><a href=/text>")).
			Func("/text", note("text/plain", "<base href=/based/>")).
			Default(note("text/plain", ""))
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			switch p.URL.Target() {
			case "/":
				return p.Follow("followed?q=é")
			case "/text":
				return p.Follow("plain?q=é")
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked)
		want := []string{"/", "/based/followed?q=%E9", "/based/link?q=%E9", "/plain?q=%C3%A9", "/text"}
		asked = slices.DeleteFunc(asked, func(target string) bool { return target == "/robots.txt" })
		if !slices.Equal(asked, want) {
			t.Errorf("requested %q, want %q", asked, want)
		}
	})
}

// The URL of a Refresh field is followed from pages of any media type.
func TestARefreshFieldIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		refresh := func(to, mediaType string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Refresh", "0; url="+to)
				w.Header().Set("Content-Type", mediaType)
				io.WriteString(w, "x")
			}
		}
		w.Site("http://a.example").Func("/", refresh("/plain", "text/html")).Func("/plain", refresh("last", "text/plain")).Page("/last", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/last", "http://a.example/plain")
	})
}
