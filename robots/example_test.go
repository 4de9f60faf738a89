package robots_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/robots"
)

const file = `
User-agent: *
Disallow: /private/
Allow: /private/press/
Crawl-delay: 2

User-agent: GreedyBot
Disallow: /

Sitemap: https://example.org/sitemap.xml
`

func Example() {
	g := robots.Parse([]byte(file), robots.RFC9309).Group("examplebot")
	for _, target := range []string{"/", "/private/notes?page=2", "/private/press/2026"} {
		v := g.Match(target)
		fmt.Printf("%s: %v, %v %d %q\n", target, v.Access, v.Reason, v.Rule.Line, v.Rule)
	}
	// Output:
	// /: allow, no rule matches 0 ""
	// /private/notes?page=2: disallow, rule matched 3 "Disallow: /private/"
	// /private/press/2026: allow, rule matched 4 "Allow: /private/press/"
}

func ExampleParse() {
	f := robots.Parse([]byte(file), robots.RFC9309)
	fmt.Println(f.Sitemaps())
	fmt.Println(f.Group("greedybot").Match("/").Access)
	// Output:
	// [https://example.org/sitemap.xml]
	// disallow
}

func ExampleParseFor() {
	f := robots.ParseFor("https://example.org/robots.txt", []byte("Sitemap: /map.xml\n"), robots.RFC9309)
	fmt.Println(f.Sitemaps())
	// Output: [https://example.org/map.xml]
}

func ExampleFile_Group() {
	f := robots.Parse([]byte(file), robots.RFC9309)
	for _, token := range []string{"examplebot", "greedybot"} {
		g := f.Group(token)
		fmt.Printf("%s: the group of line %d, for %q\n", token, g.Line(), g.Names())
	}
	// A crawler that was renamed obeys the groups of both names.
	fmt.Println(f.Group("ModestBot", "GreedyBot").Match("/").Access)
	// Output:
	// examplebot: the group of line 2, for ["*"]
	// greedybot: the group of line 7, for ["GreedyBot"]
	// disallow
}

func ExampleFile_Problems() {
	f := robots.Parse([]byte("User-agent: *\nDissallow: /a\nDisallow: b\nCrawl-delay: soon\n"), robots.RFC9309)
	for _, p := range f.Problems() {
		fmt.Println(p)
		fmt.Println("   ", p.Hint)
	}
	// Output:
	// 2:1: "Dissallow" is a misspelling of Disallow; not every crawler understands it (misspelt-key)
	//     write Disallow
	// 3:11: the path does not begin with a slash; some crawlers add the slash, others ignore the line (no-slash)
	//     write /b
	// 4:14: "soon" is not a number of seconds (bad-delay)
	//     write for example "10" or "0.5"
}

func ExampleGroup_CrawlDelay() {
	g := robots.Parse([]byte(file), robots.RFC9309).Group("examplebot")
	delay, ok := g.CrawlDelay()
	fmt.Println(delay, ok)
	// Output: 2s true
}

func ExampleGroup_NextVisit() {
	g := robots.Parse([]byte("User-agent: *\nVisit-time: 0200-0600\n"), robots.RFC9309).Group("examplebot")
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(g.NextVisit(noon))
	// Output: 2026-03-02 02:00:00 +0000 UTC
}

func ExampleSnapshot() {
	policy := robots.Policy{Token: "examplebot"}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	show := func(s *robots.Snapshot) {
		v := s.Group(policy, noon).Match("/a")
		fmt.Printf("%v: %v; ask again at %v\n", v.Access, v.Reason, s.Expires(policy).Format(time.TimeOnly))
	}

	// At first the site answers.
	held := (&robots.Snapshot{URL: "https://example.org/robots.txt", Fetched: noon, Status: 200,
		Header: robots.Header{CacheControl: "max-age=3600"},
		Body:   []byte("User-agent: *\nDisallow: /a\n")}).After(nil)
	show(held)

	// Later the site does not answer. The copy is still used, and the failures are counted.
	held = (&robots.Snapshot{URL: held.URL, Fetched: noon, Failure: "timeout"}).After(held)
	show(held)
	held = (&robots.Snapshot{URL: held.URL, Fetched: noon, Status: 503}).After(held)
	show(held)

	// A second site has never answered.
	show((&robots.Snapshot{URL: "https://example.com/robots.txt", Fetched: noon, Failure: "dns"}).After(nil))
	// Output:
	// disallow: rule matched; ask again at 13:00:00
	// disallow: rule matched; ask again at 12:01:00
	// disallow: rule matched; ask again at 12:02:00
	// defer: robots.txt unreachable; ask again at 12:01:00
}

func ExampleLocate() {
	u, err := robots.Locate("HTTPS://user@Example.ORG:443/a/b?c#d")
	fmt.Println(u, err)
	_, err = robots.Locate("/a/b")
	fmt.Println(err)
	// Output:
	// https://example.org/robots.txt <nil>
	// robots: URL "/a/b": want an absolute URL, such as https://example.org/page
}

func ExampleTarget() {
	target, err := robots.Target("https://example.org/100%zz?page=2#top")
	fmt.Println(target, err)
	// Output: /100%zz?page=2 <nil>
}

func ExampleCheckToken() {
	fmt.Println(robots.CheckToken("example-bot"))
	fmt.Println(robots.CheckToken("bot/1.0"))
	// Output:
	// <nil>
	// robots: product token "bot/1.0" has '/': want only letters a-z A-Z, hyphens and underscores, no digits, blanks or version
}

func ExampleKnownToken() {
	fmt.Println(robots.KnownToken("googlebot"))
	fmt.Println(robots.KnownToken("examplebot"))
	// Output:
	// Google true
	//  false
}

func ExampleHeaderDirectives() {
	d := robots.HeaderDirectives("examplebot", []string{
		"noarchive, otherbot: noindex",
		"unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT",
	})
	fmt.Println(d)
	d = d.Merge(robots.MetaDirectives("examplebot", "robots", "nofollow"))
	fmt.Println(d.NoFollow, d.NoIndex)
	// Output:
	// noarchive, unavailable_after: 2025-06-25T15:00:00Z
	// true false
}

func ExampleParseDialect() {
	d, err := robots.ParseDialect("google")
	fmt.Println(d, err)
	// Output: google <nil>
}

// A program with its own HTTP client builds a Snapshot from the answer.
func ExampleReadHeader() {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	answer := http.Header{"Cache-Control": {"max-age=3600"}, "Etag": {`"1"`}, "X-Guploader-Uploadid": {"x"}}
	s := &robots.Snapshot{
		URL: "https://example.org/robots.txt", Fetched: now, Status: 200, Header: robots.ReadHeader(answer.Get), Body: []byte(file),
	}
	p := robots.Policy{Token: "examplebot"}
	fmt.Println(s.Group(p, now).MatchURL("https://example.org/private/notes").Access, s.Expires(p).Sub(now))
	fmt.Println(s.Header.ETag, s.Header.ObjectStore)
	// Output:
	// disallow 1h0m0s
	// "1" x
}

// MatchURL matches the path and query of a whole URL, as they would be requested.
func ExampleGroup_MatchURL() {
	group := robots.Parse([]byte("User-agent: *\nDisallow: /*?print"), robots.RFC9309).Group("mybot")
	for _, raw := range []string{"https://example.org/a?print=1", "https://example.org/a#print"} {
		verdict := group.MatchURL(raw)
		fmt.Println(raw, verdict.Allowed(), verdict.Rule.Line)
	}
	// Output:
	// https://example.org/a?print=1 false 2
	// https://example.org/a#print true 0
}
