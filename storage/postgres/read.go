package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// Read implements frontier.Backlog.
func (db *node) Read(name frontier.Site, now time.Time, entries []frontier.Entry) (int, error) {
	n, _, err := db.read(name, now, entries, false)
	return n, err
}

// ReadRequisites implements frontier.Backlog.
func (db *node) ReadRequisites(name frontier.Site, now time.Time, entries []frontier.Entry) (n int, waiting time.Time, err error) {
	return db.read(name, now, entries, true)
}

// A wanted describes the query of one call of Read.
type wanted struct {
	siteID
	out        []int64
	rank       int16 // entries of kind ready up to this rank and number were read already
	to         int64
	grown      int
	ready, due bool // whether such entries may exist: without a due time (ready), or due now (due)
}

func (db *node) wanted(name frontier.Site, now time.Time, requisites bool) (w wanted, ok bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := db.sites[name]
	if s == nil {
		return w, false
	}
	w = wanted{siteID: s.siteID, out: s.outNumbers(), rank: s.readRank, to: s.readTo, grown: s.grown, ready: s.unread(ready) > 0}
	next := earliest(s.nextRetry, s.nextAgain)
	w.due = !next.IsZero() && (requisites || !next.After(now))
	return w, true
}

func (db *node) read(name frontier.Site, now time.Time, entries []frontier.Entry, requisites bool) (n int, waiting time.Time, err error) {
	db.reading.RLock()
	defer db.reading.RUnlock()
	w, ok := db.wanted(name, now, requisites)
	if !ok || !w.ready && !w.due || len(entries) == 0 && !requisites {
		return 0, time.Time{}, nil
	}
	var all []row
	var next [3]*time.Time // for each kind, the earliest due time of the entries that were not selected
	err = db.retry(func() (err error) {
		all, next, err = db.selectEntries(&w, now, len(entries), requisites)
		return err
	})
	if err != nil {
		return 0, time.Time{}, err
	}
	for i := range all {
		if entries[i], err = db.entry(&all[i]); err != nil {
			return 0, time.Time{}, err
		}
	}
	if requisites && w.due {
		waiting, err = db.nextRequisite(&w, all)
	}
	if err != nil || !db.handOut(name, &w, all, next, requisites) {
		return 0, time.Time{}, err
	}
	return len(all), waiting, nil
}

// handOut records that the entries all, which a query has selected, are out. It returns false if the
// site was given back during the query.
//
// If the node now knows the clock of the database better than when it stored the due time of an
// entry, the query may have found that the entry is not due yet. So handOut reports the next due time
// to the frontier. Otherwise the frontier would not ask for the entry again.
func (db *node) handOut(name frontier.Site, w *wanted, all []row, next [3]*time.Time, requisites bool) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := db.sites[name]
	if s == nil || s.siteID != w.siteID {
		return false
	}
	for i := range all {
		r := &all[i]
		s.out[uint64(r.n)] = outEntry{r.kind, r.rank}
		// If entries came during the query, it may have missed one that comes before those in all.
		if r.kind == ready && !requisites && s.grown == w.grown {
			s.head = max(s.head, uint8(r.rank))
			s.readRank, s.readTo = r.rank, r.n
		}
	}
	if w.due {
		s.nextRetry, s.nextAgain = db.localTime(next[retry]), db.localTime(next[again])
		if !requisites { // ReadRequisites returns the next due time
			db.tell(frontier.Growth{Sites: []frontier.SiteState{db.state(s)}})
		}
	}
	return true
}

func (db *node) localTime(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return db.clock.local(*t)
}

// requisite is an SQL condition: the entry e may be requested after the limit of pages.
const requisite = `(e.flags & 8 <> 0 or e.visits is not null)`

// fromQueue joins queue with entry. Each row of queue finds its entry by the primary key. "offset
// 0" does not change the result, but forces the planner to do this. Otherwise, while the server
// has no statistics of the tables, it may read all entries of the site for each row.
const fromQueue = ` from queue q join lateral (select * from entry e
	where e.part = q.part and e.site = q.site and e.key = q.key offset 0) e on true`

// selectEntries selects up to n entries: first those that are due, then those without a due time.
// next has, for each kind, the earliest due time of the entries that were not selected.
func (db *node) selectEntries(w *wanted, now time.Time, n int, requisites bool) (all []row, next [3]*time.Time, err error) {
	b, only := &pgx.Batch{}, ""
	if requisites {
		only = " and " + requisite
	}
	take := func(rows pgx.Rows) error {
		some, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r row, err error) { return r, row.Scan(r.into()...) })
		for _, r := range some {
			if len(all) < n {
				all = append(all, r)
			}
		}
		return err
	}
	const from = fromQueue + " where q.part = $1 and q.site = $2"
	if w.due {
		b.Queue("select "+rowColumns+from+" and q.due <= $3 and q.n <> all($4)"+only+" order by q.due, q.n limit $5",
			w.part, w.id, db.clock.remote(now), w.out, n).Query(take)
	}
	if w.ready && requisites {
		b.Queue("select "+rowColumns+from+" and q.kind = 0 and q.rank = $3 and q.n <> all($4)"+only+" order by q.rank, q.n limit $5",
			w.part, w.id, int16(frontier.RequisiteRank), w.out, n).Query(take)
	} else if w.ready {
		b.Queue("select "+rowColumns+from+" and q.kind = 0 and (q.rank, q.n) > ($3, $4) and q.n <> all($5) order by q.rank, q.n limit $6",
			w.part, w.id, w.rank, w.to, w.out, n).Query(take)
	}
	if err := db.send(b); err != nil || !w.due {
		return all, next, err
	}
	taken := w.out
	for i := range all {
		taken = append(taken, all[i].n)
	}
	b = &pgx.Batch{}
	for _, k := range []kind{retry, again} {
		b.Queue("select min(due) from queue where part = $1 and site = $2 and kind = $3 and due is not null and n <> all($4)", w.part, w.id, k, taken).
			QueryRow(func(r pgx.Row) error { return r.Scan(&next[k]) })
	}
	return all, next, db.send(b)
}

// nextRequisite returns the earliest due time of the requisites in the database, without those in
// all.
func (db *node) nextRequisite(w *wanted, all []row) (time.Time, error) {
	taken := w.out
	for i := range all {
		taken = append(taken, all[i].n)
	}
	var due *time.Time
	err := db.retry(func() error {
		return db.pool.QueryRow(db.ctx, `select min(q.due)`+fromQueue+`
			where q.part = $1 and q.site = $2 and q.due is not null and q.n <> all($3) and `+requisite, w.part, w.id, taken).Scan(&due)
	})
	return db.localTime(due), err
}
