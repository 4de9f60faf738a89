package frontier

import (
	"container/heap"
	"slices"
	"time"
)

// A place says where a site is: in which queue, or in none. A site is in exactly one place at a
// time.
type place uint8

const (
	placeIdle    place = iota // has no entry to request
	placeWaiting              // not due yet, and in a queue ordered by due time
	placeReady                // due, and in a queue ordered by rank
	placeParked               // waits until a turn ends that uses an address, domain or site that this site needs
	// The site gets no more pages (see shut), and the backlog must be searched for requisites.
	placeUnsearched
	placeOut // a turn has the site, or, for a short time, a search of the backlog or a call of Done
)

// site is the state of one Site in memory. It is kept small, because millions of sites may wait
// in the queue for their first turn.
type site struct {
	name   Site
	past   *past       // clocks and history of the site, newer than in the backlog; nil: the site had no request
	doing  *work       // state of a busy site; nil for most sites. Read it with work, change it with atWork
	limits *SiteLimits // limits of this site; nil if unknown, or without Options.Site. Only the method limit writes it
	spot               // the queue in which it is
	stock              // the state of its entries in the backlog
}

// A spot is the position of a site in the queues. While the site is in a queue, index is its index
// in the heap of this queue, and due is the result of dueAt at the time when it was queued.
type spot struct {
	due   time.Time
	index int32
	need  uint16 // share of a turn that the site needs (see site.needs); only reserve.count writes it
	place place
	// page says that the site is out, and that the entry of its turn may become a page that counts
	// for the limits: see motion.pages.
	page bool
}

// A stock describes the entries of a site in the backlog: the last report of the backlog (see
// Growth), less the entries that were read since. Only learn and readAhead write a stock. For
// entries that wait for their Due, see work.
type stock struct {
	more   bool  // the backlog may have entries to read that have no Due
	head   uint8 // rank of the first entry without a Due
	queued int32 // entries that have not ended, except those to fetch again (work.again); limited by narrow
}

// left returns the number of entries of s that have not ended.
func (s *site) left() int { return int(s.queued) + s.work().again }

// waitsBy returns the reason why the entries of a site wait: AgainClock if the entry that is due
// first waits to be fetched again, or else RetryClock. The parameter first is the earliest Due of
// all waiting entries. The parameter again is the earliest Due of the entries to fetch again, or
// zero if there are none.
func waitsBy(first, again time.Time) Clock {
	if again.IsZero() || again.After(first) {
		return RetryClock
	}
	return AgainClock
}

// queues holds the sites that have an entry to request and are neither out nor parked. Each site
// is in one heap; its place and index say where. Only queue, unqueue, turnover and pick move sites
// between the heaps.
type queues struct {
	unsearched siteHeap  // sites with placeUnsearched
	waiting    siteHeap  // sites with placeWaiting, ordered by due time
	ready      siteHeap  // quick sites with placeReady, ordered by rank
	last       *site     // the site with the latest due time that came into waiting; it may have left since: see lastWaits
	lastDue    time.Time // every site in waiting is due at this time or earlier

	unsureReady siteHeap // sites with placeReady that are not quick, ordered by rank
}

func newQueues() queues {
	return queues{
		unsearched: siteHeap{before: anyFirst}, waiting: siteHeap{before: dueFirst},
		ready: siteHeap{before: headFirst}, unsureReady: siteHeap{before: headFirst},
	}
}

// readyOf returns the heap for s when s is ready. This heap stays the same while s is in it,
// because a site becomes quick or slow only while it is out.
func (q *queues) readyOf(s *site) *siteHeap {
	if s.quick() {
		return &q.ready
	}
	return &q.unsureReady
}

// head returns the first of all sites that are ready, or nil if no site is ready.
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

// fewRipe is how many due sites ripen moves one by one. If more are due, ripen may use ripenAll.
const fewRipe = 64

// ripen moves the sites that have become due from waiting to ready or unsureReady. If more
// than an eighth of the waiting sites are due, as after a start, ripenAll moves the rest.
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

// ripenAll has the same result as ripen, and looks once at each waiting site.
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

// first returns the site that is due first, or nil if no site is queued.
func (q *queues) first() *site {
	if len(q.unsearched.sites) > 0 {
		return q.unsearched.sites[0]
	}
	if s := q.head(); s != nil || len(q.waiting.sites) == 0 {
		return s
	}
	return q.waiting.sites[0]
}

