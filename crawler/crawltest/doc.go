// Package crawltest provides a small web in memory to test crawl jobs. A test uses the real
// HTTP client, robots.txt rules and queue of a crawl. Only the network is replaced by pipes.
// Inside testing/synctest, a crawl of a virtual week takes milliseconds.
//
//	synctest.Test(t, func(t *testing.T) {
//		w := crawltest.New(t)
//		w.Site("http://a.example").
//			Robots("User-agent: *\nDisallow: /private/\nCrawl-delay: 5").
//			Page("/", `<a href="/about">about</a> <a href="/private/x">private</a>`).
//			Page("/about", "<title>About</title>")
//		c, err := crawler.New(crawler.Options{
//			Identity: crawler.Identity{Token: "mybot", Contact: "https://example.org/mybot"},
//			Seeds:    []string{"http://a.example/"},
//			Wire:     crawler.Wire{Network: w},
//		})
//		...
//		w.AssertPolite()
//		w.AssertNeverFetched("http://a.example/private/x")
//	})
//
// Where to start:
//
//   - To test a whole job, make a [Web] with [New], and its sites with [Web.Site]. The methods of
//     a [Site] set its answers: [Site.Page] and [Site.Robots], but also failures such as
//     [Site.Flaky] and [Site.Down], and attacks such as [Site.Trap] and [Site.Bomb].
//   - To test a handler alone, make its page with [Page] or [Answer].
//   - To check what a crawl did, call [Web.AssertPolite], [Web.AssertFetched],
//     [Web.AssertNeverFetched] and [Web.AssertDelay], or read [Web.Log]. They see each request
//     with its time, as a site owner would see it in the log of a server.
//
// The tests of examples/linkcheck and examples/catalogue test a job and a handler.
//
// # Answers and failures
//
// A request for a target that was not set, robots.txt included, is answered with 404. A host
// without a site does not resolve.
//
// No function returns an error. A mistake in the web, such as an invalid origin or address, ends
// the test with Fatalf. An assertion that does not hold is reported with Errorf, and the test
// continues.
//
// # Concurrency
//
// The methods of a Web and of a Site are safe for concurrent use, also while a crawl runs. A Web
// is closed at the end of its test.
package crawltest
