package postgres

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
)

// commitGroup commits all operations in the queue. After an error no more commits are possible.
func (db *node) commitGroup(last bool) error {
	q := &db.queue
	q.began.Store(int64(time.Since(base)))
	defer func() {
		q.began.Store(0)
		db.session.wake()
	}()
	ops := q.take(last)
	g := &group{db: db, ops: ops}
	db.changing.Lock()
	err := g.commit()
	db.changing.Unlock()
	if db.opts.Fault != nil {
		err = db.opts.Fault(err)
	}
	if err != nil {
		q.fail(err, true)
		return err
	}
	q.done(ops)
	for _, name := range db.finished {
		delete(db.marks, name)
	}
	db.finished = nil
	if len(g.moment.Full) == 0 {
		return nil
	}
	if err := db.outputs.Finish(g.moment.Full); err != nil {
		q.fail(err, false)
		return err
	}
	db.finished = g.moment.Full
	return nil
}

// A group is the operations of one transaction.
type group struct {
	db      *node
	ops     []op
	moment  state.Moment
	links   []link
	ends    []end
	sites   map[frontier.Site]*frontier.Completion // for each site, its last completion in the group
	mine    []int32                                // numbers of the partitions that this node has, including those that it is giving back
	come    []come
	learned []siteID // sites that were read into memory; their news were deleted, so apply reports these sites
	doubt   bool     // an earlier try of this group failed, but may have been committed
}

// A link is an entry to queue if it is new.
type link struct {
	siteID
	key   [16]byte
	n     int64
	entry *frontier.Entry
}

// An end is the result of an entry: it has ended, or is queued again.
type end struct {
	siteID
	key   [16]byte
	n     uint64
	was   outEntry
	to    kind // if due is set: the kind with which the entry is queued again
	due   *time.Time
	local time.Time
	entry *frontier.Entry
	fate  *frontier.Fate
}

// A come says how many new entries of a site were queued, with their lowest rank and lowest
// number.
type come struct {
	siteID
	k     int
	head  int16
	first int64
}

func (g *group) commit() (err error) {
	db := g.db
	if g.moment, err = db.outputs.Flush(); err != nil {
		return err
	}
	maps.Copy(db.marks, g.moment.Marks)
	if err := g.name(); err != nil {
		return err
	}
	g.collect()
	spent := g.spent()
	tries, changes := 0, int64(0)
	var committed time.Time
	err = db.retry(func() error {
		b := &pgx.Batch{}
		db.fenceCommit(b, spent, &changes)
		g.addLinks(b)
		g.addCommon(b)
		g.addEnds(b)
		g.addSites(b)
		g.addOthers(b)
		db.putMarks(b, db.marks, db.finished)
		// The time of a commit is always later than that of the last one, even if the clock was
		// set back.
		b.Queue("update home set committed = greatest(clock_timestamp(), committed + interval '1 us') where name = $1 returning committed", db.name).
			QueryRow(func(r pgx.Row) error { return r.Scan(&committed) })
		if tries++; tries > 1 {
			g.doubt = true
		}
		return db.send(b)
	})
	if err != nil {
		return err
	}
	db.session.seq.Add(1)
	db.credit.spent.Store(&spent)
	db.session.changed(changes)
	if err := db.acknowledge(committed, db.marks, true); err != nil {
		return err
	}
	for i := range g.links {
		db.known.add(g.links[i].key)
	}
	return g.apply()
}

// name finds the numbers of the group's sites in the table site, and adds new sites to it.
func (g *group) name() error {
	db := g.db
	var names []string
	var unread []siteID
	seen := map[frontier.Site]bool{}
	want := func(s frontier.Site) {
		if s == "" || seen[s] {
			return
		}
		seen[s] = true
		db.mu.Lock()
		defer db.mu.Unlock()
		id, ok := db.ids[s]
		switch {
		case !ok:
			names = append(names, string(s))
		case db.had[id.part] != nil && db.sites[s] == nil:
			unread = append(unread, id)
		}
	}
	for _, o := range g.ops {
		if c := o.completion; c != nil {
			want(c.Site)
			for i := range c.Links {
				want(c.Links[i].URL.Site())
			}
		}
	}
	more, err := db.nameSites(names)
	if err != nil {
		return err
	}
	g.learned = append(unread, more...)
	return db.learn(g.learned)
}

