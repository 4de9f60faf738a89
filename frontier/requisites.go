package frontier

import (
	"slices"
	"time"
)

// Once the pages are spent that a crawl or a site may have, what the last of them are shown
// with is still to be asked for. A site that is shut is asked for nothing else. Whether
// there is such a thing the backlog says, which is looked into without a turn: no clock
// need be waited for to find out that there is nothing. A site without any leaves the queue
// until the backlog tells of something new there, or pages are allowed again.

// shown is what the backlog has of what pages of a site are shown with, as far as that was
// looked for. learn forgets it.
type shown struct {
	looked bool      // all that is ready was read
	first  time.Time // if looked: when the first of those that wait is due; zero if none does
	kept   time.Time // the same, as the backlog has it
}

// pagesSpent reports whether the pages of the whole crawl are spent, those included whose
// Done is still to come.
func (f *Frontier) pagesSpent() bool {
	return f.limits.Pages > 0 && f.spent.Pages+f.heldPages >= f.limits.Pages
}

// sitePagesSpent is the same for a site.
func (f *Frontier) sitePagesSpent(s *site) bool {
	most := f.most(s).Pages
	return most > 0 && s.spent().Pages+s.work().heldPages >= most
}

// shut reports whether s may be asked for no page any more, but for what its pages are
// shown with.
func (f *Frontier) shut(s *site) bool {
	return f.opts.Requisites && (f.closed || f.sitePagesSpent(s))
}

// turnover queues all sites anew when the last page is spent, or pages are allowed again.
// It requires that mu is held.
func (f *Frontier) turnover() {
	closed := f.opts.Requisites && f.pagesSpent()
	if closed == f.closed {
		return
	}
	f.closed = closed
	for _, h := range []*siteHeap{&f.unlooked, &f.waiting, &f.ready, &f.unsureReady} { // emptied at once: to take them out one by one takes much longer
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

// shows reports whether there is something to ask s for that pages are shown with, as far
// as is known, and when it need not wait any more by itself.
func (s *site) shows() (due time.Time, ok bool) {
	if s.firstAhead(true) >= 0 || s.toLook() {
		return time.Time{}, true
	}
	known := s.work().shown
	return known.first, known.looked && !known.first.IsZero()
}

// mayShow reports whether the backlog may have something that pages are shown with and
// that need not wait.
func (s *site) mayShow() bool { return !s.work().shown.looked && s.more && s.head == RequisiteRank }

// toLook reports whether the backlog alone can say that there is something to ask s for
// that pages are shown with.
func (s *site) toLook() bool {
	w := s.work()
	return s.firstAhead(true) < 0 && !w.shown.looked && (s.mayShow() || !w.kept.IsZero())
}

// unseen takes a site whose backlog is to be looked into; nil if there is none, or nothing
// would come of it now. It requires that mu is held.
func (f *Frontier) unseen() *site {
	if full, _ := f.full(); full || f.err != nil || len(f.unlooked.sites) == 0 {
		return nil
	}
	s := f.unlooked.sites[0]
	f.take(s)
	f.begun(&f.closing)
	return s
}

// look looks into the backlog of a site that unseen has taken, and gives it back.
func (f *Frontier) look(s *site) {
	f.readShown(s) // an error of which ends the frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitEnds(s) // Done has left them to whoever has the site
	f.closing--
	f.free(s)
	f.kickLocked()
}

// firstAhead is the place in ahead of the first entry that a site may be asked for, which
// may be shut; -1 if there is none.
func (s *site) firstAhead(shut bool) int {
	return slices.IndexFunc(s.work().ahead, func(e Entry) bool { return !shut || e.AfterPages() })
}

// readShown takes entries that pages are shown with from the backlog, of a site that is out.
// Those that wait are left there as long as others may have to go first.
func (f *Frontier) readShown(s *site) error {
	now := f.now()
	f.mu.Lock()
	waiting, w := now, s.atWork()
	if s.resting() && s.mayShow() {
		waiting = time.Time{}
	} else if w.shown.looked && !w.shown.first.After(now) && w.shown.kept.After(now) {
		waiting = w.shown.kept
	}
	// Set before reading: what grows meanwhile sets it anew.
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
