package frontier

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Memory is a Backlog in memory, for crawls that keep nothing on disk. Tests compare other
// backlogs with it.
type Memory interface {
	Backlog

	// Queued iterates over the entries of site that have not ended, including those that were
	// read and those that wait to be fetched again (Entry.Again).
	Queued(site Site) iter.Seq2[Entry, error]

	// Known reports whether an entry with the key of e (Entry.Key) was ever submitted.
	Known(e *Entry) (bool, error)

	// Forget queues again the entries that were read and have not ended, as a restart does.
	Forget()
}

// memory implements Memory. The zero value is empty.
type memory struct {
	// mu guards the fields below, so that a Read sees either all changes of a Submit or
	// no change. No goroutine waits while it holds mu.
	mu      sync.Mutex
	sites   map[Site]*memorySite // every site that was ever named; no site is removed
	seen    seenSet              // keys of all entries ever submitted
	common  map[string]time.Time // due times of common clocks, by CommonClock.Name; Submit only makes them later
	touched []*memorySite        // the sites that the current Submit has changed so far
	growths Growths
}

type memorySite struct {
	state   SiteState
	lastID  uint64
	ready   entryHeap
	waiting entryHeap
	out     map[uint64]Entry // entries that were read and have not ended, by ID
	touched bool             // the site is in memory.touched
}

// maxTouched is the largest capacity of memory.touched that is kept for the next Submit.
const maxTouched = 1024

// NewMemory returns an empty backlog.
func NewMemory() Memory { return &memory{} }

// Sites implements Backlog. It holds no lock while the body of the loop runs.
func (m *memory) Sites() iter.Seq2[SiteState, error] {
	return func(yield func(SiteState, error) bool) {
		m.mu.Lock()
		all := make([]SiteState, 0, len(m.sites))
		for _, s := range m.sites {
			all = append(all, s.summary())
		}
		m.mu.Unlock()
		for _, st := range all {
			if !yield(st, nil) {
				return
			}
		}
	}
}

// Common implements Backlog. It holds no lock while the body of the loop runs.
func (m *memory) Common() iter.Seq2[CommonClock, error] {
	return func(yield func(CommonClock, error) bool) {
		m.mu.Lock()
		all := maps.Clone(m.common)
		m.mu.Unlock()
		for name, due := range all {
			if !yield(CommonClock{name, due}, nil) {
				return
			}
		}
	}
}

// State implements Backlog.
func (m *memory) State(site Site) (SiteState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sites[site]; s != nil {
		return s.summary(), nil
	}
	return SiteState{Site: site}, nil
}

// Read implements Backlog.
func (m *memory) Read(site Site, now time.Time, entries []Entry) (int, error) {
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
		e := from.pop()
		s.out[e.ID] = e
		entries[n] = e
		n++
	}
	return n, nil
}

