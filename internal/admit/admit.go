// Package admit decides which URLs enter a crawl: by the scope, the depth, the filters, and the
// patterns of endless spaces of URLs.
package admit

import (
	"regexp"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// Rules decide whether a URL that was found enters a crawl. The functions must be safe for
// concurrent use if the Rules are used concurrently.
type Rules struct {
	OptOut     func(frontier.URL) string  // why a URL must not be requested, or ""; nil: no URL is opted out
	Scope      func(frontier.Entry) bool  // whether a URL is in scope
	Site       func(*frontier.Entry) bool // whether a URL is in the scope of its own site; nil: each is
	Include    *regexp.Regexp             // nil: all URLs
	Exclude    *regexp.Regexp             // nil: none
	Depth      int                        // the most links from a seed; 0: no limit
	Requisites bool                       // requisites are fetched even outside the scope
	NoSitemaps bool                       // sitemaps are not read
}

// Unwanted returns why a URL that was found does not enter the crawl, or Undecided if it does.
func (r *Rules) Unwanted(e *frontier.Entry) frontier.Code {
	switch {
	case r.OptOut != nil && r.OptOut(e.URL) != "":
		return frontier.OptedOut
	case e.Redirects() > frontier.MaxRedirects:
		return frontier.TooManyRedirects
	case e.FromSeed():
		// Redirects of a seed are followed to any host, unless Exclude matches the URL: a seed
		// often redirects to another host, which then has the site that the seed names.
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

// Narrowed returns why e is outside the depth, the filters or the scope of the crawl, or
// Undecided if it is inside all of them.
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
			// Outside the scope, but needed to show the page or to read the sitemap.
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

// named reports whether e is a sitemap on an allowed host. If a robots.txt names the sitemap,
// or another sitemap redirects to it, any host is allowed. If an index names it, only the host
// of the index is allowed.
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

// nested returns the number of hops of the kind M (see maxNested) in a row that led to e.
// Redirects between them are ignored.
func nested(e *frontier.Entry) int {
	hops := strings.ReplaceAll(e.Hops, string(rune(frontier.HopRedirect)), "")
	return len(hops) - len(strings.TrimRight(hops, string(rune(frontier.HopManifest))))
}
