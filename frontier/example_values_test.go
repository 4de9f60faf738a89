package frontier_test

import (
	"fmt"
	"log"
	"net/url"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func ExampleSite() {
	u, err := frontier.ParseURL("https://www.Example.co.uk:8443/a")
	if err != nil {
		log.Fatal(err)
	}
	s := u.Site()
	fmt.Println(s, s.Scheme(), s.Host(), s.Port(), s.Authority(), s.Domain())
	home, err := s.URL("/")
	fmt.Println(home, err, u.Scheme(), u.Host())
	// Output:
	// https://www.example.co.uk:8443 https www.example.co.uk 8443 www.example.co.uk:8443 example.co.uk
	// https://www.example.co.uk:8443/ <nil> https www.example.co.uk
}

// A Resolver resolves the links of one page, here of a page that is not in UTF-8. Clone keeps one
// URL longer than the page.
func ExampleURL_Resolver() {
	base, err := frontier.ParseURL("https://example.org/docs/")
	if err != nil {
		log.Fatal(err)
	}
	latin1 := func(query string) string { // a real function encodes each character
		if query == "q=ü" {
			return "q=%FC"
		}
		return url.QueryEscape(query)
	}
	one, err := base.ResolveQuery("search?q=ü", latin1)
	fmt.Println(one, err)
	r := base.Resolver()
	r.Expect([]byte("a")) // optional: reserves memory, so that many links need one allocation
	many, err := r.Resolve([]byte("a"), latin1)
	fmt.Println(many.Clone(), err)
	// Output:
	// https://example.org/docs/search?q=%FC <nil>
	// https://example.org/docs/a <nil>
}

// The hops of an entry decide whether it counts as a page, a requisite or a sitemap.
func ExampleEntry() {
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	seed := frontier.Entry{URL: u}
	page := seed.Found(u, frontier.HopLink)
	image := page.Found(u, frontier.HopEmbed)
	sitemap := seed.Found(u, frontier.HopManifest)
	moved := seed.Found(u, frontier.HopRedirect)
	for _, e := range []frontier.Entry{seed, page, image, sitemap, moved} {
		fmt.Printf("%q: page %v, requisite %v, sitemap %v, from a seed %v, depth %d, embeds %d, redirects %d\n",
			e.Hops, e.Page(), e.Requisite(), e.Sitemap(), e.FromSeed(), e.Depth, e.Embeds(), e.Redirects())
	}
	fmt.Println(page.Key(), page.Again(), image.AfterPages(), frontier.RankOf(page.Depth) == page.Rank)
	// Output:
	// "": page true, requisite false, sitemap false, from a seed true, depth 0, embeds 0, redirects 0
	// "L": page true, requisite false, sitemap false, from a seed false, depth 1, embeds 0, redirects 0
	// "LE": page false, requisite true, sitemap false, from a seed false, depth 1, embeds 1, redirects 0
	// "M": page false, requisite false, sitemap true, from a seed false, depth 0, embeds 0, redirects 0
	// "R": page true, requisite false, sitemap false, from a seed true, depth 0, embeds 0, redirects 1
	// https://example.org/ false true true
}

// A Fate says how a URL ended.
func ExampleFate() {
	now := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, f := range []frontier.Fate{
		{Code: frontier.Fetched, Status: 200, Time: now},
		{Code: frontier.Fetched, Status: 200, Time: now, Until: now.AddDate(0, 0, 7)},
		{Code: frontier.Waiting, Time: now, Until: now.Add(time.Minute)},
		{Code: frontier.OptedOut, Time: now},
	} {
		fmt.Println(f.Code, "page:", f.Page(), "ends:", f.Ends(), "again:", f.Again(), "waits:", f.Waits(), "aside:", f.Code.Aside())
	}
	first := frontier.Fates()[0]
	fmt.Printf("%v: URLs %s\n", first, first.Words())
	// Output:
	// fetched page: true ends: true again: false waits: false aside: false
	// fetched page: true ends: false again: true waits: true aside: false
	// waiting page: false ends: false again: false waits: true aside: false
	// optout page: false ends: true again: false waits: false aside: true
	// fetched: URLs answered, with any status
}

// Crawls of one process that share clocks do not send their requests to a site at the same time.
func ExampleNewSharedClocks() {
	shared := frontier.NewSharedClocks()
	for range 2 {
		if _, err := frontier.New(frontier.NewMemory(), frontier.Options{Shared: shared}); err != nil {
			log.Fatal(err)
		}
	}
	now := time.Now()
	_, first := shared.Reserve("https://example.org", now, now.Add(time.Minute)) // a frontier makes such calls
	_, second := shared.Reserve("https://example.org", now, now.Add(time.Minute))
	fmt.Println(first, second)
	// Output: true false
}

// Steady returns the pause of a site from its stored clocks.
func ExampleClocks_Steady() {
	c := frontier.Clocks{Gap: 10 * time.Second, GapBy: frontier.CrawlDelayClock}
	fmt.Println(c.Steady(time.Second))
	// Output: 10s crawl-delay
}

// Forget queues entries again that were read and have not ended, as a restart does.
func ExampleMemory() {
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	m := frontier.NewMemory()
	if err := m.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		entries := make([]frontier.Entry, 8)
		n, err := m.Read(u.Site(), time.Now(), entries)
		fmt.Println(n, err)
		m.Forget()
	}
	state, err := m.State(u.Site())
	fmt.Println(state.Left(), state.Waiting.IsZero(), err)
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 true <nil>
}

// An implementation of Backlog reports its growths with Put, which never waits for the frontier.
func ExampleGrowths() {
	var g frontier.Growths
	g.Put(frontier.Growth{Settled: 1})
	g.Put(frontier.Growth{Settled: 2}) // merged into the first one
	fmt.Println((<-g.C()).Settled)
	// Output: 3
}

// A sitemap that reports a change makes a page due earlier, but not before Least has passed.
func ExampleChanges_Due() {
	last := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	e := frontier.Entry{Due: last.AddDate(0, 0, 30), Visits: &frontier.Visits{
		First: last, Last: frontier.Fate{Code: frontier.Fetched, Status: 200, Time: last}}}
	c := frontier.Changes{Told: last.Add(time.Hour), Least: 24 * time.Hour}
	fmt.Println(c.Due(&e, last.Add(30*time.Minute)))
	fmt.Println(c.Due(&e, last.Add(-time.Hour))) // this change was before the last fetch
	// Output:
	// 2030-01-02 00:00:00 +0000 UTC true
	// 0001-01-01 00:00:00 +0000 UTC false
}
