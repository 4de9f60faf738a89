package frontier

import (
	"cmp"
	"container/heap"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Backlog that lives as long as the process: for crawls without a
// directory, and as the plain model that other backlogs are tested against. The
// zero value is empty.
type Memory struct {
	// mu guards all that follows: what one Submit changes is read whole or not at
	// all. Nothing is waited for with it held.
	mu      sync.Mutex
	sites   map[Site]*memorySite // every site that was ever named; none is dropped
	seen    map[string]bool      // keys of all URLs that were ever submitted
	common  map[string]time.Time // due times by name; Submit only moves them on
	growths Growths
}

type memorySite struct {
	state   SiteState
	lastID  uint64
	ready   entryHeap
	waiting entryHeap
	out     map[uint64]Entry // read, not ended
}

// NewMemory returns an empty backlog.
func NewMemory() *Memory {
	return &Memory{}
}

// Sites implements Backlog.
func (m *Memory) Sites(f func(SiteState) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites {
		if err := f(s.summary()); err != nil {
			return err
		}
	}
	return nil
}

// Common implements Backlog.
func (m *Memory) Common(f func(CommonClock) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, due := range m.common {
		if err := f(CommonClock{name, due}); err != nil {
			return err
		}
	}
	return nil
}

// State implements Backlog.
func (m *Memory) State(site Site) (SiteState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sites[site]; s != nil {
		return s.summary(), nil
	}
	return SiteState{Site: site}, nil
}

// Read implements Backlog.
func (m *Memory) Read(site Site, now time.Time, entries []Entry) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil {
		return 0, nil
	}
	n := 0
	for n < len(entries) {
		from := &s.ready
		if len(s.waiting) > 0 && !s.waiting[0].Due.After(now) {
			from = &s.waiting
		}
		if len(*from) == 0 {
			break
		}
		e := heap.Pop(from).(Entry)
		s.out[e.ID] = e
		entries[n] = e
		n++
	}
	return n, nil
}

// ReadRequisites implements Backlog.
func (m *Memory) ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil {
		return 0, time.Time{}, nil
	}
	for _, from := range []*entryHeap{&s.waiting, &s.ready} {
		slices.SortFunc(*from, compareEntries) // which leaves it a heap
		*from = slices.DeleteFunc(*from, func(e Entry) bool {
			switch {
			case !e.AfterPages() || e.Due.IsZero() && e.Rank != RequisiteRank:
				return false
			case n < len(entries) && !e.Due.After(now):
				s.out[e.ID] = e
				entries[n] = e
				n++
				return true
			case waiting.IsZero():
				waiting = e.Due
			}
			return false
		})
	}
	return n, waiting, nil
}

// Submit implements Backlog.
func (m *Memory) Submit(c Completion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sites == nil {
		m.sites, m.seen, m.common = map[Site]*memorySite{}, map[string]bool{}, map[string]time.Time{}
	}
	touched := map[*memorySite]bool{}
	if c.Site != "" {
		s := m.site(c.Site)
		touched[s] = true
		s.complete(c)
	}
	for _, clock := range c.Common {
		if clock.Due.After(m.common[clock.Name]) {
			m.common[clock.Name] = clock.Due
		}
	}
	for _, e := range c.Links {
		key := e.Key()
		if m.seen[key] {
			continue
		}
		// What is kept must not keep the other links of its page.
		e.URL, e.Same = e.URL.Clone(), e.Same.Clone()
		m.seen[e.Key()] = true
		s := m.site(e.URL.Site())
		touched[s] = true
		s.lastID++
		e.ID, e.Tries, e.Due = s.lastID, 0, time.Time{}
		s.state.Queued++
		heap.Push(&s.ready, e)
	}
	g := Growth{Settled: 1}
	for s := range touched {
		g.Sites = append(g.Sites, s.summary())
	}
	m.growths.Put(g)
	return nil
}

// Queued are the entries of site that have not ended, those that were read, too.
func (m *Memory) Queued(site Site) iter.Seq2[Entry, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Entry
	if s := m.sites[site]; s != nil {
		all = slices.Concat(s.ready, s.waiting, slices.Collect(maps.Values(s.out)))
		slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	}
	return func(yield func(Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Forget puts back what was read and has not ended, as a restart would.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites {
		for _, e := range s.out {
			if e.Due.IsZero() {
				heap.Push(&s.ready, e)
			} else {
				heap.Push(&s.waiting, e)
			}
		}
		clear(s.out)
	}
}

// Grown implements Backlog.
func (m *Memory) Grown() <-chan Growth { return m.growths.C() }

func (m *Memory) site(name Site) *memorySite {
	s := m.sites[name]
	if s == nil {
		s = &memorySite{state: SiteState{Site: name}, out: map[uint64]Entry{}}
		m.sites[name] = s
	}
	return s
}

func (s *memorySite) complete(c Completion) {
	s.state.Clocks, s.state.Spent, s.state.Fate = c.Clocks, c.Spent, c.Given
	e, ok := s.out[c.Entry.ID]
	if !ok || c.Fate.Code == Undecided {
		return
	}
	delete(s.out, e.ID)
	if c.Fate.Waits() {
		e.Tries, e.ByGet, e.Visits, e.Due = c.Entry.Tries, c.Entry.ByGet, c.Entry.Visits, c.Fate.Until
		heap.Push(&s.waiting, e)
		return
	}
	s.state.Queued--
}

func (s *memorySite) summary() SiteState {
	st := s.state
	st.Known = int(s.lastID)
	if len(s.ready) > 0 {
		st.Ready, st.Head = true, s.ready[0].Rank
	}
	if len(s.waiting) > 0 {
		st.Waiting = s.waiting[0].Due
	}
	return st
}

type entryHeap []Entry

func (h entryHeap) Len() int      { return len(h) }
func (h entryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)   { *h = append(*h, x.(Entry)) }

func (h entryHeap) Less(i, j int) bool { return compareEntries(h[i], h[j]) < 0 }

func compareEntries(a, b Entry) int {
	if !a.Due.Equal(b.Due) {
		return a.Due.Compare(b.Due)
	}
	if p, q := a.Rank, b.Rank; p != q && a.Due.IsZero() {
		return cmp.Compare(p, q)
	}
	return cmp.Compare(a.ID, b.ID)
}

func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = Entry{}
	*h = (*h)[:last]
	return e
}
