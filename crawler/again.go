package crawler

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// again decides when the URL of e is fetched again, and stores that time in res.Outcome.Revisit. It
// does nothing without Options.Revisit, or if the visit failed and will be retried. The page of
// this visit is p, or nil if none exists. The parameter before holds the records of earlier
// visits of the URL. The error is a *PanicError if Options.Revisit panicked.
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

// changed reports whether p, the page of this visit, differs from the page of the last visit in its
// status or its visible text. It returns false if the stored data of the last visit do not allow a
// comparison.
func (r *recollection) changed(p *Page) bool {
	last := &r.visits.Last
	switch {
	case last.Code == frontier.Fetched && last.Status != p.Status:
		return true
	case p.Status/100 != 2:
		return false
	case p.change == "": // empty if the body was cut or came over FTP
		return last.Digest != "" && p.digest() != "" && last.Digest != p.digest()
	}
	return p.change == ChangeModified || p.change == ChangeNew
}

// bodyOf returns the place of the WARC record that contains the body of the visit v. Usually this
// is the record of v itself. If that record only refers to an equal body of an earlier visit, it is
// the record of the earlier visit. If the record is not known, bodyOf returns the zero Place.
func (r *recollection) bodyOf(v *store.Visit) frontier.Place {
	switch {
	case v.Answer == nil:
	case !v.Repeats:
		return v.Place
	case r.visits != nil && r.capture != nil && !r.unconditional:
		if of := v.Answer.Revisit; of.URL == r.capture.OfURL && of.Date.Equal(r.capture.OfDate) {
			return r.visits.Body
		}
	}
	return frontier.Place{}
}

// listedChanges returns the dates at which pages were changed, if p is a sitemap or a feed that
// lists pages with such dates. It returns nil if p has no dates, or if Options.Revisit does not
// trust them. The error is a *PanicError if a function of the options panicked.
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

// changedPages returns the pages that the sitemap or feed p lists, each with the date of its last
// change. It leaves out implausible dates, and pages of sites for which p must not speak (see
// mayDate).
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
// changed. This is allowed if the list is on the registrable domain of the site, or if a robots.txt
// of that domain names the list. Other lists are not believed, so that one site cannot cause
// requests to another.
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
