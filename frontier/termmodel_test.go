package frontier

import (
	"context"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// This file is a model of a backlog that several frontiers share: a database with atomic commits,
// and nodes with one session each. It has the parts of a real one: a lease for each node,
// partitions that a node gives back or loses when it is buried (declared dead), commits in groups,
// and news: links to sites of a node that other nodes have found.

const (
	simLease   = 6 * time.Second
	simLongest = 4 * time.Second // no request takes longer
)

// rules are the duties of the model and the frontiers. If any of them is off, the simulation must
// fail.
type rules struct {
	withdraw bool // a partition is given back only after Withdraw has returned
	flush    bool // a partition is given back only after all submissions are committed
	rest     bool // Term.Rest is set for the sites of a node that was buried
	keep     bool // Term.Rest stays set when a partition is given back, because the rest may not be over
	number   bool // each term has a number of its own
	common   bool // the clocks of domains are reported together with the sites
	again    bool // in a new term, Read returns all entries again
	blocked  bool // Options.Blocked blocks requests while the session is uncertain
	exact    bool // the database decides when the crawl ends, not a node
	open     bool // Limits.Open stays set
}

func allRules() rules { return rules{true, true, true, true, true, true, true, true, true, true} }

// A simDB is the database. A goroutine locks its mutex after that of a node, never before.
type simDB struct {
	mu     sync.Mutex
	parts  []simPart
	sites  map[Site]*simSite
	common map[string]time.Time
	down   time.Time // the database cannot be reached before this time
}

type simPart struct {
	owner *simNode // the node that has the partition; nil: no node has it
	rest  time.Time
	news  []*simRow // new entries that the owner has not read yet
}

type simSite struct {
	name   Site
	clocks Clocks
	spent  Spent
	fate   Fate
	rows   map[string]*simRow // all rows by Entry.Key
}

type simRow struct {
	e     Entry
	ended bool
}

func newSimDB(parts int) *simDB {
	return &simDB{parts: make([]simPart, parts), sites: map[Site]*simSite{}, common: map[string]time.Time{}}
}

func (db *simDB) part(domain string) int {
	h := fnv.New32a()
	h.Write([]byte(domain))
	return int(h.Sum32()) % len(db.parts)
}

func (db *simDB) site(name Site) *simSite {
	s := db.sites[name]
	if s == nil {
		s = &simSite{name: name, rows: map[string]*simRow{}}
		db.sites[name] = s
	}
	return s
}

// insert adds an entry and returns its row, or nil if the database has the entry already.
func (db *simDB) insert(e Entry) *simRow {
	s := db.site(e.URL.Site())
	if s.rows[e.Key()] != nil {
		return nil
	}
	e.ID, e.Tries, e.Due = uint64(len(s.rows)+1), 0, time.Time{}
	row := &simRow{e: e}
	s.rows[e.Key()] = row
	return row
}

// over reports whether no entry is queued and no news is unread.
func (db *simDB) over() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, s := range db.sites {
		for _, row := range s.rows {
			if !row.ended {
				return false
			}
		}
	}
	return time.Now().After(db.down)
}

// A simNode is a process of the crawl. It implements Backlog.
type simNode struct {
	c     *simCluster
	name  int
	f     *Frontier
	ctx   context.Context
	die   context.CancelFunc
	terms []atomic.Uint64 // number of the term of each partition; 0: another node has the partition
	until time.Time       // end of the session, as stored in the database; guarded by simDB.mu
	fate  string          // "buried" after the node was declared dead; guarded by simDB.mu

	mu      sync.Mutex
	sent    time.Time // when the last renewal of the session that was answered was sent
	stalled time.Time // the process stands still until this time
	cache   map[int]map[Site]*memorySite
	rests   []time.Time
	numbers uint64
	queue   []Completion
	taken   []Completion // completions that are being committed
	since   time.Time    // when the current commit began; zero: no commit is under way
	changed chan struct{}
	wake    chan struct{} // has a value if there is something to commit; its capacity is 1
	late    []Growth      // growths that were not reported to growths yet
	growths Growths
}

