package crawler

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// An End is the reason why a run ended.
type End string

// Reasons for the end of a run.
const (
	EndDone End = "done" // no URL is left in the queue
	// Only sites remain that cannot be reached, are excluded or have spent their budget.
	EndUnasked  End = "unasked"
	EndPatience End = "patience" // no URL may be requested, or requested again, within Options.Patience
	// MaxBytes was reached; or Options.Limit was reached, and the images and scripts of the pages
	// are fetched or cannot be requested within Options.Patience
	EndLimit   End = "limit"
	EndTime    End = "limit of time"   // Options.MaxTime was reached
	EndStopped End = "stopped"         // Crawler.Stop was called, or a handler returned ErrStop
	EndBroken  End = "stopped at once" // the context ended
)

// Counts holds the figures of a run so far.
type Counts struct {
	Requests int // all requests, including those for robots.txt
	Robots   int // requests for robots.txt
	// URLs that were answered, except robots.txt files and pages whose owner refuses the purpose of
	// the crawl; a URL that is fetched again (Options.Revisit) counts again
	Fetched int
	// Answers counted in Fetched that have a 2xx status and are neither sitemaps nor images,
	// scripts or the like.
	Pages int
	Bytes int64 // bytes of bodies, counted on the wire
	// Number of answers by HTTP status; robots.txt counts, and so do incomplete answers, which are
	// also in Errors.
	Status map[int]int
	// Number of requests with a missing or incomplete answer, by the stage that failed
	// (fetch.Stage).
	Errors    map[string]int
	Retries   int // number of times that a page was queued for another try
	Handler   int // errors and panics of the handler
	Rescanned int // archived pages whose links were read again
	// Number of pages by their change since the earlier fetch; pages with an unknown change are not
	// counted.
	Changes map[ChangeClass]int
	Unread  int // pages whose archived earlier answer cannot be read
	// Pages with more than extract.MaxLinks links; further links were left out.
	Cut      int
	Sitemaps SitemapCounts

	// SkippedLinks is the number of links whose URL was not queued, by reason. A URL counts once
	// for each page that links to it.
	SkippedLinks map[frontier.Code]int
	SkippedURLs  map[frontier.Code]int // number of queued URLs that ended without a page, by reason
}

// counts are the Counts of a running crawl, guarded by a lock.
type counts struct {
	// Guards the fields below, so that a reader sees either all or none of the counts of one visit.
	mu     sync.Mutex
	n      Counts
	recent recent
}

func (c *counts) visit(e frontier.Entry, res *fetch.Result, fate frontier.Fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, now := &c.n, c.recent.now()
	for _, x := range res.Exchanges {
		n.Requests++
		n.Bytes += x.WireBytes
		now.requests++
		now.bytes += x.WireBytes
		if x.Robots && !x.Mining {
			n.Robots++
		}
		if x.Err != nil {
			increment(&n.Errors, string(x.Err.Stage))
		}
		if x.Status != 0 {
			increment(&n.Status, x.Status)
		}
	}
	switch {
	case fate.Code == frontier.Waiting:
		n.Retries++
	case fate.Code == frontier.Fetched:
		n.Fetched++
		if fate.Page() && e.Page() {
			n.Pages++
			now.pages++
		}
	}
}

func (c *counts) add(f func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.n)
}

func increment[K comparable](m *map[K]int, key K) {
	if *m == nil {
		*m = map[K]int{}
	}
	(*m)[key]++
}

func (c *counts) snapshot() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	n.Status, n.Errors, n.Changes = maps.Clone(n.Status), maps.Clone(n.Errors), maps.Clone(n.Changes)
	n.SkippedLinks, n.SkippedURLs = maps.Clone(n.SkippedLinks), maps.Clone(n.SkippedURLs)
	return n
}

// Stats holds the current figures of a running crawl.
type Stats struct {
	Counts
	Frontier frontier.Stats
	// Time since which the database of a crawl on several machines does not answer; zero if it
	// answers, or for the first two seconds.
	Outage time.Time
}

// A Summary is the result of a run.
type Summary struct {
	Stats
	End   End
	Sites int // number of sites that got a request or have queued URLs
	// Sites with URLs to fetch or to fetch again, in the order of their next requests.
	Waiting []frontier.SiteStatus
	// Number of URLs that are still queued, by the reason why they were not fetched; Crawler.Left
	// yields these URLs.
	Left map[frontier.Code]int
	// NextAgain is the earliest time at which a fetched URL will be fetched again (see
	// frontier.Stats.Again). It is zero if no URL will be.
	NextAgain time.Time
	Repeats   []Repeat // bodies that many pages have, sorted by descending number of pages
	// Endless spaces of URLs into which links were refused, sorted by descending number of links.
	Traps []Trap
}

// String returns one line of text with the reason for the end, the number of pages, and the URLs
// that are left.
func (s Summary) String() string {
	text := fmt.Sprintf("%s: %d answered in this run, %d of them pages", s.End, s.Fetched, s.Pages)
	for _, r := range slices.Sorted(maps.Keys(s.Left)) {
		text += fmt.Sprintf("; %d left: %s", s.Left[r], r)
	}
	if n := s.Frontier.Again; n > 0 {
		text += fmt.Sprintf("; %d to be fetched again", n)
	}
	said := 0
	for _, st := range s.Waiting {
		if st.Given.Detail != "" && said < 3 {
			said++
			text += fmt.Sprintf("; %s: %s", st.Site, st.Given.Detail)
		}
	}
	if n := s.Sitemaps.Empty; n > 0 {
		text += fmt.Sprintf("; sitemaps that list nothing: %d", n)
	}
	for _, r := range slices.Sorted(maps.Keys(s.SkippedURLs)) {
		text += fmt.Sprintf("; URLs not fetched, %s: %d", r, s.SkippedURLs[r])
	}
	for _, r := range slices.Sorted(maps.Keys(s.SkippedLinks)) {
		text += fmt.Sprintf("; links not followed, %s: %d", r, s.SkippedLinks[r])
	}
	return text
}

