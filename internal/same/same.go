// Package same finds the URLs that count as one page: the rules that settings can name, and the
// Clean-param lines of a robots.txt. A crawl requests only the first of these URLs.
package same

import (
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Of returns the URL that represents all URLs that count as the same page as u. To find it, Of
// applies the Clean-param lines in clean, and then rule; both may be nil. It returns the zero URL
// if the result has the key of u, or is on another site. URLs with equal keys have equal results.
func Of(u frontier.URL, clean *robots.Cleaner, rule func(frontier.URL) frontier.URL) frontier.URL {
	if rule == nil && clean == nil {
		return frontier.URL{}
	}
	key := u.Key()
	v := u
	if key != u.String() {
		if normal, err := frontier.ParseURL(key); err == nil {
			v = normal
		}
	}
	if clean != nil {
		if target := clean.Clean(v.Target()); target != v.Target() {
			v = within(v, target)
		}
	}
	if rule != nil {
		v = rule(v)
	}
	if v.Site() != u.Site() || v.Key() == key {
		return frontier.URL{}
	}
	return v
}