// wait sleeps for d, and then as long as the process stands still. It reports whether the process
// is alive.
func (n *simNode) wait(d time.Duration) bool {
	time.Sleep(d)
	for {
		n.mu.Lock()
		rest := time.Until(n.stalled)
		n.mu.Unlock()
		if rest <= 0 {
			return n.ctx.Err() == nil
		}
		time.Sleep(rest)
	}
}

// certain reports whether the node knows that its session has not ended.
func (n *simNode) certain() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ctx.Err() == nil && time.Since(n.sent) < simLease*95/100
}

// blocked is used as Options.Blocked of the node.
func (n *simNode) blocked() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.sent) < simLease*95/100 && (n.since.IsZero() || time.Since(n.since) < 300*time.Millisecond) {
		return nil
	}
	return n.changed
}

func (n *simNode) unblock() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// term is used as Options.Term of the node.
func (n *simNode) term(s Site) uint64 { return n.terms[n.c.db.part(s.Domain())].Load() }

// reach waits for the database and returns it locked, or nil if the process has died meanwhile.
func (n *simNode) reach() *simDB {
	db := n.c.db
	for n.wait(time.Duration(1+n.c.intn(10)) * time.Millisecond) {
		n.mu.Lock()
		db.mu.Lock()
		down := time.Until(db.down)
		if down <= 0 {
			return db
		}
		db.mu.Unlock()
		n.mu.Unlock()
		time.Sleep(min(down, time.Second))
	}
	return nil
}

func (n *simNode) unlock() {
	n.c.db.mu.Unlock()
	n.mu.Unlock()
}

// renew renews the session. It also buries nodes whose session has ended, and takes free
// partitions.
func (n *simNode) renew() {
	for n.wait(simLease / 3) {
		sent := time.Now()
		db := n.reach()
		if db == nil {
			return
		}
		if n.fate != "" {
			n.die()
			n.unlock()
			return
		}
		n.until, n.sent = time.Now().Add(simLease), sent
		n.unblock()
		if time.Since(db.down) > simLease*3/2 { // since the failure all nodes have had the time to renew
			for _, other := range n.c.nodes() {
				if other != n && other.until.Before(time.Now()) {
					n.c.bury(other)
				}
			}
		}
		n.unlock()
		n.takeFree()
	}
}

// takeFree takes free partitions, up to a fair share for this node.
func (n *simNode) takeFree() {
	db := n.reach()
	if db == nil {
		return
	}
	defer n.unlock()
	if n.fate != "" {
		return
	}
	have, live := 0, 0
	for _, other := range n.c.nodes() {
		if other.fate == "" {
			live++
		}
	}
	for i := range db.parts {
		if db.parts[i].owner == n {
			have++
		}
	}
	fair := (len(db.parts) + live - 1) / live
	for _, i := range n.c.perm(len(db.parts)) {
		if db.parts[i].owner == nil && have < fair {
			n.take(i)
			have++
		}
	}
}

// takeOne takes partition i if it is free.
func (n *simNode) takeOne(i int) {
	if db := n.reach(); db != nil {
		if n.fate == "" && db.parts[i].owner == nil {
			n.take(i)
		}
		n.unlock()
	}
}

// some returns a random partition of the node, or -1 if it has none.
func (n *simNode) some() int {
	for _, i := range n.c.perm(len(n.terms)) {
		if n.terms[i].Load() != 0 {
			return i
		}
	}
	return -1
}

// put reports a growth after a random delay. The mutex of the node must be held.
func (n *simNode) put(g Growth) { n.late = append(n.late, g) }

// deliver reports growths in their order, after random delays.
func (n *simNode) deliver() {
	for n.wait(time.Duration(1+n.c.intn(60)) * time.Millisecond) {
		n.mu.Lock()
		if len(n.late) > 0 {
			n.growths.Put(n.late[0])
			n.late = n.late[1:]
		}
		n.mu.Unlock()
		if n.c.intn(20) == 0 {
			n.wait(time.Duration(n.c.intn(2000)) * time.Millisecond)
		}
	}
}

