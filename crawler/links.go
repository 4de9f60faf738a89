package crawler

import (
	"github.com/permesso-crawler/permesso/frontier"
)

// next are the entries that a page leads to, each once, in scope.
func (c *Crawler) next(p *Page) []frontier.Entry {
	links := p.Links()
	most := len(links) + len(p.followed) + 1
	seen := make(map[string]struct{}, most)
	seen[p.URL.Key()] = struct{}{}
	entries := make([]frontier.Entry, 0, min(most, 512)) // of pages with more, most is out of scope
	var found frontier.Entry
	var by frontier.Hop
	add := func(u frontier.URL, hop frontier.Hop) {
		key := u.Key()
		known := len(seen)
		if seen[key] = struct{}{}; len(seen) == known {
			return
		}
		if hop != by {
			found, by = p.Entry.Found(u, hop), hop
		}
		found.URL = u
		if c.wanted(&found) {
			entries = append(entries, found)
		}
	}
	if p.redirect {
		add(p.Location, frontier.HopRedirect)
	}
	for i := range links {
		l := &links[i]
		if l.Hop == frontier.HopEmbed {
			// It is no link that a robot could follow: the page is shown with it.
			if c.opts.Requisites {
				add(l.URL, l.Hop)
			}
			continue
		}
		if (l.NoFollow || p.Directives.NoFollow) && !c.opts.FollowNoFollow {
			c.skip(Skip{l.URL, p.URL.String(), SkipNoFollow, l.Where})
			continue
		}
		add(l.URL, l.Hop)
	}
	for _, u := range p.followed {
		add(u, frontier.HopLink)
	}
	return entries
}

// wanted reports whether an entry that was found enters the frontier.
func (c *Crawler) wanted(e *frontier.Entry) bool {
	reason := Reason("")
	switch {
	case e.Redirects() > frontier.MaxRedirects:
		reason = SkipRedirects
	case e.FromSeed():
		// A seed's redirects are followed wherever they lead: its host is
		// often not the one that is meant.
	default:
		reason = c.narrowed(e)
	}
	if reason != "" {
		c.skip(Skip{e.URL, e.Via, reason, ""})
	}
	return reason == ""
}

// narrowed says why e is not in scope; empty if it is.
func (c *Crawler) narrowed(e *frontier.Entry) Reason {
	o := &c.opts
	switch {
	case o.Depth >= 0 && e.Depth > o.Depth:
		return SkipDepth
	case o.Exclude != nil && o.Exclude.MatchString(e.URL.String()):
		return SkipFilter
	case o.Requisites && e.Requisite():
		// One hop beyond the scope, so that the page can be shown.
		return ""
	case !o.Scope.Contains(*e):
		return SkipScope
	case o.Include != nil && !o.Include.MatchString(e.URL.String()):
		return SkipFilter
	}
	return ""
}

// admit brings the host into scope on which a chain of redirects from a seed
// ends, and keeps it with the crawl.
func (c *Crawler) admit(p *Page) error {
	e := p.Entry
	if p.redirect || e.Hops == "" || !e.FromSeed() {
		return nil
	}
	if c.opts.Scope.Contains(e) {
		return nil
	}
	c.opts.Scope.Admit(e.URL)
	if c.db == nil {
		return nil
	}
	return c.db.Put(keyRoot+e.URL.String(), true)
}
