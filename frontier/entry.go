package frontier

import (
	"math"
	"strings"
	"time"
)

// A Hop is a letter that says how a URL was found. The letters are those of the crawler
// Heritrix.
type Hop byte

// The hops. A seed (a URL with which the crawl began) was reached without a hop.
const (
	HopLink         Hop = 'L' // a link for navigation: a, area, iframe, meta refresh
	HopEmbed        Hop = 'E' // a file that is needed to show a page: image, script, style sheet
	HopRedirect     Hop = 'R' // the Location field of a 3xx answer
	HopManifest     Hop = 'M' // a sitemap that robots.txt or a sitemap index names
	HopPrerequisite Hop = 'P' // robots.txt, which is fetched before the pages of its site
)

// MaxRedirects is the largest number of redirects in a row that are followed. RFC 9110, section
// 15.4, leaves this number to the client.
const MaxRedirects = 10

// An Entry is a queued URL and how it was found.
type Entry struct {
	URL    URL
	Via    string    // URL of the page on which the entry was found; empty for a seed
	Hops   string    // Hop letters of the path from the seed to the entry; empty for a seed
	Tag    string    // tag that the user gave to the link, or to the seed that led to it
	Depth  int       // number of letters L in Hops
	Rank   uint8     // order among the entries of one site: lower ranks first; equal ranks in the order of discovery
	Same   URL       // URL that counts in place of URL when duplicates are recognized; zero: URL itself. See Key
	Apart  bool      // the Key differs from the keys of all entries without Apart
	Head   bool      // the entry is requested with HEAD (RFC 9110, section 9.3.2), because only the header is needed
	ByGet  bool      // the entry has Head, but the server refuses HEAD, so it is requested with GET
	Tries  int       // failed attempts so far
	Due    time.Time // no request before this time; zero: only the clocks of the site count
	Visits *Visits   // history of an entry that was fetched and will be fetched again; nil for other entries
	ID     uint64    // number that the backlog gave to the entry within its site; zero until the entry was read
}

// Key returns the key that identifies the entry in a backlog. This is the key of Same, if Same is
// set and has the site of URL, or else the key of URL. With Apart, the key equals only the key of
// another entry with Apart and the same URL.
//
// Apart is for the target of a redirect that counts as the same page as the redirecting URL.
// Without Apart the target would be dropped as a duplicate and never be requested.
func (e *Entry) Key() string {
	switch {
	case e.Apart:
		return apart + e.URL.Key()
	case e.Same.IsZero() || e.Same.Site() != e.URL.Site():
		return e.URL.Key()
	}
	return e.Same.Key()
}

// apart is the first character of the keys of entries with Apart. No URL begins with it.
const apart = "="

// Found returns the entry for u, a URL found on the page of e. The letter hop says how u was
// found. The rank of the new entry is RankOf its depth, or RequisiteRank if the new entry is a
// requisite. If hop is HopRedirect, the new entry has the Head of e; otherwise Head is false.
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

// Embeds returns how many E hops in a row led to e, not counting redirects between them. It is 1
// for an image of a page. It is 3 for a font, if a style sheet of a page imports a second style
// sheet, and the second one needs the font.
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

// RequisiteRank is the rank of requisites (Entry.Requisite). Requisites of a page are requested
// before the links of this page. Seeds have rank 0, too: seeds that were queued earlier come
// first.
const RequisiteRank = 0

// RankOf returns the rank of a page at the given depth. Lower depths have lower ranks, so pages
// near a seed are requested first. The rank of depths above 255 is 255.
func RankOf(depth int) uint8 { return uint8(max(0, min(depth, math.MaxUint8))) }
