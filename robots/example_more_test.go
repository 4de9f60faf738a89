package robots_test

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/robots"
)

// Rules returns all rules of a group. Only returns a group that shows which rule would decide
// without the Allow rules.
func ExampleGroup_Rules() {
	g := robots.Parse([]byte(file), robots.RFC9309).Group("examplebot")
	for _, rule := range g.Rules() {
		fmt.Printf("line %d: %s\n", rule.Line, rule)
	}
	fmt.Println(g.Match("/private/press/2026").Rule)
	fmt.Println(g.Only(false).Match("/private/press/2026").Rule)
	// Output:
	// line 3: Disallow: /private/
	// line 4: Allow: /private/press/
	// Allow: /private/press/
	// Disallow: /private/
}

// A file can set pauses with Request-rate and hours with Visit-time, besides Crawl-delay.
func ExampleGroup_RequestRate() {
	g := robots.Parse([]byte("User-agent: *\nRequest-rate: 12/1m\nVisit-time: 2200-0600\n"), robots.RFC9309).Group("examplebot")
	if gap, ok := g.RequestRate(); ok {
		fmt.Println("one request in", gap)
	}
	if windows, ok := g.VisitTime(); ok {
		fmt.Println("minutes after midnight, UTC:", windows)
	}
	// Output:
	// one request in 5s
	// minutes after midnight, UTC: [{1320 360}]
}

// Clean-param lines list query parameters that do not change the page.
func ExampleCleaner() {
	c := robots.Parse([]byte("User-agent: *\nClean-param: session&ref /shop/\n"), robots.RFC9309).Cleaner()
	fmt.Println(c.Clean("/shop/item?id=7&session=x"))
	fmt.Println(c.Clean("/blog?session=x"))
	// Output:
	// /shop/item?id=7
	// /blog?session=x
}

// Differences shows the owner of a file which rules Google reads differently.
func ExampleFile_Differences() {
	f := robots.Parse([]byte("User-agent: *\nDisallow: /a%7Eb\n"), robots.RFC9309)
	for _, p := range f.Differences(robots.Google) {
		fmt.Println(p.Line, p.Code)
	}
	// Output: 2 read-otherwise
}

// Only dialect Koster1996 permits digits in a product token.
func ExampleDialect_CheckToken() {
	for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Koster1996} {
		fmt.Println(d, d.CheckToken("bot2") == nil)
	}
	// Output:
	// rfc9309 false
	// google false
	// koster1996 true
}

func ExampleDirectives_IsZero() {
	d := robots.MetaDirectives("examplebot", "otherbot", "noindex") // this element is not for this crawler
	fmt.Println(d.IsZero())
	// Output: true
}

// Good returns the copy of robots.txt that is kept while the site does not answer. The ETag of the
// copy makes the next request conditional.
func ExampleSnapshot_Good() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	held := (&robots.Snapshot{URL: "https://example.org/robots.txt", Fetched: noon, Status: 200,
		Header: robots.Header{ETag: `"1"`}, Body: []byte(file)}).After(nil)
	held = (&robots.Snapshot{URL: held.URL, Fetched: noon.Add(time.Hour), Failure: "timeout"}).After(held)
	fmt.Println("reachable:", held.Reachable())
	if good := held.Good(); good != nil {
		fmt.Println("If-None-Match:", good.Header.ETag)
		fmt.Println(good.File(robots.RFC9309).Sitemaps())
	}
	// Output:
	// reachable: false
	// If-None-Match: "1"
	// [https://example.org/sitemap.xml]
}