// nameSites puts the numbers of the named sites into db.ids. It adds new sites to the table site,
// in a transaction of its own: an insert waits for each transaction that updates the row it meets.
// nameSites returns the sites that belong to this node.
func (db *node) nameSites(names []string) (mine []siteID, err error) {
	for names := range slices.Chunk(names, 5000) {
		slices.Sort(names)
		var parts []int32
		var ids []int64
		for _, name := range names {
			parts, ids = append(parts, int32(partOf(frontier.Site(name), db.parts))), append(ids, db.numbers.next(db.num))
		}
		err := db.retry(func() error {
			return db.change(func(b *pgx.Batch) {
				b.Queue(`insert into site (part, id, name) select part, id, name from unnest($1::int[], $2::bigint[], $3::text[]) u(part, id, name)
				where not exists (select 1 from site s where s.part = u.part and s.name = u.name) order by part, name on conflict do nothing`, parts, ids, names)
			})
		})
		if err != nil {
			return nil, err
		}
		found := map[frontier.Site]siteID{}
		err = db.retry(func() error {
			rows, err := db.pool.Query(db.ctx, `select s.part, s.id, s.name from site s
				join (select * from unnest($1::int[], $2::text[])) u(part, name) on s.part = u.part and s.name = u.name`, parts, names)
			if err != nil {
				return err
			}
			var id siteID
			var name string
			_, err = pgx.ForEachRow(rows, []any{&id.part, &id.id, &name}, func() error {
				found[frontier.Site(name)] = id
				return nil
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		db.mu.Lock()
		if len(db.ids) > maxIDs {
			clear(db.ids)
			for name, s := range db.sites {
				db.ids[name] = s.siteID
			}
		}
		maps.Copy(db.ids, found)
		for _, id := range found {
			if db.had[id.part] != nil {
				mine = append(mine, id)
			}
		}
		db.mu.Unlock()
	}
	return mine, nil
}

// maxIDs is the largest number of sites of other nodes whose numbers are kept in memory.
const maxIDs = 1 << 20

// collect fills the fields of g from the operations of the group.
func (g *group) collect() {
	db := g.db
	db.mu.Lock()
	defer db.mu.Unlock()
	g.sites = map[frontier.Site]*frontier.Completion{}
	known := map[[16]byte]bool{}
	for _, o := range g.ops {
		c := o.completion
		if c == nil {
			continue
		}
		for i := range c.Links {
			e := &c.Links[i]
			key := db.hash(e.Key())
			if known[key] || db.known.has(key) {
				continue
			}
			known[key] = true
			g.links = append(g.links, link{db.ids[e.URL.Site()], key, db.numbers.next(db.num), e})
		}
		s := db.sites[c.Site]
		if c.Site == "" {
			continue
		}
		g.sites[c.Site] = c
		if s == nil || c.Entry.ID == 0 || c.Fate.Code == frontier.Undecided {
			continue
		}
		was, ok := s.out[c.Entry.ID]
		if !ok {
			continue
		}
		e := end{siteID: s.siteID, key: db.hash(c.Entry.Key()), n: c.Entry.ID, was: was, entry: &c.Entry, fate: &c.Fate}
		if c.Fate.Waits() {
			e.to, e.local = retry, c.Fate.Until
			if c.Entry.Visits != nil && c.Entry.Tries == 0 {
				e.to = again
			}
			e.due = db.clock.remoteOrNil(c.Fate.Until)
		}
		g.ends = append(g.ends, e)
	}
	g.mine = []int32{} // not nil: nil becomes null, and "part <> all(null)" is not true for any part
	for part := range db.had {
		g.mine = append(g.mine, int32(part))
	}
	slices.SortFunc(g.links, func(a, b link) int {
		if c := bySite(a.siteID, b.siteID); c != 0 {
			return c
		}
		return slices.Compare(a.key[:], b.key[:])
	})
	slices.SortFunc(g.ends, func(a, b end) int {
		if c := bySite(a.siteID, b.siteID); c != 0 {
			return c
		}
		return slices.Compare(a.key[:], b.key[:])
	})
}

func (g *group) addLinks(b *pgx.Batch) {
	if len(g.links) == 0 {
		return
	}
	var parts, depths []int32
	var sites, ns []int64
	var keys [][16]byte
	var ranks, flags []int16
	var urls []string
	var vias, hops, tags, same []*string
	for i := range g.links {
		l := &g.links[i]
		e := l.entry
		parts, sites, keys, ns = append(parts, int32(l.part)), append(sites, l.id), append(keys, l.key), append(ns, l.n)
		ranks, depths, flags, urls = append(ranks, int16(e.Rank)), append(depths, int32(e.Depth)), append(flags, flagsOf(e)), append(urls, e.URL.String())
		vias, hops, tags = append(vias, column(e.Via)), append(hops, column(e.Hops)), append(tags, column(e.Tag))
		var as *string
		if !e.Same.IsZero() && e.Same.Site() == e.URL.Site() {
			as = column(e.Same.String())
		}
		same = append(same, as)
	}
	g.come = nil
	b.Queue(`with ins as (
			insert into entry (part, site, key, n, rank, depth, flags, url, via, hops, tag, same)
			select * from unnest($1::int[], $2::bigint[], $3::uuid[], $4::bigint[], $5::smallint[], $6::int[], $7::smallint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
				u(part, site, key, n, rank, depth, flags, url, via, hops, tag, same)
			order by part, site, key on conflict do nothing returning part, site, key, n, rank),
		q as (insert into queue (part, site, kind, rank, n, key) select part, site, 0, rank, n, key from ins),
		c as (select part, site, count(*)::int k, min(rank) head, min(n) first from ins group by part, site),
		w as (insert into news (part, id, site, k, head, first) select part, first, site, k, head, first from c where part <> all($13))
		select part, site, k, head, first from c`,
		parts, sites, keys, ns, ranks, depths, flags, urls, vias, hops, tags, same, g.mine).Query(func(rows pgx.Rows) error {
		var c come
		_, err := pgx.ForEachRow(rows, []any{&c.part, &c.id, &c.k, &c.head, &c.first}, func() error {
			g.come = append(g.come, c)
			return nil
		})
		return err
	})
}

func (g *group) addCommon(b *pgx.Batch) {
	due := map[string]time.Time{}
	for _, o := range g.ops {
		if o.completion == nil {
			continue
		}
		for _, c := range o.completion.Common {
			if c.Due.After(due[c.Name]) {
				due[c.Name] = c.Due
			}
		}
	}
	if len(due) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(due))
	var times []time.Time
	for _, name := range names {
		times = append(times, g.db.clock.remote(due[name]))
	}
	b.Queue(`insert into common (name, due) select * from unnest($1::text[], $2::timestamptz[]) u(name, due) order by name
		on conflict (name) do update set due = greatest(common.due, excluded.due)`, names, times)
}

func (g *group) addEnds(b *pgx.Batch) {
	if len(g.ends) == 0 {
		return
	}
	var parts, tries []int32
	var sites, ns []int64
	var keys [][16]byte
	var from, to, ranks, flags, codes, statuses []int16
	var dues []*time.Time
	var fates, visits [][]byte
	var aside []bool
	for i := range g.ends {
		e := &g.ends[i]
		parts, sites, keys, ns = append(parts, int32(e.part)), append(sites, e.id), append(keys, e.key), append(ns, int64(e.n))
		from, to, ranks, dues = append(from, e.was.kind), append(to, e.to), append(ranks, e.was.rank), append(dues, e.due)
		tries, flags = append(tries, int32(e.entry.Tries)), append(flags, flagsOf(e.entry))
		fates, codes, statuses = append(fates, state.EncodeFate(e.fate)), append(codes, int16(e.fate.Code)), append(statuses, int16(e.fate.Status))
		aside = append(aside, e.due == nil && e.fate.Code.Aside())
		var v []byte
		if e.entry.Visits != nil {
			v = state.EncodeVisits(e.entry.Visits)
		}
		visits = append(visits, v)
	}
	b.Queue(`delete from queue q using unnest($1::int[], $2::bigint[], $3::smallint[], $4::smallint[], $5::bigint[]) u(part, site, kind, rank, n)
		where q.part = u.part and q.site = u.site and q.kind = u.kind and q.rank = u.rank and q.n = u.n`, parts, sites, from, ranks, ns)
	if slices.ContainsFunc(dues, func(due *time.Time) bool { return due != nil }) {
		b.Queue(`insert into queue (part, site, kind, rank, n, key, due, tries)
			select part, site, kind, rank, n, key, due, tries
			from unnest($1::int[], $2::bigint[], $3::smallint[], $4::smallint[], $5::bigint[], $6::uuid[], $7::timestamptz[], $8::int[]) u(part, site, kind, rank, n, key, due, tries)
			where due is not null on conflict (part, site, kind, rank, n) do update set due = excluded.due, tries = excluded.tries`, parts, sites, to, ranks, ns, keys, dues, tries)
	}
	b.Queue(`update entry e set fate = u.fate, code = u.code, status = u.status, flags = u.flags, visits = u.visits
		from unnest($1::int[], $2::bigint[], $3::uuid[], $4::bytea[], $5::smallint[], $6::smallint[], $7::smallint[], $8::bytea[]) u(part, site, key, fate, code, status, flags, visits)
		where e.part = u.part and e.site = u.site and e.key = u.key`, parts, sites, keys, fates, codes, statuses, flags, visits)
	if slices.Contains(aside, true) {
		b.Queue(`insert into aside (part, site, key) select part, site, key from unnest($1::int[], $2::bigint[], $3::uuid[], $4::bool[]) u(part, site, key, aside)
			where aside on conflict do nothing`, parts, sites, keys, aside)
	}
}

// addSites adds the statement that stores clocks and costs of sites. It leaves out sites of
// partitions that another node has, because that node writes their rows.
func (g *group) addSites(b *pgx.Batch) {
	db := g.db
	db.mu.Lock()
	defer db.mu.Unlock()
	var parts []int32
	var ids, ended []int64
	var clocksOf, spent, fates [][]byte
	more := map[siteID]int{} // for each site, how many entries end with this group
	for i := range g.ends {
		if e := &g.ends[i]; e.due == nil {
			more[e.siteID]++
		}
	}
	names := slices.SortedFunc(maps.Keys(g.sites), func(a, b frontier.Site) int { return bySite(db.ids[a], db.ids[b]) })
	for _, name := range names {
		c, id := g.sites[name], db.ids[name]
		if db.had[id.part] == nil {
			continue
		}
		stored := clocks(c.Clocks, db.clock.remote)
		var fate []byte
		if c.Given.Code != frontier.Undecided {
			fate = state.EncodeFate(&c.Given)
		}
		total := more[id]
		if s := db.sites[name]; s != nil {
			total += s.ended
		}
		parts, ids, ended = append(parts, int32(id.part)), append(ids, id.id), append(ended, int64(total))
		clocksOf, spent, fates = append(clocksOf, state.EncodeClocks(&stored)), append(spent, state.EncodeSpent(c.Spent)), append(fates, fate)
	}
	if len(parts) == 0 {
		return
	}
	b.Queue(`update site s set clocks = u.clocks, spent = u.spent, fate = u.fate, ended = u.ended
		from unnest($1::int[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[]) u(part, id, clocks, spent, fate, ended)
		where s.part = u.part and s.id = u.id`, parts, ids, clocksOf, spent, fates, ended)
}

// apply updates the sites in memory after the commit, and reports them to the frontier.
func (g *group) apply() error {
	db := g.db
	db.reading.Lock()
	defer db.reading.Unlock()
	growth := frontier.Growth{}
	touched := map[siteID]*site{}
	func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		get := func(id siteID) *site {
			s := db.byID[id]
			if s != nil {
				touched[id] = s
			}
			return s
		}
		for name, c := range g.sites {
			if s := get(db.ids[name]); s != nil {
				s.clocks, s.spent, s.fate = c.Clocks, c.Spent, c.Given
			}
		}
		for i := range g.ends {
			e := &g.ends[i]
			s := get(e.siteID)
			if s == nil {
				continue
			}
			delete(s.out, e.n)
			s.queued[e.was.kind]--
			if e.due != nil {
				s.queued[e.to]++
				s.waits(e.to, e.local)
			} else {
				s.ended++
			}
		}
		for _, id := range g.learned {
			get(id)
		}
		if g.doubt { // the answer to the first try is lost; it may have said that links were new
			for i := range g.links {
				get(g.links[i].siteID)
			}
		}
		for _, c := range g.come {
			if s := get(c.siteID); s != nil {
				s.came(c.k, c.head, c.first)
			}
		}
	}()
	if err := g.applyOthers(touched); err != nil {
		return err
	}
	if g.doubt { // the answer of the commit does not say which links were new
		if err := db.learn(slices.Collect(maps.Keys(touched))); err != nil {
			return err
		}
	}
	db.mu.Lock()
	for _, o := range g.ops {
		if o.completion != nil {
			growth.Settled++
		}
	}
	for _, s := range touched {
		growth.Sites = append(growth.Sites, db.state(s))
	}
	db.mu.Unlock()
	db.tell(growth)
	return nil
}

// numbers makes the numbers of entries and sites. They increase in one process, and no other node
// makes the same ones.
type numbers struct{ last atomic.Int64 }

// maxNodes is the largest number of nodes that can have a session at the same time.
const maxNodes = 1 << 10

func (n *numbers) next(node int64) int64 {
	for {
		last := n.last.Load()
		now := max(time.Now().UnixMicro(), last+1)
		if n.last.CompareAndSwap(last, now) {
			return now*maxNodes + node
		}
	}
}

// knownKeys remembers keys that are surely in the table entry, so that most links of a page need
// not be sent to the database. Each key belongs to one set of few places. A new key takes the place
// of the one in its set that was needed the longest time ago.
type knownKeys struct {
	mu   sync.Mutex
	sets [][knownInSet][16]byte // in each set, the key that was needed last is the first
	salt uint64
}

const (
	knownInSet = 4
	knownSets  = 1 << 18 // with 64 bytes each
)

func (k *knownKeys) init() { k.sets, k.salt = make([][knownInSet][16]byte, knownSets), rand.Uint64() }

// need makes key the first one of its set, and reports whether the set had it. A key that it had not
// is added only if add is set.
func (k *knownKeys) need(key [16]byte, add bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16
	set := k.sets[(at^k.salt)%knownSets][:]
	i := slices.Index(set, key)
	if i < 0 && !add {
		return false
	}
	known := i >= 0
	if !known {
		i = knownInSet - 1
	}
	copy(set[1:i+1], set[:i])
	set[0] = key
	return known
}

func (k *knownKeys) has(key [16]byte) bool { return k.need(key, false) }

func (k *knownKeys) add(key [16]byte) { k.need(key, true) }
