package frontier

import (
	"slices"
	"time"
)

// After the limit of pages of a crawl or a site is reached, the requisites of the last
// pages are still requested. A site that is shut gets no other requests. The backlog is
// searched for requisites without a turn, so that no clock delays the finding that there
// are none. A site without requisites leaves the queue until the backlog reports new
// entries there, or pages are allowed again.

// shown says which requisites the backlog has for a site, by the last search. learn resets
// it.
type shown struct {
	looked bool      // all entries that are ready were read
	first  time.Time // if looked: the earliest Due of those that wait; zero if none do
	kept   time.Time // the same, as stored in the backlog
}

// pagesSpent reports whether the limit of pages of the whole crawl is reached, counting
// held entries.
func (f *Frontier) pagesSpent() bool {
	return f.limits.Pages > 0 && f.spent.Pages+f.heldPages >= f.limits.Pages
}

// sitePagesSpent reports the same for a site.
func (f *Frontier) sitePagesSpent(s *site) bool {
	most := f.most(s).Pages
	return most > 0 && s.spent().Pages+s.work().heldPages >= most
}

// shut reports whether s may get no more requests for pages, only for entries that are
// AfterPages.
func (f *Frontier) shut(s *site) bool {
	return f.opts.Requisites && (f.closed || f.sitePagesSpent(s))
}

// turnover queues all sites anew when the limit of pages is reached, or pages are allowed
// again.
// It requires that mu is held.
func (f *Frontier) turnover() {
	closed := f.opts.Requisites && f.pagesSpent()
	if closed == f.closed {
		return
	}
	f.closed = closed
	for _, h := range []*siteHeap{&f.unlooked, &f.waiting, &f.ready, &f.unsureReady} { // emptied at once: removing sites one by one takes much longer
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

// shows reports whether s has, or may have, an entry that may be requested while it is
// shut, and when that entry is due.
func (s *site) shows() (due time.Time, ok bool) {
	if s.firstAhead(true) >= 0 || s.toLook() {
		return time.Time{}, true
	}
	known := s.work().shown
	return known.first, known.looked && !known.first.IsZero()
}

// mayShow reports whether the backlog may have a requisite that need not wait.
func (s *site) mayShow() bool { return !s.work().shown.looked && s.more && s.head == RequisiteRank }

// toLook reports whether the backlog must be searched to find out whether s has an entry
// that may be requested while it is shut.
func (s *site) toLook() bool {
	w := s.work()
	return s.firstAhead(true) < 0 && !w.shown.looked && (s.mayShow() || !w.kept.IsZero())
}

// unseen marks a site whose backlog must be searched as out and returns it, or nil if there
// is none, or if no turn could be handed out now. It requires that mu is held.
func (f *Frontier) unseen() *site {
	if full, _ := f.full(); full || f.err != nil || len(f.unlooked.sites) == 0 {
		return nil
	}
	s := f.unlooked.sites[0]
	f.take(s)
	f.begun(&f.closing)
	return s
}

// look searches the backlog of a site that unseen has returned, and frees the site.
func (f *Frontier) look(s *site) {
	f.readShown(s) // its error ends the frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitEnds(s) // Done leaves them to the goroutine that has the site
	f.closing--
	f.free(s)
	f.kickLocked()
}

// firstAhead returns the index in ahead of the first entry that may be requested, or -1 if
// there is none. shut says that pages are not permitted.
func (s *site) firstAhead(shut bool) int {
	return slices.IndexFunc(s.work().ahead, func(e Entry) bool { return !shut || e.AfterPages() })
}

// readShown reads entries that are AfterPages from the backlog, of a site that is out.
// Entries that wait are left there while others may come first.
func (f *Frontier) readShown(s *site) error {
	now := f.now()
	f.mu.Lock()
	waiting, w := now, s.atWork()
	if s.resting() && s.mayShow() {
		waiting = time.Time{}
	} else if w.shown.looked && !w.shown.first.After(now) && w.shown.kept.After(now) {
		waiting = w.shown.kept
	}
	// Set before the read: a growth during it resets it.
	w.shown = shown{looked: true}
	var room [maxAhead]Entry
	buf := f.room(room[:])
	f.mu.Unlock()
	n, first, err := f.backlog.ReadRequisites(s.name, waiting, buf)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += n
	w.ahead = append(w.ahead, buf[:n]...)
	w.shown.looked = w.shown.looked && n < len(buf)
	w.shown.first, w.shown.kept = f.meetEntry(first, now), first
	if err != nil {
		f.fail(err)
	}
	return err
}