// A Trap is an endless space of URLs, such as a calendar without end. Links into it were refused
// because of the pattern of their URLs.
type Trap struct {
	Site    frontier.Site
	Pattern string // the pattern in words, such as "the path repeats /a/b"
	URLs    int    // number of links that were refused
}

// rateOver is the period over which rates are computed. It is long enough for a steady rate even if
// there is only one request every ten seconds.
const rateOver = 30 * time.Second

// recent holds the figures of the last seconds of a run, one element per second, in a ring buffer.
type recent struct {
	began time.Time
	ring  [int(rateOver/time.Second) + 1]second
}

// A second holds the counts of one second of the run. The field at is the number of that second,
// counted from the start of the run.
type second struct {
	at              int
	pages, requests int
	bytes           int64
}

// now returns the counts of the current second.
func (r *recent) now() *second {
	at := int(time.Since(r.began) / time.Second)
	s := &r.ring[at%len(r.ring)]
	if s.at != at {
		*s = second{at: at}
	}
	return s
}

// rate returns the average rates per second over the last rateOver, without the current second. If
// the run is younger than rateOver, it averages over the age of the run. In the first second of a
// run the rates are zero.
func (r *recent) rate() StatusRate {
	at := int(time.Since(r.began) / time.Second)
	over := min(at, len(r.ring)-1)
	if over == 0 {
		return StatusRate{}
	}
	var sum second
	for _, s := range r.ring {
		if s.at < at && s.at >= at-over {
			sum.pages += s.pages
			sum.requests += s.requests
			sum.bytes += s.bytes
		}
	}
	by := float64(over)
	return StatusRate{Seconds: by, Pages: float64(sum.pages) / by, Requests: float64(sum.requests) / by, Bytes: float64(sum.bytes) / by}
}

func (c *counts) rate() StatusRate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.rate()
}

// SitemapCounts holds the figures of the sitemaps of a run. A sitemap may count in Named, but
// neither in Read nor in Failed: if it was redirected, refused, out of scope or read by an earlier
// run, or is still queued. With SitemapsNone nothing is counted.
type SitemapCounts struct {
	// Sitemaps that robots.txt files and sitemap indexes name, each URL once, even out of scope.
	Named int
	// Answers with a 2xx status, including seeds and pages that are sitemaps; a sitemap that is
	// fetched again counts again.
	Read   int
	Failed int // sitemaps that ended with a status of 400 or more, or without an answer
	// Page URLs that sitemaps list, even if they are not queued; URLs of other sitemaps are not
	// counted.
	URLs  int
	Empty int // sitemaps counted in Read that list nothing

	FirstEmpty []EmptySitemap // the first sitemaps that list nothing, at most three
}

// An EmptySitemap is a sitemap that was fetched and lists nothing.
type EmptySitemap struct {
	URL    string
	Reason string // "lists no URL" or "is no sitemap"
}

const (
	// maxFirstEmpty is the maximum number of empty sitemaps in SitemapCounts.FirstEmpty.
	maxFirstEmpty = 3
	// maxNamedSitemaps is the maximum number of sitemaps that are remembered in order to count each
	// only once. Further sitemaps are counted each time they are named.
	maxNamedSitemaps = 1 << 16
)

// A StatusRate holds the average rates of a run per second, over its last seconds.
type StatusRate struct {
	Seconds  float64 `json:"seconds"` // length of the averaging period, at most 30
	Pages    float64 `json:"pages"`
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
}

// sitemapTally counts the sitemaps of a run.
type sitemapTally struct {
	// Guards all fields; visits of sitemaps use it, and visits of pages whose robots.txt names
	// sitemaps.
	mu    sync.Mutex
	n     SitemapCounts
	named map[uint64]struct{} // hashes of the keys of named sitemaps
}

func (t *sitemapTally) counts() SitemapCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.n
	n.FirstEmpty = slices.Clone(n.FirstEmpty)
	return n
}

// name counts sitemaps that a robots.txt or a sitemap index names. sums are their hashes, as
// returned by sitemapSum.
func (t *sitemapTally) name(sums []uint64) {
	if len(sums) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named == nil {
		t.named = map[uint64]struct{}{}
	}
	for _, sum := range sums {
		if _, known := t.named[sum]; known {
			continue
		}
		t.n.Named++
		if len(t.named) < maxNamedSitemaps {
			t.named[sum] = struct{}{}
		}
	}
}

func (t *sitemapTally) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n.Failed++
}

// read counts a fetched sitemap. urls is the number of URLs that it lists. empty is its
// EmptySitemap.Reason, or "" if it lists something. read returns the number of empty sitemaps so
// far.
func (t *sitemapTally) read(u frontier.URL, urls int, empty string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.n
	n.Read++
	n.URLs += urls
	if empty == "" {
		return n.Empty
	}
	n.Empty++
	one := EmptySitemap{URL: u.String(), Reason: empty}
	if len(n.FirstEmpty) < maxFirstEmpty && !slices.Contains(n.FirstEmpty, one) {
		n.FirstEmpty = append(n.FirstEmpty, one)
	}
	return n.Empty
}

// A State is the state of a crawl, such as "running".
type State string
