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

// site is what the frontier holds in memory of one Site. While that waits in the
// queue for its first turn it is no more than this: there may be millions.
type site struct {
	name   Site
	past   *past       // nil: it was never asked. Newer than what the backlog knows
	doing  *work       // what is going on with it; nil: nothing. See work and atWork
	limits *SiteLimits // nil until they are known, or where no site has any; limit alone writes it
	spot               // where it is
	stock              // what the backlog has
}

// A spot is where a site is. While it waits or is ready index is where in that queue,
// and due is what dueAt said when it was put there.
type spot struct {
	due   time.Time
	index int32
	need  uint16 // of the turns that are kept back: see reserve. count alone writes it
	place place
	page  bool // it is out for what may be a page that counts: see motion.pages
}

// A stock is what the backlog has of a site, as it said last. learn writes it, and
// readAhead, which takes from it. Of entries that wait see work.
type stock struct {
	more   bool  // it may have entries to read that need not wait
	head   uint8 // rank of the first of them
	queued int32 // entries that have not ended, as narrow has them
}

// left is how many entries have not ended.
func (s *site) left() int { return int(s.queued) + s.work().again }

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
	ready    siteHeap  // placeReady, and quick: due, by rank
	last     *site     // the one in waiting that is due last, unless it has left since
	lastDue  time.Time // no site in waiting is due later

	unsureReady siteHeap // placeReady, and not quick: due, by rank
}

func newQueues() queues {
	return queues{
		unlooked: siteHeap{before: anyFirst}, waiting: siteHeap{before: dueFirst},
		ready: siteHeap{before: headFirst}, unsureReady: siteHeap{before: headFirst},
	}
}

// readyOf is where s is while it is ready. A site becomes quick, or slow, only while it is
// out.
func (q *queues) readyOf(s *site) *siteHeap {
	if s.quick() {
		return &q.ready
	}
	return &q.unsureReady
}

// head is the site that goes first of all that are ready; nil if there is none.
func (q *queues) head() *site {
	switch quick, others := q.ready.sites, q.unsureReady.sites; {
	case len(quick) == 0 && len(others) == 0:
		return nil
	case len(quick) == 0 || len(others) > 0 && headFirst(others[0], quick[0]):
		return others[0]
	default:
		return quick[0]
	}
}

// fewRipe are sites that are moved one by one, however few there are.
const fewRipe = 64

// ripen moves the sites that have become due to those that are ready. Where that is a
// good part of all, as after a start, the rest is moved at once.
func (q *queues) ripen(now time.Time) {
	for n := 0; len(q.waiting.sites) > 0 && !q.waiting.sites[0].due.After(now); n++ {
		if n >= fewRipe && n > len(q.waiting.sites)/8 {
			q.ripenAll(now)
			return
		}
		s := heap.Pop(&q.waiting).(*site)
		s.place = placeReady
		heap.Push(q.readyOf(s), s)
	}
}

// ripenAll is ripen by a look at each site that waits.
func (q *queues) ripenAll(now time.Time) {
	all := q.waiting.sites
	q.waiting.sites = all[:0]
	for _, s := range all {
		if s.due.After(now) {
			q.waiting.Push(s)
		} else {
			s.place = placeReady
			q.readyOf(s).Push(s)
		}
	}
	clear(all[len(q.waiting.sites):])
	heap.Init(&q.waiting)
	heap.Init(&q.ready)
	heap.Init(&q.unsureReady)
}

// first is the site that is due first; nil if none has anything to be asked.
func (q *queues) first() *site {
	if len(q.unlooked.sites) > 0 {
		return q.unlooked.sites[0]
	}
	if s := q.head(); s != nil || len(q.waiting.sites) == 0 {
		return s
	}
	return q.waiting.sites[0]
}