// ReadRequisites implements Backlog.
func (m *memory) ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil {
		return 0, time.Time{}, nil
	}
	for _, from := range []*entryHeap{&s.waiting, &s.ready} {
		slices.SortFunc(*from, func(a, b Entry) int { return compareEntries(&a, &b) }) // a sorted slice is a heap, too
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
func (m *memory) Submit(c Completion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sites == nil {
		m.sites, m.common = map[Site]*memorySite{}, map[string]time.Time{}
	}
	if c.Site != "" {
		m.touch(c.Site).complete(c)
	}
	for _, clock := range c.Common {
		if clock.Due.After(m.common[clock.Name]) {
			m.common[clock.Name] = clock.Due
		}
	}
	m.bringForward(c.Changes)
	for links := range slices.Chunk(c.Links, maxLooks) {
		m.queue(links)
	}
	g := Growth{Settled: 1, Sites: make([]SiteState, 0, len(m.touched))}
	for _, s := range m.touched {
		g.Sites = append(g.Sites, s.summary())
		s.touched = false
	}
	if m.touched = m.touched[:0]; cap(m.touched) > maxTouched {
		m.touched = nil
	}
	m.growths.Put(g)
	return nil
}

// queue adds the new ones of links to the queue. links has at most maxLooks entries.
func (m *memory) queue(links []Entry) {
	var room [maxLooks]look
	looks := room[:len(links)]
	for i := range links {
		looks[i].key = links[i].Key()
	}
	m.seen.look(looks)
	for i := range links {
		key, added := m.seen.add(&looks[i])
		if !added {
			continue
		}
		e := links[i]
		e.URL, e.Same = own(e.URL, key), own(e.Same, key)
		s := m.touch(e.URL.Site())
		s.lastID++
		e.ID, e.Tries, e.Due = s.lastID, 0, time.Time{}
		s.count(e, 1)
		s.ready.push(e)
	}
}

// own returns a copy of u for the queue. Without a copy, a queued URL would keep the text of all
// links of its page in memory. If the text of u equals key, the copy shares the memory of key,
// which the set of seen keys keeps in any case.
func own(u URL, key string) URL {
	if u.text == key {
		return URL{key, u.site}
	}
	return u.Clone()
}

// touch returns the site with the given name, and adds the site to m.touched. The caller is about
// to change the site.
func (m *memory) touch(name Site) *memorySite {
	s := m.site(name)
	if !s.touched {
		s.touched = true
		m.touched = append(m.touched, s)
	}
	return s
}

// bringForward gives an earlier Due to entries whose pages have changed. See Changes.Due.
func (m *memory) bringForward(changes *Changes) {
	if changes == nil {
		return
	}
	for name, changed := range changes.bySite() {
		s := m.sites[name]
		if s == nil {
			continue
		}
		moved := false
		for i := range s.waiting {
			e := &s.waiting[i]
			if due, sooner := changes.Due(e, changed[e.Key()]); sooner {
				e.Due, moved = due, true
			}
		}
		if moved {
			m.touch(name)
			slices.SortFunc(s.waiting, func(a, b Entry) int { return compareEntries(&a, &b) }) // a sorted slice is a heap, too
		}
	}
}

// Queued implements Memory.
func (m *memory) Queued(site Site) iter.Seq2[Entry, error] {
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

// Known implements Memory.
func (m *memory) Known(e *Entry) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	looks := []look{{key: e.Key()}}
	m.seen.look(looks)
	return looks[0].known, nil
}

// Forget implements Memory.
func (m *memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites {
		for _, e := range s.out {
			if e.Due.IsZero() {
				s.ready.push(e)
			} else {
				s.waiting.push(e)
			}
		}
		clear(s.out)
	}
}

// Grown implements Backlog.
func (m *memory) Grown() <-chan Growth { return m.growths.C() }

func (m *memory) site(name Site) *memorySite {
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
	s.count(e, -1)
	if c.Fate.Waits() {
		e.Tries, e.ByGet, e.Visits, e.Due = c.Entry.Tries, c.Entry.ByGet, c.Entry.Visits, c.Fate.Until
		s.waiting.push(e)
		s.count(e, 1)
	}
}

// count adds 1 or -1 to the field of the state that counts e: Queued or Again.
func (s *memorySite) count(e Entry, by int) {
	if e.Again() {
		s.state.Again += by
	} else {
		s.state.Queued += by
	}
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
	if st.Again > 0 {
		st.NextAgain = s.waiting.nextAgain(0, time.Time{})
	}
	return st
}

// An entryHeap is a binary heap: the entry at i comes before the entries at 2i+1 and 2i+2.
// It does not use container/heap, because an Entry is large: here it is moved only once for
// each level, and is never put into an interface.
type entryHeap []Entry

// nextAgain returns the earliest Due of the entries to fetch again, among the entry at i and the
// entries below it in the heap. It returns most if no such entry is due before most. A zero most
// means that there is no bound.
func (h entryHeap) nextAgain(i int, most time.Time) time.Time {
	switch {
	case i >= len(h) || !most.IsZero() && !h[i].Due.Before(most):
		return most
	case h[i].Again():
		return h[i].Due
	}
	return h.nextAgain(2*i+2, h.nextAgain(2*i+1, most))
}

func (h *entryHeap) push(e Entry) {
	*h = append(*h, Entry{})
	all := *h
	at := len(all) - 1
	for at > 0 {
		above := (at - 1) / 2
		if compareEntries(&all[above], &e) <= 0 {
			break
		}
		all[at] = all[above]
		at = above
	}
	all[at] = e
}

// pop removes and returns the first entry. The heap must not be empty.
func (h *entryHeap) pop() Entry {
	all := *h
	first, n := all[0], len(all)-1
	for at := 0; ; {
		next := 2*at + 1
		if next+1 < n && compareEntries(&all[next+1], &all[next]) < 0 {
			next++
		}
		if next >= n || compareEntries(&all[n], &all[next]) <= 0 {
			all[at] = all[n]
			break
		}
		all[at] = all[next]
		at = next
	}
	all[n] = Entry{}
	*h = all[:n]
	return first
}

func compareEntries(a, b *Entry) int {
	if !a.Due.Equal(b.Due) {
		return a.Due.Compare(b.Due)
	}
	if p, q := a.Rank, b.Rank; p != q && a.Due.IsZero() {
		return cmp.Compare(p, q)
	}
	return cmp.Compare(a.ID, b.ID)
}
