package crawltest_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// crawl crawls a web without pauses, because the examples run outside of testing/synctest.
func crawl(w *crawltest.Web, seed string) {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "mybot", Contact: "https://example.org/mybot"},
		Seeds:    []string{seed},
		Wire:     crawler.Wire{Network: w, RootCAs: w.RootCAs(), AllowPrivate: true},
		Pace:     crawler.Pace{Delay: crawler.NoDelay},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
}

// A site has pages, files and redirects, and handlers of its own.
func ExampleSite() {
	t := &ofATest{} // a test has a *testing.T here
	w := crawltest.New(t)
	defer t.end()
	w.Site("https://a.example").Addr("127.0.0.1").HTTP2().
		Page("/", `<a href="/old">old</a> <a href="/feed">feed</a> <a href="/gone">gone</a> <a href="/agent">agent</a> <a href="/other">other</a>`).
		Redirect("/old", "/new").
		File("/feed", "application/rss+xml", "<rss><channel><title>News</title></channel></rss>").
		Status("/gone", http.StatusGone).
		Func("/agent", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.UserAgent()) }).
		Default(func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	crawl(w, "https://a.example/")
	for _, r := range w.Log() {
		fmt.Println(r.Target, r.Status)
	}
	// Output:
	// /robots.txt 404
	// / 200
	// /old 302
	// /feed 200
	// /gone 410
	// /agent 200
	// /other 404
	// /new 404
}

// These sites fail. A job must survive each of them.
func ExampleSite_Flaky() {
	t := &ofATest{} // a test has a *testing.T here
	w := crawltest.New(t)
	defer t.end()
	w.Site("http://slow.example").Latency(30 * time.Second)
	w.Site("http://busy.example").Flaky("/", "<title>Now</title>", "120", 503, 503) // two answers with status 503, and then the page
	w.Site("http://down.example").Down(true)                                        // no connection
	w.Site("http://broken.example").Reset("/")                                      // a connection, but no answer
	// Output:
}

// These sites never end. A job must stop at each of them.
func ExampleSite_Trap() {
	t := &ofATest{} // a test has a *testing.T here
	w := crawltest.New(t)
	defer t.end()
	w.Site("http://trap.example").Trap("/x/", 5)         // each page links to five more
	w.Site("http://month.example").Calendar("/calendar") // each month links to the next one
	w.Site("http://bomb.example").Bomb("/", 1<<30, "br") // 1 GiB of zeros, compressed
	w.Site("http://map.example").SitemapBomb("/sitemap.xml", "/", 1_000_000)
	// Output:
}

// A Web counts requests, connections and look-ups, like a server and its name server.
func ExampleWeb() {
	t := &ofATest{} // a test has a *testing.T here
	w := crawltest.New(t)
	defer t.end()
	w.Site("http://a.example").Addr("127.0.0.1").Page("/", "<title>Home</title>")
	crawl(w, "http://a.example/")
	w.AssertFetched("http://a.example/robots.txt", "http://a.example/")
	w.AssertDelay("http://a.example", 0)
	fmt.Println(w.Fetched("http://a.example/"), "request,", w.Dials("a.example"), "connection,", w.Lookups("a.example"), "look-up")
	// Output: 1 request, 1 connection, 1 look-up
}
