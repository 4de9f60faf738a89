package frontier

import (
	"container/heap"
	"slices"
	"time"
)

// place is where a site is: at any moment in exactly one.
type place uint8

const (
	placeIdle     place = iota // has nothing to be asked
	placeWaiting               // in the queue, by due time
	placeReady                 // is due: in the queue by rank
	placeParked                // waits for another's release: of an address or a site
	placeUnlooked              // shut, and the backlog is to be looked into
	placeOut                   // a Turn has it
)

// site is what the frontier holds in memory of one Site: the politeness, and a
// few entries read ahead.
type site struct {
	name Site
	past *past // nil: it was never asked. Newer than what the backlog knows

	limits   *SiteLimits   // nil until they are known, or where no site has any; limit alone writes it
	page     bool          // it is out for what may be a page that counts: see motion.pages
	slowed   time.Duration // its least pause by Slow; 0: none
	excluded string        // why nothing more is asked of it; empty: it is

	stock // what the backlog has
	shown shown

	ahead []Entry // read and not handed out, next first; but see next

	heldPages int       // see holding
	ends      []heldEnd // Done was called while the site was out: who has it submits them

	asked uint64    // the entry that was handed out last, and
	first time.Time // when it was the first time of those in a row

	parts   [kinds]part // of the address it was last bound to, its domain, its host
	machine refused     // by another process
	wants   *site       // its robots.txt redirects there; set by want alone
	suitors int         // sites that want this one
	wanted  []*site     // parked until this site is released

	spot // where it is
}

// A spot is where a site is. While it waits or is ready index is where in that queue,
// and due and by are what dueAt said when it was put there.
type spot struct {
	place place
	index int
	due   time.Time
	by    Clock
}

// A stock is what the backlog has of a site, as it said last. learn writes it, and
// readAhead, which takes from it.
type stock struct {
	queued  int       // entries that have not ended, but for again
	again   int       // that are to be fetched again
	more    bool      // it may have entries to read that need not wait
	head    uint8     // rank of the first of them
	retry   time.Time // when the first of its waiting entries is due
	kept    time.Time // the same, as the backlog has it
	revisit time.Time // when the first is due that is to be fetched again, as the backlog has it
}

// left is how many entries have not ended.
func (s *stock) left() int { return s.queued + s.again }

// waitsBy is the clock of entries that wait until first, by what a backlog says; again is
// when the first is due that is to be fetched again, zero if none is.
func waitsBy(first, again time.Time) Clock {
	if again.IsZero() || again.After(first) {
		return RetryClock
	}
	return AgainClock
}

// queues are the sites with something to be asked that nobody has: each is in
// one of the heaps, where its place and index say. queue, unqueue, turnover and pick
// alone move them.
type queues struct {
	unlooked siteHeap  // placeUnlooked
	waiting  siteHeap  // placeWaiting, by due time
	ready    siteHeap  // placeReady: due, by rank
	last     *site     // the one in waiting that is due last, unless it has left since
	lastDue  time.Time // no site in waiting is due later
}

// first is the site that is due first; nil if none has anything to be asked.
func (q *queues) first() *site {
	for _, h := range []*siteHeap{&q.unlooked, &q.ready, &q.waiting} {
		if len(h.sites) > 0 {
			return h.sites[0]
		}
	}
	return nil
}

// dueAt computes when s can be asked and what it waits for.
func (f *Frontier) dueAt(s *site) (time.Time, Clock) {
	due, by := s.ownDue()
	later := func(t time.Time, c Clock) {
		if t.After(due) {
			due, by = t, c
		}
	}
	if f.shut(s) {
		first, _ := s.shows()
		later(first, waitsBy(s.shown.kept, s.revisit))
	} else if len(s.ahead) == 0 && !s.more {
		later(s.retry, waitsBy(s.kept, s.revisit))
	}
	for i := range f.commons {
		later(s.parts[i].start, f.commons[i].clock)
	}
	later(s.machine.until, MachineClock)
	if s.wants != nil {
		other, _ := s.wants.ownDue()
		later(other, SiteClock)
	}
	return due, by
}