// take takes partition i. The mutexes of the node and of the database must be held.
func (n *simNode) take(i int) {
	db, p := n.c.db, &n.c.db.parts[i]
	p.owner, p.news = n, nil
	n.rests[i] = p.rest
	cache, old := map[Site]*memorySite{}, n.cache[i]
	g := Growth{}
	for name, s := range db.sites {
		if db.part(name.Domain()) != i {
			continue
		}
		m := &memorySite{state: SiteState{Site: name, Clocks: s.clocks, Spent: s.spent, Fate: s.fate}, out: map[uint64]Entry{}}
		cache[name] = m
		for _, row := range s.rows {
			if !n.c.rules.again && old[name] != nil && old[name].out[row.e.ID].ID != 0 {
				continue
			}
			m.add(row)
		}
	}
	n.cache[i] = cache
	if n.numbers++; !n.c.rules.number {
		n.numbers = 1
	}
	n.terms[i].Store(n.numbers)
	g.Terms = []uint64{n.numbers}
	for _, name := range slices.Sorted(maps.Keys(cache)) {
		g.Sites = append(g.Sites, n.state(i, cache[name]))
	}
	if n.c.rules.common {
		for name, due := range db.common {
			g.Common = append(g.Common, CommonClock{name, due})
		}
	}
	n.put(g)
}

// add adds the entry of a queued row to the entries that Read returns.
func (m *memorySite) add(row *simRow) {
	if m.lastID = max(m.lastID, row.e.ID); row.ended {
		return
	}
	m.count(row.e, 1)
	if row.e.Due.IsZero() {
		m.ready.push(row.e)
	} else {
		m.waiting.push(row.e)
	}
}

func (n *simNode) state(part int, m *memorySite) SiteState {
	st := m.summary()
	st.Term = &Term{Number: n.terms[part].Load()}
	if n.c.rules.rest {
		st.Term.Rest = n.rests[part]
	}
	return st
}

// giveBack gives partition i back, if the node has it.
func (n *simNode) giveBack(i int) {
	if n.terms[i].Load() == 0 {
		return
	}
	n.terms[i].Store(0)
	in := func(s Site) bool { return n.c.db.part(s.Domain()) == i }
	for left := !n.c.rules.withdraw; !left; { // a slow site of another partition that leaves does not keep this one
		short, stop := context.WithTimeout(n.ctx, 100*time.Millisecond)
		busy, err := n.f.Withdraw(short)
		left = err == nil || short.Err() != nil && !slices.ContainsFunc(busy, in)
		failed := err != nil && short.Err() == nil
		stop()
		if failed || n.ctx.Err() != nil {
			return
		}
	}
	for n.c.rules.flush {
		n.mu.Lock()
		done := !slices.ContainsFunc(slices.Concat(n.taken, n.queue), func(c Completion) bool { return c.Site != "" && in(c.Site) })
		n.mu.Unlock()
		if done {
			break
		}
		if !n.wait(10 * time.Millisecond) {
			return
		}
	}
	db := n.reach()
	if db == nil {
		return
	}
	defer n.unlock()
	if n.fate != "" {
		return
	}
	if db.parts[i].owner = nil; !n.c.rules.keep {
		db.parts[i].rest = time.Time{}
	}
	if n.c.rules.again {
		delete(n.cache, i)
	}
}

// commits runs until the process ends, and commits submissions in groups.
func (n *simNode) commits() {
	for {
		select {
		case <-n.wake:
		case <-n.ctx.Done():
			return
		}
		if !n.wait(time.Duration(n.c.intn(100)) * time.Millisecond) {
			return
		}
		n.mu.Lock()
		group := n.queue
		n.queue, n.taken, n.since = nil, group, time.Now()
		n.mu.Unlock()
		db := n.reach()
		if db == nil {
			return
		}
		if n.fate != "" {
			n.die()
			n.unlock()
			return
		}
		g, touched := Growth{Settled: len(group)}, map[Site]int{}
		for _, c := range group {
			n.commit(db, c, touched)
		}
		for name, i := range touched {
			if m := n.cache[i][name]; m != nil {
				g.Sites = append(g.Sites, n.state(i, m))
			}
		}
		n.taken, n.since = nil, time.Time{}
		n.unblock()
		n.put(g)
		n.unlock()
	}
}

