package frontier

import (
	"container/heap"
	"net/netip"
	"time"
)

// place is where a site is: at any moment in exactly one.
type place uint8

const (
	placeIdle   place = iota // has nothing to be asked
	placeQueued              // in the queue, by due time
	placeParked              // waits for another's release: of an address or a site
	placeOut                 // a Turn has it
)

// site is what the frontier holds in memory of one Site: the politeness, and a
// few entries read ahead.
type site struct {
	name   Site
	clocks Clocks
	given  Fate
	queued int
	pages  int

	ahead []Entry   // read from the backlog, next first
	more  bool      // the backlog may have entries to read
	retry time.Time // when the first of its waiting entries is due
	rests int       // how often in a row the head made the site ask for rest

	addr   netip.Addr // shared address it was last bound to
	start  time.Time  // promised by that address
	wants  Site       // its robots.txt redirects there
	wanted []*site    // parked until this site is released

	place place
	index int // in the queue
	due   time.Time
	by    Clock
}

// dueAt computes when s can be asked and what it waits for.
func (f *Frontier) dueAt(s *site) (time.Time, Clock) {
	due, by := s.clocks.Due, s.clocks.By
	later := func(t time.Time, c Clock) {
		if t.After(due) {
			due, by = t, c
		}
	}
	if len(s.ahead) == 0 && !s.more {
		later(s.retry, RetryClock)
	}
	later(s.start, IPClock)
	if s.wants != "" {
		later(f.site(s.wants).clocks.Due, SiteClock)
	}
	return due, by
}

// askable reports whether there is anything to ask s for in this run.
func (f *Frontier) askable(s *site) bool {
	if s.given.Code != Undecided || f.spent(s) {
		return false
	}
	return len(s.ahead) > 0 || s.more || !s.retry.IsZero()
}

func (f *Frontier) spent(s *site) bool {
	return f.opts.MaxSitePages > 0 && s.pages >= f.opts.MaxSitePages
}

// queue puts s where it belongs now. It requires that mu is held.
func (f *Frontier) queue(s *site) {
	switch s.place {
	case placeOut, placeParked:
		return
	case placeQueued:
		heap.Remove(&f.queued, s.index)
		s.place = placeIdle
	}
	if !f.askable(s) {
		return
	}
	s.due, s.by = f.dueAt(s)
	s.place = placeQueued
	heap.Push(&f.queued, s)
}

// take removes s from the queue and marks it as out.
func (f *Frontier) take(s *site) {
	if s.place == placeQueued {
		heap.Remove(&f.queued, s.index)
	}
	s.place = placeOut
}

// unpark queues a site that waited for a release, unless it was taken by a hop
// in the meantime.
func (f *Frontier) unpark(s *site) {
	if s.place == placeParked {
		s.place = placeIdle
		f.queue(s)
	}
}

// siteHeap orders sites by due time. A site that waits for another's right
// goes before that one, which would otherwise always be out when it asks.
type siteHeap []*site

func (h siteHeap) Len() int { return len(h) }

func (h siteHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].wants != "" && h[j].wants == ""
}

func (h siteHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *siteHeap) Push(x any) {
	s := x.(*site)
	s.index = len(*h)
	*h = append(*h, s)
}

func (h *siteHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return s
}
