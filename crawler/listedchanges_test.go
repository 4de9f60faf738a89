package crawler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
)

// closely is a policy that fetches lists every day and pages every 30 days. It believes the dates
// in lists.
type closely struct{ least time.Duration }

func (closely) Next(v revisit.Visit) time.Duration {
	if v.List {
		return days
	}
	return 30 * days
}

func (c closely) Believes(string) (time.Duration, bool) { return c.least, true }

// A dated is a list of URLs, with the time at which each was changed.
type dated map[string]time.Time

func (d dated) sitemap(root, element string) string {
	var b strings.Builder
	for _, u := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(&b, "<%s><loc>%s</loc>", element, u)
		if at := d[u]; !at.IsZero() {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", at.Format(time.RFC3339))
		}
		fmt.Fprintf(&b, "</%s>", element)
	}
	return fmt.Sprintf("<%s>%s</%[1]s>", root, &b)
}

func (d dated) rss() string {
	var b strings.Builder
	for _, u := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(&b, "<item><link>%s</link><pubDate>%s</pubDate></item>", u, d[u].Format(time.RFC1123Z))
	}
	return "<rss><channel><ttl>60</ttl>" + b.String() + "</channel></rss>"
}

func (d dated) atom() string {
	var b strings.Builder
	for _, u := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(&b, `<entry><link href="%s"/><updated>%s</updated></entry>`, u, d[u].Format(time.RFC3339))
	}
	return "<feed>" + b.String() + "</feed>"
}

func (d dated) json() string {
	type item struct {
		URL  string    `json:"url"`
		Time time.Time `json:"date_modified"`
	}
	feed := struct {
		Version string `json:"version"`
		Items   []item `json:"items"`
	}{Version: "https://jsonfeed.org/version/1.1"}
	for _, u := range slices.Sorted(maps.Keys(d)) {
		feed.Items = append(feed.Items, item{u, d[u]})
	}
	raw, err := json.Marshal(feed)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// lists serves a sitemap or feed with dates, and the pages in it. The dates are some time before
// the crawl.
func (e *endless) lists(s *shelf, kind string, write func(dated) string) (d dated, put func()) {
	d = dated{}
	var all []string
	for i := range 5 {
		target := fmt.Sprint("/", i)
		s.put(target, resource{body: filler + target, etag: `"1"`})
		all = append(all, target)
		d["http://a.example"+target] = time.Now().Add(-time.Duration(i+1) * 49 * hours)
	}
	s.put("/", resource{body: filler + pages(append(all, "/list")...), etag: `"1"`})
	put = func() {
		s.put("/list", resource{body: write(d), header: http.Header{"Content-Type": {kind}}})
	}
	put()
	return d, put
}

var kindsOfLists = map[string]struct {
	kind  string
	write func(dated) string
}{
	"sitemap":   {"application/xml", func(d dated) string { return d.sitemap("urlset", "url") }},
	"RSS":       {"application/rss+xml", dated.rss},
	"Atom":      {"application/atom+xml", dated.atom},
	"JSON Feed": {"application/feed+json", dated.json},
}

// If a list says that a page was changed since its last visit, the page is fetched once after the
// next visit of the list. The other pages are fetched at their usual times.
func TestAPageThatAListSaysHasChangedIsFetchedSoon(t *testing.T) {
	for name, list := range kindsOfLists {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in a directory %v", name, kept), func(t *testing.T) {
				inVirtualTime(t, kept, func(e *endless, shelf *shelf) {
					d, put := e.lists(shelf, list.kind, list.write)
					e.run(20*days, closely{}, map[time.Duration]func(){
						5*days + 5*hours: func() { // a page was changed
							shelf.put("/3", resource{body: filler + "new", etag: `"2"`})
							d["http://a.example/3"] = time.Now()
							put()
						},
						9*days + 5*hours: func() { // no page was changed
							d["http://a.example/2"] = time.Now()
							put()
						},
					})
					e.expect("/3", "0 200 new, 6 200 modified")
					e.expect("/2", "0 200 new, 10 200 not-modified")
					for _, target := range []string{"/", "/0", "/1", "/4"} {
						e.expect(target, "0 200 new")
					}
				})
			})
		}
	}
}

