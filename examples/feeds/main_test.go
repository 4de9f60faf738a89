package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
)

// A feed is read politely, with a condition, and each item is printed once.
func TestFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		whole, news := 0, ""
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 10").
			Func("/feed", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("ETag", `"`+news+`"`)
				if r.Header.Get("If-None-Match") == `"`+news+`"` {
					rw.WriteHeader(http.StatusNotModified)
					return
				}
				whole++
				io.WriteString(rw, "<rss><channel><item><title>one</title><link>http://a.example/1</link></item>"+news+"</channel></rss>")
			}).
			File("/atom", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>two</title><link href="http://a.example/2"/></entry></feed>`)
		client, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Network: w})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		file, urls := filepath.Join(t.TempDir(), "feeds.json"), []string{"http://a.example/feed", "http://a.example/gone", "http://a.example/atom"}
		for hour := range 3 {
			if hour == 2 {
				news = "<item><title>three</title><link>http://a.example/3</link></item>"
			}
			if err := read(&http.Client{Transport: client}, file, urls); err == nil || !strings.Contains(err.Error(), "/gone: 404") {
				t.Errorf("%v", err)
			}
			time.Sleep(time.Hour)
		}
		if whole != 2 || w.Fetched("http://a.example/robots.txt") != 1 {
			t.Errorf("%d whole feeds, %d requests for robots.txt", whole, w.Fetched("http://a.example/robots.txt"))
		}
		w.AssertDelay("http://a.example", 10*time.Second)
		w.AssertPolite()
	})
}
