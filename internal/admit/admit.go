// Package admit decides which found URLs are queued: by the scope, the depth, the filters, and
// the patterns of endless spaces of URLs.
package admit

import (
	"regexp"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// Rules decide whether a found URL is queued. The functions must be safe for concurrent use if
// the Rules are used concurrently.
type Rules struct {
	OptOut     func(frontier.URL) string  // returns why a URL must not be requested, or ""; nil: no URL is opted out
	Scope      func(frontier.Entry) bool  // reports whether a URL is in scope
	Site       func(*frontier.Entry) bool // reports whether a URL is in the own scope of its site; nil: every URL is
	Include    *regexp.Regexp             // only URLs that match are queued; nil: all URLs
	Exclude    *regexp.Regexp             // URLs that match are not queued; nil: no URL
	Depth      int                        // largest number of links from a seed; 0: no limit
	Requisites bool                       // requisites of pages, such as images, are queued even outside the scope
	NoSitemaps bool                       // sitemaps are not queued, even if a robots.txt names them
}

// Unwanted returns why a found URL is not queued. It returns Undecided if the URL is queued.
func (r *Rules) Unwanted(e *frontier.Entry) frontier.Code {
	switch {
	case r.OptOut != nil && r.OptOut(e.URL) != "":
		return frontier.OptedOut
	case e.Redirects() > frontier.MaxRedirects:
		return frontier.TooManyRedirects
	case e.FromSeed():
		// Redirects of a seed are followed to any host, unless Exclude matches the target: a
		// seed often redirects to the host that now has the site.
		if r.Excluded(e) {
			return frontier.Filtered
		}
		return frontier.Undecided
	}
	return r.Narrowed(e)
}

// Excluded reports whether Exclude matches the URL of e.
func (r *Rules) Excluded(e *frontier.Entry) bool {
	return r.Exclude != nil && r.Exclude.MatchString(e.URL.String())
}

// Narrowed returns why e is outside of the depth, the filters or the scope of the crawl. It
// returns Undecided if e is inside of all of them.
func (r *Rules) Narrowed(e *frontier.Entry) frontier.Code {
	switch {
	case r.Depth > 0 && e.Depth > r.Depth:
		return frontier.TooDeep
	case r.Excluded(e):
		return frontier.Filtered
	}
	if e.Hops != "" && e.Hops[len(e.Hops)-1] != byte(frontier.HopLink) && !e.Page() {
		switch {
		case e.Sitemap() && (r.NoSitemaps || nested(e) > maxNested):
			return frontier.TooDeep
		case r.Requisites && e.Requisite() || named(e):
			// The URL is outside of the scope, but needed to show a page or to read a sitemap.
			return frontier.Undecided
		}
	}
	switch {
	case !r.Scope(*e):
		return frontier.OutOfScope
	case r.Include != nil && !r.Include.MatchString(e.URL.String()):
		return frontier.Filtered
	case r.Site != nil && !r.Site(e):
		return frontier.OutOfScope
	}
	return frontier.Undecided
}

// maxNested is how many hops of the kind M are followed in a row. Such a hop leads from a
// robots.txt or a sitemap index to a sitemap or an index. With three of them, a robots.txt
// names an index, which names a second index, which names a sitemap. Sitemaps.org does not
// allow more.
const maxNested = 3

// named reports whether e is a sitemap on an allowed host. A sitemap that a robots.txt names,
// or to which another sitemap redirects, may be on any host. A sitemap that an index names must
// be on the host of the index.
func named(e *frontier.Entry) bool {
	switch {
	case !e.Sitemap():
		return false
	case e.Redirects() > 0 || strings.HasSuffix(e.Hops, string([]byte{byte(frontier.HopPrerequisite), byte(frontier.HopManifest)})):
		return true
	}
	via, err := frontier.ParseURL(e.Via)
	return err == nil && via.Host() == e.URL.Host()
}

// nested returns how many of the last hops to e are of the kind M (see maxNested). It ignores
// redirects between them.
func nested(e *frontier.Entry) int {
	hops := strings.ReplaceAll(e.Hops, string(rune(frontier.HopRedirect)), "")
	return len(hops) - len(strings.TrimRight(hops, string(rune(frontier.HopManifest))))
}
