package frontier

import (
	"math"
	"strings"
	"time"
)

// A Hop says how a URL was found, in the letters of Heritrix.
type Hop byte

// The hops. A seed has none.
const (
	HopLink         Hop = 'L' // navigation: a, area, iframe, meta refresh
	HopEmbed        Hop = 'E' // what a page needs to be shown
	HopRedirect     Hop = 'R' // Location of a 3xx answer
	HopManifest     Hop = 'M' // sitemap
	HopPrerequisite Hop = 'P' // robots.txt
)

// MaxRedirects is how many redirects in a row are followed (RFC 9110, section
// 15.4, leaves the bound to the client).
const MaxRedirects = 10

// An Entry is a queued URL and how it got there.
type Entry struct {
	URL    URL
	Via    string    // URL of the page it was found on; empty for a seed
	Hops   string    // path of Hop letters from the seed; empty for a seed
	Tag    string    // the seed's tag, inherited by all that is found from it
	Depth  int       // number of L hops
	Rank   uint8     // orders the entries of one site: lower first, then in the order in which they were found
	Same   URL       // whose page it is taken for; zero for its own. See Key
	Apart  bool      // it is one with no other, whatever they are taken for. See Key
	Head   bool      // nothing but its header is wanted: it is asked for with HEAD (RFC 9110, section 9.3.2)
	ByGet  bool      // of one with Head: its server refuses that method, so it is asked for with GET
	Tries  int       // attempts so far that failed by the page's own fault
	Due    time.Time // not to be asked before; zero where only the site's clocks count
	Visits *Visits   // of one that was fetched and is to be fetched again; nil for others
	ID     uint64    // the backlog's name for it within its site; zero until it was read
}

// Key is what no two entries of a backlog have in common: that of Same, if it is of the
// same site, or else of URL. With Apart it is one that only entries with Apart and the
// same URL have: what a page redirects to that is the same page by choice has to be asked
// for all the same.
func (e *Entry) Key() string {
	switch {
	case e.Apart:
		return apart + e.URL.Key()
	case e.Same.IsZero() || e.Same.Site() != e.URL.Site():
		return e.URL.Key()
	}
	return e.Same.Key()
}

// apart is what no URL begins with.
const apart = "="

// Found is the entry of a URL found on e by hop. Its rank is that of its depth, but for a
// Requisite, which has RequisiteRank. Of where one with Head redirects to, no more is wanted
// than of itself.
func (e Entry) Found(u URL, hop Hop) Entry {
	f := Entry{URL: u, Via: e.URL.String(), Hops: e.Hops + string(hop), Tag: e.Tag, Depth: e.Depth}
	if hop == HopLink {
		f.Depth++
	}
	f.Head = e.Head && hop == HopRedirect
	if f.Rank = RankOf(f.Depth); f.Requisite() {
		f.Rank = RequisiteRank
	}
	return f
}

// Redirects is the number of redirects in a row that led to e.
func (e Entry) Redirects() int {
	n := 0
	for n < len(e.Hops) && e.Hops[len(e.Hops)-1-n] == byte(HopRedirect) {
		n++
	}
	return n
}

// Embeds is how many E hops in a row, but for redirects, led to e: 1 for an image of
// a page, 3 for a font that a style sheet names which another one imports.
func (e Entry) Embeds() int {
	run := e.Hops[len(strings.TrimRight(e.Hops, string([]byte{byte(HopEmbed), byte(HopRedirect)}))):]
	return strings.Count(run, string(rune(HopEmbed)))
}

// Requisite reports whether e is what a page is shown with: its last hop is
// HopEmbed, but for redirects.
func (e Entry) Requisite() bool { return e.Embeds() > 0 }

// Sitemap reports whether e was named as a sitemap, by robots.txt or by an index of
// sitemaps: its last hop is HopManifest, but for redirects.
func (e Entry) Sitemap() bool {
	return strings.HasSuffix(e.Hops[:len(e.Hops)-e.Redirects()], string(rune(HopManifest)))
}

// Page reports whether e counts as a page: it is neither what others are shown with
// nor a list of them.
func (e Entry) Page() bool { return !e.Requisite() && !e.Sitemap() }

// FromSeed reports whether e is a seed or was reached from one by redirects
// alone.
func (e Entry) FromSeed() bool { return e.Redirects() == len(e.Hops) }

// RequisiteRank is the rank of what a page is shown with: it comes before the pages that
// are found on it, and behind the seeds that were there before it.
const RequisiteRank = 0

// RankOf is the rank of an entry whose depth alone counts: what is near a seed comes
// first.
func RankOf(depth int) uint8 { return uint8(max(0, min(depth, math.MaxUint8))) }