// dueAt computes when s can be asked and what it waits for.
func (f *Frontier) dueAt(s *site) (time.Time, Clock) {
	due, by := s.ownDue()
	later := func(t time.Time, c Clock) {
		if t.After(due) {
			due, by = t, c
		}
	}
	w := s.work()
	if f.shut(s) {
		first, _ := s.shows()
		later(first, waitsBy(w.shown.kept, w.revisit))
	} else if len(w.ahead) == 0 && !s.more {
		later(w.retry, waitsBy(w.kept, w.revisit))
	}
	for i := range f.commons {
		later(w.starts[i], f.commons[i].clock)
	}
	later(w.machine.until, MachineClock)
	if w.wants != nil {
		other, _ := w.wants.ownDue()
		later(other, SiteClock)
	}
	return due, by
}

// by is what s waits for, which is in a queue.
func (f *Frontier) by(s *site) Clock {
	if s.place == placeUnlooked {
		return NoClock
	}
	_, by := f.dueAt(s)
	return by
}

// askable reports whether there is anything to ask s for in this run.
func (f *Frontier) askable(s *site) bool {
	if s.given() || f.exclusion(s.name) != "" || f.overBudget(s) {
		return false
	}
	if f.shut(s) {
		_, ok := s.shows()
		return ok
	}
	w := s.work()
	return len(w.ahead) > 0 || s.more || !w.retry.IsZero()
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
	s.rest()
	if !f.askable(s) {
		f.count(s, 0)
		return
	}
	if f.shut(s) && s.toLook() {
		f.count(s, 0)
		s.due, s.place = time.Time{}, placeUnlooked
		heap.Push(&f.unlooked, s)
		return
	}
	s.due, _ = f.dueAt(s)
	f.count(s, s.needs())
	s.place = placeWaiting
	heap.Push(&f.waiting, s)
	f.noteLast(s)
}

// unqueue takes s out of the queue that it is in.
func (f *Frontier) unqueue(s *site) {
	switch s.place {
	case placeUnlooked:
		heap.Remove(&f.unlooked, int(s.index))
	case placeWaiting:
		heap.Remove(&f.waiting, int(s.index))
	case placeReady:
		heap.Remove(f.readyOf(s), int(s.index))
	}
	s.place = placeIdle
}

// want notes the site whose right s needs for its next turn; nil: none.
func (s *site) want(o *site) {
	old := s.work().wants
	if old == o {
		return
	}
	s.atWork().wants = o
	if o != nil {
		o.atWork().suitors++
	}
	if old != nil {
		if old.atWork().suitors--; old.place != placeOut {
			old.rest()
		}
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
		if i := slices.IndexFunc(s.work().ahead, func(e Entry) bool { return e.Tries == 0 && (!shut || e.Requisite()) }); i >= 0 {
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
	if ahead := s.work().ahead; len(ahead) > 0 {
		return ahead[0].Rank
	}
	return s.head
}

func anyFirst(*site, *site) bool { return false }

func dueFirst(a, b *site) bool { return a.due.Before(b.due) }

// headFirst orders sites that are due: by the rank of what they would be
// asked for, then by due time. A site that waits for another's right goes
// before all: that one would otherwise always be out when it asks. A site that is
// promising goes before those that were never asked, so that it is soon known to be quick.
func headFirst(a, b *site) bool {
	if first := a.work().wants != nil; first != (b.work().wants != nil) {
		return first
	}
	if p, q := a.rank(), b.rank(); p != q {
		return p < q
	}
	if first := a.promising(); first != b.promising() {
		return first
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
	h.sites[i].index, h.sites[j].index = int32(i), int32(j)
}

func (h *siteHeap) Push(x any) {
	s := x.(*site)
	s.index = int32(len(h.sites))
	h.sites = append(h.sites, s)
}

func (h *siteHeap) Pop() any {
	last := len(h.sites) - 1
	s := h.sites[last]
	h.sites[last] = nil
	h.sites = h.sites[:last]
	return s
}