// dueAt returns when s is due, and the clock that sets this time.
func (f *Frontier) dueAt(s *site) (time.Time, Clock) {
	due, by := s.ownDue()
	later := func(t time.Time, c Clock) {
		if t.After(due) {
			due, by = t, c
		}
	}
	w := s.work()
	if f.shut(s) {
		first, _ := s.dueRequisite()
		later(first, waitsBy(w.requisites.kept, w.revisit))
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

// by returns the clock that s waits for. The site must be in a queue.
func (f *Frontier) by(s *site) Clock {
	if s.place == placeUnsearched {
		return NoClock
	}
	_, by := f.dueAt(s)
	return by
}

// askable reports whether s has an entry that may be requested in this run.
func (f *Frontier) askable(s *site) bool {
	if s.given() || f.isExcluded(s.name) || f.overBudget(s) || !f.has(s.name) {
		return false
	}
	if f.shut(s) {
		_, ok := s.dueRequisite()
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

// overBudget reports whether s has used up its budget, so that it gets no more requests. With
// Options.Requisites the limit of pages does not count here, because the site still gets
// requests for requisites: see shut.
func (f *Frontier) overBudget(s *site) bool {
	most, spent := f.most(s), s.spent()
	return !f.opts.Requisites && f.sitePagesSpent(s) ||
		most.Bytes > 0 && spent.Bytes >= most.Bytes ||
		most.Time > 0 && spent.Time >= most.Time
}

// queue puts s into the queue for its current state, or into no queue if s has no entry to
// request. If s is out or parked, queue does nothing. It requires that f.mu is held.
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
	if f.shut(s) && s.mustSearch() {
		f.count(s, 0)
		s.due, s.place = time.Time{}, placeUnsearched
		heap.Push(&f.unsearched, s)
		return
	}
	s.due, _ = f.dueAt(s)
	f.count(s, s.needs())
	s.place = placeWaiting
	heap.Push(&f.waiting, s)
	f.noteLast(s)
}

// unqueue removes s from its queue.
func (f *Frontier) unqueue(s *site) {
	switch s.place {
	case placeUnsearched:
		heap.Remove(&f.unsearched, int(s.index))
	case placeWaiting:
		heap.Remove(&f.waiting, int(s.index))
	case placeReady:
		heap.Remove(f.readyOf(s), int(s.index))
	}
	s.place = placeIdle
}

// want records that a request of s also needs a turn of the site o, because the robots.txt of s
// redirects to o. A nil o means that s needs no other site.
func (s *site) want(o *site) {
	old := s.work().wants
	if old == o {
		return
	}
	s.atWork().wants = o
	if o != nil {
		o.atWork().wantedBy++
	}
	if old != nil {
		if old.atWork().wantedBy--; old.place != placeOut {
			old.rest()
		}
	}
}

// take removes s from its queue and sets its place to placeOut.
func (f *Frontier) take(s *site) {
	f.unqueue(s)
	s.place = placeOut
}

// unpark queues s. It does nothing if s is no longer parked, because a Hop has taken it.
func (f *Frontier) unpark(s *site) {
	if s.place == placeParked {
		s.place = placeIdle
		f.queue(s)
	}
}

// next returns the index in s.work().ahead of the entry of s to request next, or -1 if ahead has
// no such entry. If shut is true, only entries with AfterPages are permitted. While s has strikes
// (failures of the whole site), entries that have not failed come first. So one URL that always
// gets 503 does not delay the others.
func (s *site) next(shut bool) int {
	if s.resting() {
		if i := slices.IndexFunc(s.work().ahead, func(e Entry) bool { return e.Tries == 0 && (!shut || e.Requisite()) }); i >= 0 {
			return i
		}
		if shut && s.mayHaveRequisite() || !shut && s.more {
			return -1
		}
	}
	return s.firstAhead(shut)
}

// rank returns the rank of the entry of s to request next.
func (s *site) rank() uint8 {
	if ahead := s.work().ahead; len(ahead) > 0 {
		return ahead[0].Rank
	}
	return s.head
}

func anyFirst(*site, *site) bool { return false }

func dueFirst(a, b *site) bool { return a.due.Before(b.due) }

// headFirst reports whether a comes before b, if both are due. Sites that also need a turn of
// another site come first, because the other site might otherwise be out at every pick. All other
// sites are ordered by the rank of their next entry. If the ranks are equal, promising sites (see
// site.promising) come first, so that they soon become quick. Then the earlier due time decides.
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

// A siteHeap implements heap.Interface for sites.
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