// Dates in lists have an effect only if the policy believes them.
func TestHintsBelieveLists(t *testing.T) {
	for text, want := range map[string]string{
		"hints:7d": "0 200 new, 3 200 modified", "fixed:7d": "0 200 new, 7 200 modified", "rate:7d": "0 200 new, 7 200 modified",
		"adaptive:7d-8d": "0 200 new, 7 200 modified",
	} {
		t.Run(text, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				list := kindsOfLists["sitemap"]
				e.web.Site("http://a.example").Robots("Sitemap: /list\n")
				d, put := e.lists(shelf, list.kind, list.write)
				policy, err := revisit.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				e.run(190*hours, policy, map[time.Duration]func(){
					2*days + 5*hours: func() {
						shelf.put("/3", resource{body: filler + "new", etag: `"2"`})
						d["http://a.example/3"] = time.Now()
						put()
					},
				})
				if got := strings.Join(e.seen["/3"], ", "); !strings.HasPrefix(got, want) {
					t.Errorf("the page that has changed: %s, want %s", got, want)
				}
				if got := strings.Join(e.seen["/1"], ", "); !strings.HasPrefix(got, "0 200 new, 7 200 not-modified") && text != "adaptive:7d-8d" {
					t.Errorf("another one: %s", got)
				}
			})
		})
	}
}

// Dates have no effect if most pages have the same date, if they are in the future, or if they are
// about pages of other sites. Other wrong dates cause requests no more often than the least pause
// permits.
func TestWrongDatesBringNothingForward(t *testing.T) {
	daily := func(at func() time.Time) func(dated) {
		return func(d dated) {
			for u := range d {
				d[u] = at()
			}
		}
	}
	for name, lie := range map[string]func(dated){
		"nothing is said":             daily(func() time.Time { return time.Time{} }),
		"the time of the request":     daily(time.Now),
		"the time of the last build":  daily(func() time.Time { return time.Now().Truncate(days).Add(-3 * hours) }),
		"this day":                    daily(func() time.Time { return time.Now().Truncate(days) }),
		"the future":                  daily(func() time.Time { return time.Now().Add(100 * days) }),
		"long ago":                    daily(func() time.Time { return time.Now().Add(-100 * days) }),
		"the time before their visit": func(dated) {},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, false, func(e *endless, shelf *shelf) {
				list := kindsOfLists["sitemap"]
				d, put := e.lists(shelf, list.kind, list.write)
				world := map[time.Duration]func(){}
				for h := range 20 * 24 {
					world[time.Duration(h)*hours+time.Minute] = func() { lie(d); put() }
				}
				e.run(20*days, closely{}, world)
				for i := range 5 {
					e.expect(fmt.Sprint("/", i), "0 200 new")
				}
				if n := len(e.seen["/list"]); n != 20 {
					t.Errorf("%d visits of the list", n)
				}
			})
		})
	}
}

// A list may report a new date for each page at each visit. Even then its pages are fetched no more
// often than the least pause permits.
func TestBelievedWrongDatesAreBounded(t *testing.T) {
	inVirtualTime(t, false, func(e *endless, shelf *shelf) {
		list := kindsOfLists["sitemap"]
		d, put := e.lists(shelf, list.kind, list.write)
		world := map[time.Duration]func(){}
		for h := range 30 * 24 {
			world[time.Duration(h)*hours+time.Minute] = func() {
				for i := range 5 {
					d[fmt.Sprint("http://a.example/", i)] = time.Now().Add(-time.Duration(i+1) * 90 * time.Minute)
				}
				put()
			}
		}
		e.run(25*days, closely{least: 4 * days}, world)
		for i := range 5 {
			if n := len(e.seen[fmt.Sprint("/", i)]); n < 4 || n > 7 {
				t.Errorf("/%d is fetched %d times in 25 days", i, n)
			}
		}
	})
}

// The dates in a list apply only to pages of its domain, or of sites whose robots.txt names the
// list.
func TestAListDatesOnlyItsOwnPages(t *testing.T) {
	for name, row := range map[string]struct {
		at, robots string
		want       string
	}{
		"of the same domain":        {"http://lists.a.example/list", "", "0 200 new, 6 200 not-modified"},
		"of another one":            {"http://b.example/list", "", "0 200 new"},
		"that robots.txt names":     {"http://b.example/list", "Sitemap: http://b.example/list\n", "0 200 new, 6 200 not-modified"},
		"of the same, and disowned": {"http://a.example/list", "User-agent: *\nDisallow: /list\n", "0 200 new"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				d := dated{"http://a.example/1": time.Now().Add(-49 * hours), "http://a.example/2": time.Now().Add(-99 * hours)}
				shelf.put("/", resource{body: filler + pages("/1", "/2")})
				shelf.put("/1", resource{body: filler + "1", etag: `"1"`})
				shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
				if row.robots != "" {
					e.web.Site("http://a.example").Robots(row.robots)
				}
				u := mustURL(t, row.at)
				of := shelf
				if u.Site() != "http://a.example" {
					of = newShelf(e.web.Site(string(u.Site())))
				}
				put := func() {
					of.put(u.Target(), resource{body: d.sitemap("urlset", "url"), header: http.Header{"Content-Type": {"application/xml"}}})
				}
				put()
				e.opts = func(o *crawler.Options) {
					if !strings.Contains(row.robots, "Sitemap") {
						o.Seeds = append(o.Seeds, row.at)
					}
				}
				e.run(10*days, closely{}, map[time.Duration]func(){
					5*days + 5*hours: func() { d["http://a.example/1"] = time.Now(); put() },
				})
				e.expect("/1", row.want)
				e.expect("/2", "0 200 new")
			})
		})
	}
}

