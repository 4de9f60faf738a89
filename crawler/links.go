package crawler

import (
	"github.com/permesso-crawler/permesso/frontier"
)

// findings are what a worker has found on one page. Their memory is used again
// for the next one.
type findings struct {
	seen    map[string]struct{} // keys
	entries []frontier.Entry
}

// maxFindings is how many are kept room for.
const maxFindings = 1024

func newFindings() *findings { return &findings{seen: map[string]struct{}{}} }

// clear forgets the last page.
func (f *findings) clear() {
	if len(f.seen) > maxFindings {
		*f = *newFindings()
		return
	}
	clear(f.seen)
	clear(f.entries)
	f.entries = f.entries[:0]
}

// next are the entries that a page leads to, each once, in scope. They are valid
// until f is used for another page.
func (c *Crawler) next(p *Page, f *findings) (entries []frontier.Entry, err error) {
	err = safely("Scope or OnSkip", func() { entries = c.wantedOf(p, f, c.skip) })
	return entries, err
}

// wantedOf tells of each link that is not wanted.
func (c *Crawler) wantedOf(p *Page, f *findings, tell func(Skip)) []frontier.Entry {
	f.clear()
	links := p.Links()
	seen, entries := f.seen, f.entries
	seen[p.URL.Key()] = struct{}{}
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
		if reason := c.unwanted(&found); reason != "" {
			tell(Skip{URL: u, Via: found.Via, Reason: reason})
		} else {
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
			tell(Skip{URL: l.URL, Via: p.URL.String(), Reason: SkipNoFollow, Detail: l.Where})
			continue
		}
		add(l.URL, l.Hop)
	}
	for _, u := range p.followed {
		add(u, frontier.HopLink)
	}
	f.entries = entries
	return entries
}

// unwanted says why an entry that was found does not enter the frontier; empty
// if it does.
func (c *Crawler) unwanted(e *frontier.Entry) Reason {
	switch {
	case e.Redirects() > frontier.MaxRedirects:
		return SkipRedirects
	case e.FromSeed():
		// A seed's redirects are followed wherever they lead, but to what is
		// excluded: its host is often not the one that is meant.
		if c.excluded(e) {
			return SkipFilter
		}
		return ""
	}
	return c.narrowed(e)
}

func (c *Crawler) excluded(e *frontier.Entry) bool {
	return c.opts.Exclude != nil && c.opts.Exclude.MatchString(e.URL.String())
}

// narrowed says why e is not in scope; empty if it is.
func (c *Crawler) narrowed(e *frontier.Entry) Reason {
	o := &c.opts
	switch {
	case o.Depth > 0 && e.Depth > o.Depth:
		return SkipDepth
	case c.excluded(e):
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
	known := false
	err := safely("Scope", func() {
		if known = c.opts.Scope.Contains(e); !known {
			c.opts.Scope.Admit(e.URL)
		}
	})
	if known || c.db == nil || err != nil {
		return err
	}
	return c.db.Put(keyRoot+e.URL.String(), true)
}