// commit applies a completion to the database, and to the node's copy of it.
func (n *simNode) commit(db *simDB, c Completion, touched map[Site]int) {
	if c.Site != "" {
		i, s := db.part(c.Site.Domain()), db.site(c.Site)
		if db.parts[i].owner != n {
			n.c.fail("node %d has changed %s, which is another one's", n.name, c.Site)
			return
		}
		n.c.web.committed(c)
		s.clocks, s.spent, s.fate = c.Clocks, c.Spent, c.Given
		if c.Fate.Code != Undecided {
			for _, row := range s.rows {
				if row.e.ID != c.Entry.ID {
					continue
				}
				if row.ended {
					n.c.fail("%s has ended twice", row.e.URL)
				}
				row.ended = !c.Fate.Waits()
				row.e.Tries, row.e.Due = c.Entry.Tries, c.Fate.Until
			}
		}
		if m := n.cache[i][c.Site]; m != nil {
			m.complete(c)
		}
		touched[c.Site] = i
	}
	for _, clock := range c.Common {
		if clock.Due.After(db.common[clock.Name]) {
			db.common[clock.Name] = clock.Due
		}
	}
	for _, e := range c.Links {
		row := db.insert(e)
		if row == nil {
			continue
		}
		name := e.URL.Site()
		i := db.part(name.Domain())
		if db.parts[i].owner == n {
			n.told(i, row)
			touched[name] = i
		} else {
			db.parts[i].news = append(db.parts[i].news, row)
		}
	}
}

// told adds a new entry to the node's copy of the database.
func (n *simNode) told(part int, row *simRow) {
	name := row.e.URL.Site()
	if n.cache[part] == nil {
		return
	}
	m := n.cache[part][name]
	if m == nil {
		m = &memorySite{state: SiteState{Site: name}, out: map[uint64]Entry{}}
		n.cache[part][name] = m
	}
	m.add(row)
}

// poll reads the news: new entries for sites of this node that other nodes have found.
func (n *simNode) poll() {
	for n.wait(150 * time.Millisecond) {
		db := n.reach()
		if db == nil {
			return
		}
		var g Growth
		for i := range db.parts {
			if p := &db.parts[i]; p.owner == n && n.fate == "" {
				for _, row := range p.news {
					n.told(i, row)
					g.Sites = append(g.Sites, n.state(i, n.cache[i][row.e.URL.Site()]))
				}
				p.news = nil
			}
		}
		n.put(g)
		n.unlock()
	}
}

// Sites implements Backlog. It yields nothing, because sites are reported in a Growth.
func (n *simNode) Sites() iter.Seq2[SiteState, error] { return func(func(SiteState, error) bool) {} }

// Common implements Backlog.
func (n *simNode) Common() iter.Seq2[CommonClock, error] {
	return func(func(CommonClock, error) bool) {}
}

// State implements Backlog.
func (n *simNode) State(site Site) (SiteState, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.c.db.part(site.Domain())
	m := n.cache[i][site]
	if m == nil {
		m = &memorySite{state: SiteState{Site: site}}
	}
	return n.state(i, m), nil
}

// Read implements Backlog.
func (n *simNode) Read(site Site, now time.Time, entries []Entry) (k int, err error) {
	if n.c.intn(4) == 0 {
		time.Sleep(time.Duration(n.c.intn(10)) * time.Millisecond)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.cache[n.c.db.part(site.Domain())][site]
	if m == nil {
		return 0, nil
	}
	return (&memory{sites: map[Site]*memorySite{site: m}}).Read(site, now, entries)
}

// ReadRequisites implements Backlog.
func (n *simNode) ReadRequisites(Site, time.Time, []Entry) (int, time.Time, error) {
	return 0, time.Time{}, nil
}

// Submit implements Backlog.
func (n *simNode) Submit(c Completion) error {
	c.Links = slices.Clone(c.Links)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, c)
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}

// Grown implements Backlog.
func (n *simNode) Grown() <-chan Growth { return n.growths.C() }
