package frontier

import (
	"math"
	"strings"
	"time"
)

// A Hop is a letter that says how a URL was found. The letters are those of the crawler
// Heritrix.
type Hop byte

// The hops. A seed (a URL with which the crawl began) has no hop.
const (
	HopLink         Hop = 'L' // navigation: a, area, iframe, meta refresh
	HopEmbed        Hop = 'E' // what a page needs to be shown: images, scripts, style sheets
	HopRedirect     Hop = 'R' // Location of a 3xx answer
	HopManifest     Hop = 'M' // sitemap
	HopPrerequisite Hop = 'P' // robots.txt
)

// MaxRedirects is how many redirects in a row are followed (RFC 9110, section
// 15.4, leaves the bound to the client).
const MaxRedirects = 10

// An Entry is a queued URL and how it was found.
type Entry struct {
	URL    URL
	Via    string    // URL of the page it was found on; empty for a seed
	Hops   string    // path of Hop letters from the seed; empty for a seed
	Tag    string    // the tag that the user gave to the link, or to the seed from which it was found
	Depth  int       // number of L hops
	Rank   uint8     // orders the entries of one site: lower first, then in the order in which they were found
	Same   URL       // the URL of the page that this entry counts as, to avoid duplicates; zero: URL itself. See Key
	Apart  bool      // the entry never counts as another page. See Key
	Head   bool      // only its header is needed: it is requested with HEAD (RFC 9110, section 9.3.2)
	ByGet  bool      // with Head: its server refuses HEAD, so it is requested with GET
	Tries  int       // failed attempts so far
	Due    time.Time // no request before; zero if only the site's clocks count
	Visits *Visits   // of an entry that was fetched and will be fetched again; nil for others
	ID     uint64    // the backlog's number for it within its site; zero until it was read from the backlog
}

// Key returns the key that identifies the entry in a backlog: the key of Same, if Same is set
// and has the site of URL, or else the key of URL. With Apart, the key is equal only to the key
// of another entry with Apart and the same URL. Apart is for the target of a redirect that
// counts as the same page as the redirecting URL: the target would otherwise be a duplicate,
// but it still has to be requested.
func (e *Entry) Key() string {
	switch {
	case e.Apart:
		return apart + e.URL.Key()
	case e.Same.IsZero() || e.Same.Site() != e.URL.Site():
		return e.URL.Key()
	}
	return e.Same.Key()
}

// apart is the first character of keys of entries with Apart. No URL begins with it.
const apart = "="

// Found returns the entry for u, a URL found on the page of e. The letter hop says how u was
// found. The rank of the new entry is RankOf(Depth) for its own depth, or RequisiteRank if the
// new entry is a requisite. Its Head is that of e if hop is HopRedirect, and false otherwise.
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

// Redirects returns the number of redirects in a row that led to e.
func (e Entry) Redirects() int {
	n := 0
	for n < len(e.Hops) && e.Hops[len(e.Hops)-1-n] == byte(HopRedirect) {
		n++
	}
	return n
}

// Embeds returns how many E hops in a row led to e. Redirects between them are not counted. It
// is 1 for an image of a page, 3 for a font of a style sheet that another style sheet imports.
func (e Entry) Embeds() int {
	run := e.Hops[len(strings.TrimRight(e.Hops, string([]byte{byte(HopEmbed), byte(HopRedirect)}))):]
	return strings.Count(run, string(rune(HopEmbed)))
}

// Requisite reports whether e is a requisite: an image, script, style sheet or the like,
// which is needed to show a page. Its last hop, not counting redirects, is HopEmbed.
func (e Entry) Requisite() bool { return e.Embeds() > 0 }

// Sitemap reports whether e was found as a sitemap, in robots.txt or in a sitemap index: its
// last hop, without counting redirects, is HopManifest.
func (e Entry) Sitemap() bool {
	return strings.HasSuffix(e.Hops[:len(e.Hops)-e.Redirects()], string(rune(HopManifest)))
}

// Page reports whether e counts as a page: it is neither a requisite nor a sitemap.
func (e Entry) Page() bool { return !e.Requisite() && !e.Sitemap() }

// FromSeed reports whether e is a seed or was reached from one only by redirects.
func (e Entry) FromSeed() bool { return e.Redirects() == len(e.Hops) }

// RequisiteRank is the rank of requisites (Entry.Requisite). They are requested before the
// pages that are found on the same page, and after the seeds that were queued earlier, because
// seeds have rank 0, too.
const RequisiteRank = 0

// RankOf returns the rank of a page by its depth, so that entries near a seed come first.
func RankOf(depth int) uint8 { return uint8(max(0, min(depth, math.MaxUint8))) }
