package crawler

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
)

// listedChanges returns the changes that p lists. A sitemap or a feed may list pages with the
// dates at which they were changed. listedChanges returns nil if p lists none, or if
// Options.Revisit does not trust the dates of p. The error is a *PanicError of a function of
// the options.
func (j *job) listedChanges(p *Page) (changes *frontier.Changes, err error) {
	believer, ok := j.opts.Revisit.(revisit.Believer)
	if !ok || len(p.html.Changes) == 0 || p.refused != "" || !j.follows(p) {
		return nil, nil
	}
	var least time.Duration
	err = safely("Revisit", func() { least, ok = believer.Believes(p.URL.String()) })
	if err != nil || !ok {
		return nil, err
	}
	changes = &frontier.Changes{Told: time.Now(), Least: least}
	err = safely("Rewrite or Same", func() { changes.Pages = j.changedPages(p) })
	if len(changes.Pages) == 0 {
		changes = nil
	}
	return changes, err
}

// changedPages returns the changes that p lists. It leaves out changes whose dates are not
// plausible, and pages of sites that p must not speak for (see mayDate).
func (j *job) changedPages(p *Page) (pages []frontier.Change) {
	dates := revisit.ReadDates(func(yield func(time.Time) bool) {
		for i := range p.html.Changes {
			if !yield(p.html.Changes[i].Time) {
				return
			}
		}
	}, p.Exchange.Ended)
	speaksFor := map[frontier.Site]bool{}
	for i := range p.html.Changes {
		c := &p.html.Changes[i]
		at, ok := dates.Changed(c.Time)
		u := j.opts.rewrite(c.URL)
		if !ok || u.IsZero() {
			continue
		}
		site := u.Site()
		speaks, known := speaksFor[site]
		if !known {
			speaks = mayDate(&p.Entry, site)
			speaksFor[site] = speaks
		}
		if !speaks {
			continue
		}
		clean := p.clean
		if site != p.URL.Site() {
			clean = nil
		}
		e := frontier.Entry{URL: u, Same: j.opts.same(u, clean)}
		pages = append(pages, frontier.Change{Site: site, Key: e.Key(), Time: at})
	}
	return pages
}

// mayDate reports whether a list, which is a sitemap or feed, may say when pages of a site were
// changed. It may if it is on the registrable domain of the site, or if a robots.txt of that
// domain names the list. Other lists are not believed, so that one site cannot cause requests
// to another.
func mayDate(list *frontier.Entry, site frontier.Site) bool {
	domain := site.Domain()
	if list.URL.Site().Domain() == domain {
		return true
	}
	if !strings.HasSuffix(list.Hops, string([]byte{byte(frontier.HopPrerequisite), byte(frontier.HopManifest)})) {
		return false
	}
	via, err := frontier.ParseURL(list.Via)
	return err == nil && via.Site().Domain() == domain
}