// The dates in a sitemap index apply to its sitemaps, which are then fetched earlier.
func TestAnIndexBringsItsSitemapsForward(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		xml := http.Header{"Content-Type": {"application/xml"}}
		d := dated{"http://a.example/1.xml": time.Now().Add(-49 * hours), "http://a.example/2.xml": time.Now().Add(-99 * hours)}
		put := func() { shelf.put("/index.xml", resource{body: d.sitemap("sitemapindex", "sitemap"), header: xml}) }
		put()
		e.web.Site("http://a.example").Robots("Sitemap: /index.xml\n")
		shelf.put("/", resource{body: filler})
		shelf.put("/1.xml", resource{body: dated{"http://a.example/1": time.Time{}}.sitemap("urlset", "url"), header: xml})
		shelf.put("/2.xml", resource{body: dated{"http://a.example/2": time.Time{}}.sitemap("urlset", "url"), header: xml})
		for _, target := range []string{"/1", "/2", "/new"} {
			shelf.put(target, resource{body: filler + target, etag: `"1"`})
		}
		e.run(10*days, byIndex{}, map[time.Duration]func(){
			5*days + 5*hours: func() {
				shelf.put("/2.xml", resource{body: dated{"http://a.example/2": time.Time{}, "http://a.example/new": time.Now()}.sitemap("urlset", "url"), header: xml})
				d["http://a.example/2.xml"] = time.Now()
				put()
			},
		})
		e.expect("/new", "6 200 new")
		if one, two := shelf.requests("/1.xml"), shelf.requests("/2.xml"); one != "-" || two != "--" {
			t.Errorf("its sitemaps were requested as %s and %s", one, two)
		}
	})
}

// byIndex is a policy that fetches the index every day, and all other URLs every 30 days.
type byIndex struct{ closely }

func (byIndex) Next(v revisit.Visit) time.Duration {
	if strings.HasSuffix(v.URL, "index.xml") {
		return days
	}
	return 30 * days
}

// A date in a list has no effect on an entry that has ended, or that the crawl no longer wants.
func TestEndedEntriesAreNotBroughtForward(t *testing.T) {
	later := func(d dated, put func()) map[time.Duration]func() {
		return map[time.Duration]func(){2*days + 5*hours: func() {
			for i := range 2 {
				d[fmt.Sprint("http://a.example/", i)] = time.Now().Add(-time.Duration(i) * 2 * hours)
			}
			put()
		}}
	}
	list := kindsOfLists["RSS"]
	t.Run("ended in a run without a policy", func(t *testing.T) {
		inVirtualTime(t, true, func(e *endless, shelf *shelf) {
			d, put := e.lists(shelf, list.kind, list.write)
			e.run(0, nil, nil)
			shelf.put("/more", resource{body: filler + `<a href="/again">x</a>`})
			shelf.put("/again", resource{body: list.write(d), header: http.Header{"Content-Type": {list.kind}}})
			e.opts = func(o *crawler.Options) { o.Seeds = []string{"http://a.example/more"} }
			e.run(10*days, closely{}, later(d, func() {
				put()
				shelf.put("/again", resource{body: list.write(d), header: http.Header{"Content-Type": {list.kind}}})
			}))
			e.expect("/0", "0 200 ")
			e.expect("/more", "0 200 new")
			if n := len(e.seen["/again"]); n != 10 {
				t.Errorf("the list is fetched %d times", n)
			}
		})
	})
	for name, not := range map[string]func(*crawler.Options){
		"opted out": func(o *crawler.Options) {
			o.OptOut = func(u frontier.URL) string { return map[bool]string{true: "no"}[u.Target() == "/0"] }
		},
		"out of scope": func(o *crawler.Options) { o.Exclude = regexp.MustCompile("/0$") },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				d, put := e.lists(shelf, list.kind, list.write)
				e.run(hours, closely{}, nil)
				e.opts = not
				e.run(10*days, closely{}, later(d, put))
				if n := shelf.requests("/0"); n != "-" {
					t.Errorf("/0 has the requests %s", n)
				}
				e.expect("/1", "0 200 new, 2 200 not-modified")
			})
		})
	}
}

