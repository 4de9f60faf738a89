package frontier

import (
	"slices"
	"time"
)

// After the limit of pages of a crawl or a site is reached, the requisites of the last pages are
// still requested: their images, scripts and style sheets. A site that gets no more requests for
// pages is called shut. The backlog of a shut site is searched for requisites without a turn, so
// that no clock delays the search. If the search finds none, the site leaves the queue until the
// backlog reports new entries of the site, or pages are allowed again.

// requisites is the result of the last search for the requisites of a site. The method learn
// resets it.
type requisites struct {
	searched bool      // the search has read all entries without a Due
	first    time.Time // if searched: the earliest Due of the entries with a Due; zero if there are none
	kept     time.Time // the value of first in the backlog, before meetEntry has converted it
}

// pagesSpent reports whether the limit of pages of the whole crawl is reached. Held entries that
// will count as pages are included.
func (f *Frontier) pagesSpent() bool {
	return f.pagesUsed(f.spent.Pages + f.heldPages)
}

// sitePagesSpent reports whether the limit of pages of s is reached. Held entries that will count
// as pages are included.
func (f *Frontier) sitePagesSpent(s *site) bool {
	most := f.most(s).Pages
	return most > 0 && s.spent().Pages+int(s.work().heldPages) >= most
}

// shut reports whether s gets no more requests for pages. It may then request only entries with
// AfterPages: requisites, and entries that are fetched again.
func (f *Frontier) shut(s *site) bool {
	return f.opts.Requisites && (f.closed || f.sitePagesSpent(s))
}

// turnover queues all sites again when the limit of pages is reached, or when pages are allowed
// again. The caller must hold mu.
func (f *Frontier) turnover() {
	closed := f.opts.Requisites && f.pagesSpent()
	if closed == f.closed {
		return
	}
	f.closed = closed
	for _, h := range []*siteHeap{&f.unsearched, &f.waiting, &f.ready, &f.unsureReady} { // all heaps are emptied at once, because removing sites one by one takes much longer
		for _, s := range h.sites {
			s.place = placeIdle
		}
		h.sites = nil
	}
	for _, s := range f.sites {
		f.queue(s)
	}
	f.kickLocked()
}

// dueRequisite returns when the first entry is due that may be requested while s is shut. If only
// a search of the backlog can tell, it returns the zero time and true. If s certainly has no such
// entry, it returns false.
func (s *site) dueRequisite() (due time.Time, ok bool) {
	if s.firstAhead(true) >= 0 || s.mustSearch() {
		return time.Time{}, true
	}
	known := s.work().requisites
	return known.first, known.searched && !known.first.IsZero()
}

// mayHaveRequisite reports whether the backlog may have a requisite of s that has no Due.
func (s *site) mayHaveRequisite() bool {
	return !s.work().requisites.searched && s.more && s.head == RequisiteRank
}

// mustSearch reports whether s may have an entry that may be requested while s is shut, and only a
// search of the backlog can find out.
func (s *site) mustSearch() bool {
	w := s.work()
	return s.firstAhead(true) < 0 && !w.requisites.searched && (s.mayHaveRequisite() || !w.kept.IsZero())
}

// takeUnsearched returns a site whose backlog must be searched, and sets its place to placeOut. It
// returns nil if there is no such site, or if no turn could be handed out now. The caller must
// hold f.mu.
func (f *Frontier) takeUnsearched() *site {
	if full, _ := f.full(); full || f.err != nil || len(f.unsearched.sites) == 0 {
		return nil
	}
	s := f.unsearched.sites[0]
	f.take(s)
	f.begun(&f.closing)
	return s
}

// search reads the requisites of s, a site that takeUnsearched has returned, and queues s again.
func (f *Frontier) search(s *site) {
	f.readRequisites(s) // an error has already ended the run
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitEnds(s) // submits the ends that Done could not submit while the site was out
	f.closing--
	f.free(s)
	f.kickLocked()
}

// firstAhead returns the index in s.work().ahead of the first entry that may be requested, or -1.
// If shut is true, only entries with AfterPages may be requested.
func (s *site) firstAhead(shut bool) int {
	return slices.IndexFunc(s.work().ahead, func(e Entry) bool { return !shut || e.AfterPages() })
}

// readRequisites reads entries of s with AfterPages from the backlog. The place of s must be
// placeOut. While s has strikes (failures of the whole site) and the backlog may have requisites
// without a Due, readRequisites reads no entries that have a Due.
func (f *Frontier) readRequisites(s *site) error {
	now := f.now()
	f.mu.Lock()
	waiting, w := now, s.atWork()
	if s.resting() && s.mayHaveRequisite() {
		waiting = time.Time{}
	} else if w.requisites.searched && !w.requisites.first.After(now) && w.requisites.kept.After(now) {
		waiting = w.requisites.kept
	}
	// The field is set before the read, because a growth during the read may reset it.
	w.requisites = requisites{searched: true}
	var room [maxAhead]Entry
	buf := f.room(room[:])
	f.mu.Unlock()
	n, first, err := f.backlog.ReadRequisites(s.name, waiting, buf)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += n
	w.ahead = append(w.ahead, buf[:n]...)
	w.requisites.searched = w.requisites.searched && n < len(buf)
	w.requisites.first, w.requisites.kept = f.meetEntry(first, now), first
	if err != nil {
		f.fail(err)
	}
	return err
}
