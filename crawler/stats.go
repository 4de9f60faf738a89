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

// An End says why a run ended.
type End string

// The ends of a run.
const (
	EndDone     End = "done"            // no URL is left in the queue
	EndUnasked  End = "unasked"         // only unreachable, excluded or over-budget sites remain
	EndPatience End = "patience"        // no URL may be requested or fetched again within Options.Patience
	EndLimit    End = "limit"           // MaxBytes was reached; or Options.Limit was reached, and no requisite (image, script ...) is left that may be requested within Options.Patience
	EndTime     End = "limit of time"   // Options.MaxTime was reached
	EndStopped  End = "stopped"         // Crawler.Stop was called, or a handler returned ErrStop
	EndBroken   End = "stopped at once" // the context ended
)

// Counts are the figures of a run so far.
type Counts struct {
	Requests  int                 // all requests, including those for robots.txt
	Robots    int                 // requests for robots.txt
	Fetched   int                 // URLs that were answered, without robots.txt files and pages whose owner refuses the purpose; a URL that is fetched again (Options.Revisit) counts again
	Pages     int                 // those in Fetched that are pages: they have a 2xx status, and are neither requisites (images, scripts ...) nor sitemaps
	Bytes     int64               // bytes of bodies, as they came over the wire
	Status    map[int]int         // number of answers by HTTP status, including those for robots.txt and incomplete ones, which also count in Errors
	Errors    map[string]int      // number of requests without an answer, or with an incomplete one, by the stage that failed (fetch.Stage)
	Retries   int                 // pages queued for another try
	Handler   int                 // errors that the handler has returned, and its panics
	Rescanned int                 // pages of the archive whose links were read again
	Changes   map[ChangeClass]int // number of pages by how they changed since they were fetched before; pages for which that is unknown are not counted
	Unread    int                 // pages whose archived earlier answer cannot be read
	Cut       int                 // pages with more links than extract.MaxLinks; the links beyond that number were left out
	Sitemaps  SitemapCounts

	// SkippedLinks has the number of links whose URL was not queued, by reason. A URL counts
	// once for each page that links to it.
	SkippedLinks map[frontier.Code]int
	SkippedURLs  map[frontier.Code]int // queued URLs that ended without a page, by reason
}

// counts are Counts with a lock.
type counts struct {
	mu     sync.Mutex // guards the fields below: a reader sees either all or none of the counts of one visit
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

// Stats are the figures of a running crawl.
type Stats struct {
	Counts
	Frontier frontier.Stats
}

// A Summary is the result of a run.
type Summary struct {
	Stats
	End     End
	Sites   int                   // number of sites that got a request, or have queued URLs
	Waiting []frontier.SiteStatus // sites with URLs to fetch, or to fetch again, in the order of their next requests
	Left    map[frontier.Code]int // number of URLs that are still queued, by the reason why they were not fetched; Crawler.Left lists them
	// NextAgain is the earliest time at which a URL that was fetched will be fetched again (see
	// frontier.Stats.Again); zero if no URL will be.
	NextAgain time.Time
	Repeats   []Repeat // bodies that many pages have, those with the most pages first
	Traps     []Trap   // endless spaces of URLs where links were refused, those with the most links first
}

// String returns one line of text, which says how the run ended, what was fetched, and what is
// left and why.
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

// A Trap is a place where links were refused because their URLs have the pattern of an endless
// space, such as a calendar without end.
type Trap struct {
	Site    frontier.Site
	Pattern string // the pattern in words, such as "the path repeats /a/b"
	URLs    int    // number of links that were refused
}

// rateOver is the period over which rates are computed. It is long enough that the rate stays
// about the same if there is one request every ten seconds.
const rateOver = 30 * time.Second

// recent has the figures of each of the last seconds, in a ring.
type recent struct {
	began time.Time
	ring  [int(rateOver/time.Second) + 1]second
}

// A second has the counts of one second of the run.
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

// rate returns the rates of the last seconds, without the current second. The period is
// rateOver or, if the run is younger, the age of the run. In the first second of a run the
// rates are zero.
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

// SitemapCounts are the figures of the sitemaps of a run. A sitemap that counts in Named, but
// neither in Read nor in Failed, was redirected, refused, out of scope or read by an earlier
// run, or it is still queued. With SitemapsNone nothing is counted.
type SitemapCounts struct {
	Named  int // URLs that robots.txt files and sitemap indexes name as sitemaps, each once, in scope or not
	Read   int // answers with a 2xx status, including those of seeds and pages that are sitemaps; a sitemap that is fetched again counts again
	Failed int // sitemaps that ended with an error status (400 or more), or without an answer
	URLs   int // URLs that sitemaps list, queued or not; URLs of other sitemaps in them are not counted
	Empty  int // those sitemaps counted in Read that list nothing

	FirstEmpty []EmptySitemap // the first sitemaps that list nothing, up to three
}

// An EmptySitemap is a sitemap that was fetched and lists nothing.
type EmptySitemap struct {
	URL    string
	Reason string // "lists no URL" or "is no sitemap"
}

const (
	// maxFirstEmpty is how many sitemaps without a URL a summary names.
	maxFirstEmpty = 3
	// maxNamedSitemaps is how many named sitemaps are remembered, so that each is counted once.
	// If there are more, the others are counted each time they are named.
	maxNamedSitemaps = 1 << 16
)

// A StatusRate is the current rate of a run per second, over the last seconds.
type StatusRate struct {
	Seconds  float64 `json:"seconds"` // length of the period: at most 30 seconds
	Pages    float64 `json:"pages"`
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
}

// sitemapTally counts the sitemaps of a run.
type sitemapTally struct {
	mu    sync.Mutex // guards all fields; used by visits of a sitemap, or of a page whose robots.txt names one
	n     SitemapCounts
	named map[uint64]struct{} // hashes of the keys of sitemaps that were named
}

func (t *sitemapTally) counts() SitemapCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.n
	n.FirstEmpty = slices.Clone(n.FirstEmpty)
	return n
}

// name counts sitemaps that a robots.txt or a sitemap index names. sums are the results of
// sitemapSum for them.
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

// read counts a sitemap that was fetched. urls is the number of URLs that the sitemap lists.
// empty is its EmptySitemap.Reason, or "" if it lists anything. read returns how many empty
// sitemaps were counted so far.
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

// A State is the state of a crawl.
type State string