// If a list has made a page due, the next run knows this. It does not matter whether this run ended
// or was killed before it fetched the page.
func TestARunThatEndsKeepsWhatIsBroughtForward(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			copied := t.TempDir()
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				e.web.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 600\n")
				list := kindsOfLists["Atom"]
				d, put := e.lists(shelf, list.kind, list.write)
				whole := e.dir
				world := map[time.Duration]func(){
					5 * hours: func() {
						for i := range 4 {
							d[fmt.Sprint("http://a.example/", i)] = time.Now().Add(-time.Duration(i) * 40 * time.Minute)
						}
						put()
					},
					// The list is the last of seven pages, and is fetched again a day later. A page
					// is fetched every ten minutes.
					25*hours + 25*time.Minute: func() {
						if err := os.CopyFS(copied, os.DirFS(whole)); err != nil {
							t.Error(err)
						}
					},
				}
				e.run(25*hours+26*time.Minute, closely{}, world)
				before := e.counts()
				if killed {
					e.dir = copied
				}
				e.run(2*hours, closely{}, nil)
				if before < 7+1 || before > 7+3 {
					t.Errorf("%d visits in the first run", before)
				}
				if n := len(e.seen["/list"]); n != 2 {
					t.Errorf("the list is fetched %d times, want 2 in the first run", n)
				}
				for i := range 5 {
					want := 2
					if i == 4 {
						want = 1
					}
					n := len(e.seen[fmt.Sprint("/", i)])
					if n != want && !(killed && n == want+1) { // a visit was running or not committed at the kill
						t.Errorf("/%d is fetched %d times, want %d", i, n, want)
					}
				}
			})
		})
	}
}

// counts returns the number of visits of all pages.
func (e *endless) counts() (n int) {
	for _, visits := range e.seen {
		n += len(visits)
	}
	return n
}

// With the smallest caches and a slow disk, the sitemaps of several sites cause fetches of changed
// pages, and of no others. Each sitemap is on another site of the domain of its pages.
func TestListsWithTheSmallestBounds(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		const sites, perSite = 3, 8
		xml := http.Header{"Content-Type": {"application/xml"}}
		var shelves []*listedSite
		e.opts = func(o *crawler.Options) {
			crawler.SetSmallestBounds(o, 50*time.Millisecond)
			for s := range sites {
				o.Seeds = append(o.Seeds, fmt.Sprintf("http://www.s%d.example/0", s))
			}
		}
		shelf.put("/", resource{body: filler})
		for s := range sites {
			l := &listedSite{origin: fmt.Sprintf("http://www.s%d.example", s), dates: dated{}}
			e.web.Site(l.origin).Robots(fmt.Sprintf("Sitemap: http://lists.s%d.example/map.xml\n", s))
			own, lists := newShelf(e.web.Site(l.origin)), newShelf(e.web.Site(fmt.Sprintf("http://lists.s%d.example", s)))
			for n := range perSite {
				l.dates[fmt.Sprint(l.origin, "/", n)] = time.Now().Add(-time.Duration(n+1) * 49 * hours)
				own.put(fmt.Sprint("/", n), resource{body: fmt.Sprint(filler, s, n), etag: `"1"`})
			}
			l.put = func() { lists.put("/map.xml", resource{body: l.dates.sitemap("urlset", "url"), header: xml}) }
			l.put()
			l.shelf, shelves = own, append(shelves, l)
		}
		e.run(12*days, closely{}, map[time.Duration]func(){
			5*days + 5*hours: func() {
				for s, l := range shelves {
					for n := range s + 1 {
						l.dates[fmt.Sprint(l.origin, "/", n)] = time.Now().Add(-time.Duration(n) * 2 * hours)
					}
					l.put()
				}
			},
		})
		for s, l := range shelves {
			for n := range perSite {
				want := "-"
				if n <= s {
					want = "-c"
				}
				if got := l.shelf.requests(fmt.Sprint("/", n)); got != want {
					t.Errorf("%s/%d has the requests %s, want %s", l.origin, n, got, want)
				}
			}
		}
	})
}

// A listedSite is a site whose pages are in a list.
type listedSite struct {
	origin string
	dates  dated
	shelf  *shelf
	put    func()
}