// askable reports whether there is anything to ask s for in this run.
func (f *Frontier) askable(s *site) bool {
	if s.given() || s.excluded != "" || f.overBudget(s) {
		return false
	}
	if f.shut(s) {
		_, ok := s.shows()
		return ok
	}
	return len(s.ahead) > 0 || s.more || !s.retry.IsZero()
}

func (s *Spent) add(t Spent) {
	s.Pages += t.Pages
	s.Bytes += t.Bytes
	s.Time += t.Time
}

// overBudget reports whether s has used up what one site may cost, so that nothing more is
// asked of it. See shut for its pages, where Options.Requisites is set.
func (f *Frontier) overBudget(s *site) bool {
	most, spent := f.most(s), s.spent()
	return !f.opts.Requisites && f.sitePagesSpent(s) ||
		most.Bytes > 0 && spent.Bytes >= most.Bytes ||
		most.Time > 0 && spent.Time >= most.Time
}

// queue puts s where it belongs now. It requires that mu is held.
func (f *Frontier) queue(s *site) {
	if s.place == placeOut || s.place == placeParked {
		return
	}
	f.unqueue(s)
	if !f.askable(s) {
		return
	}
	if f.shut(s) && s.toLook() {
		s.due, s.by, s.place = time.Time{}, NoClock, placeUnlooked
		heap.Push(&f.unlooked, s)
		return
	}
	s.due, s.by = f.dueAt(s)
	s.place = placeWaiting
	heap.Push(&f.waiting, s)
	f.noteLast(s)
}

// unqueue takes s out of the queue that it is in.
func (f *Frontier) unqueue(s *site) {
	switch s.place {
	case placeUnlooked:
		heap.Remove(&f.unlooked, s.index)
	case placeWaiting:
		heap.Remove(&f.waiting, s.index)
	case placeReady:
		heap.Remove(&f.ready, s.index)
	}
	s.place = placeIdle
}

// want notes the site whose right s needs for its next turn; nil: none.
func (s *site) want(o *site) {
	if s.wants != nil {
		s.wants.suitors--
	}
	if s.wants = o; o != nil {
		o.suitors++
	}
}

// take removes s from its queue and marks it as out.
func (f *Frontier) take(s *site) {
	f.unqueue(s)
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

// next is the place in ahead of the entry to be asked for, of a site that may be shut; -1
// where that is still with the backlog. While the site rests again and again, those that did
// not fail yet go first: one URL that is always answered by a 503 must not keep
// the others waiting.
func (s *site) next(shut bool) int {
	if s.resting() {
		if i := slices.IndexFunc(s.ahead, func(e Entry) bool { return e.Tries == 0 && (!shut || e.Requisite()) }); i >= 0 {
			return i
		}
		if shut && s.mayShow() || !shut && s.more {
			return -1
		}
	}
	return s.firstAhead(shut)
}

// rank is that of the entry that s would be asked for.
func (s *site) rank() uint8 {
	if len(s.ahead) > 0 {
		return s.ahead[0].Rank
	}
	return s.head
}

func anyFirst(*site, *site) bool { return false }

func dueFirst(a, b *site) bool { return a.due.Before(b.due) }

// headFirst orders sites that are due: by the rank of what they would be
// asked for, then by due time. A site that waits for another's right goes
// before all: that one would otherwise always be out when it asks.
func headFirst(a, b *site) bool {
	if first := a.wants != nil; first != (b.wants != nil) {
		return first
	}
	if p, q := a.rank(), b.rank(); p != q {
		return p < q
	}
	return a.due.Before(b.due)
}

// A siteHeap is a heap.Interface of sites.
type siteHeap struct {
	sites  []*site
	before func(a, b *site) bool
}

func (h *siteHeap) Len() int           { return len(h.sites) }
func (h *siteHeap) Less(i, j int) bool { return h.before(h.sites[i], h.sites[j]) }

func (h *siteHeap) Swap(i, j int) {
	h.sites[i], h.sites[j] = h.sites[j], h.sites[i]
	h.sites[i].index, h.sites[j].index = i, j
}

func (h *siteHeap) Push(x any) {
	s := x.(*site)
	s.index = len(h.sites)
	h.sites = append(h.sites, s)
}

func (h *siteHeap) Pop() any {
	last := len(h.sites) - 1
	s := h.sites[last]
	h.sites[last] = nil
	h.sites = h.sites[:last]
	return s
}
