package crawler

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// again sets in res the time at which an entry will be fetched again after this visit. p is the
// page that the visit got, or nil. The parameter before has what earlier visits of the URL have
// stored. The error is a *PanicError of Options.Revisit.
func (j *job) again(e frontier.Entry, res *fetch.Result, p *Page, before *recollection) (err error) {
	o := &res.Outcome
	if j.opts.Revisit == nil || o.Again || o.Fate.Code.Aside() {
		return nil
	}
	now := time.Now()
	v := revisit.Visit{URL: e.URL.String(), Tag: e.Tag, Depth: e.Depth}
	if p != nil {
		v.Hints = revisit.ReadHints(p.Header, p.Exchange.Ended)
		v.Hints.Every, v.List = p.html.Every, p.html.Sitemap || p.html.Feed
	}
	if b := e.Visits; b != nil {
		v.Pause = now.Sub(b.Last.Time)
		v.History = revisit.History{Seen: b.Seen, Changes: b.Changes, Watched: b.Last.Time.Sub(b.First)}
		if p != nil && o.Fate.Code == frontier.Fetched && o.Trouble == frontier.NoTrouble {
			v.Changed = before.changed(p)
			v.History = v.And(v.Pause, v.Changed)
		}
	}
	var pause time.Duration
	err = safely("Revisit", func() { pause = j.opts.Revisit.Next(v) })
	if pause <= 0 || pause > revisit.Longest {
		pause = revisit.Longest
	}
	o.Revisit, o.Changed = now.Add(pause), v.Changed
	return err
}

// changed reports whether p, the page that this visit got, differs in its visible text or its
// status from the page that the last visit got. It returns false if too little is stored about
// the last visit to compare the pages.
func (r *recollection) changed(p *Page) bool {
	last := &r.visits.Last
	switch {
	case last.Code == frontier.Fetched && last.Status != p.Status:
		return true
	case p.Status/100 != 2:
		return false
	case p.change == "": // the body was cut, or came over FTP
		return last.Digest != "" && p.digest() != "" && last.Digest != p.digest()
	}
	return p.change == ChangeModified || p.change == ChangeNew
}

// bodyOf returns where the WARC record is that has the body of a visit. This is the record of
// the visit itself. But if that record only refers to the same body of an earlier visit, it is
// the record of the earlier visit. If the record is not known, bodyOf returns the zero Place.
func (r *recollection) bodyOf(v *store.Visit) frontier.Place {
	switch {
	case v.Answer == nil:
	case !v.Repeats:
		return v.Place
	case r.visits != nil && r.capture != nil && !r.plain:
		if of := v.Answer.Revisit; of.URL == r.capture.OfURL && of.Date.Equal(r.capture.OfDate) {
			return r.visits.Body
		}
	}
	return frontier.Place{}
}

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
