package postgres

import (
	"errors"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
)

// atOnce is the number of rows that an iterator reads with one query.
const atOnce = 500

// missing reports whether err says that the tables do not exist yet.
func missing(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000")
}

// Sites implements frontier.Backlog. It yields nothing: the sites of a partition are reported
// when the node gets the partition.
func (db *node) Sites() iter.Seq2[frontier.SiteState, error] {
	return func(func(frontier.SiteState, error) bool) {}
}

// Common implements frontier.Backlog.
func (db *node) Common() iter.Seq2[frontier.CommonClock, error] {
	return func(yield func(frontier.CommonClock, error) bool) {
		after := ""
		for {
			var some []frontier.CommonClock
			err := db.retry(func() error {
				some = nil
				rows, err := db.pool.Query(db.ctx, `select name, due from common where name > $1 order by name limit $2`, after, atOnce)
				if err != nil {
					return err
				}
				var name string
				var due time.Time
				_, err = pgx.ForEachRow(rows, []any{&name, &due}, func() error {
					some = append(some, frontier.CommonClock{Name: name, Due: db.clock.local(due)})
					return nil
				})
				return err
			})
			for _, c := range some {
				if !yield(c, nil) {
					return
				}
				after = c.Name
			}
			if err != nil {
				yield(frontier.CommonClock{}, err)
			}
			if err != nil || len(some) == 0 {
				return
			}
		}
	}
}

// State implements frontier.Backlog. For a site of another node only the name is set. State uses
// only the memory, because its caller holds a lock of the frontier.
func (db *node) State(name frontier.Site) (frontier.SiteState, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if s := db.sites[name]; s != nil {
		return db.state(s), nil
	}
	st := frontier.SiteState{Site: name}
	// If a site of this node is not in memory, it has no entries, had no request in this term, and
	// was due when the term began.
	if p := db.had[partOf(name, db.parts)]; p != nil && !p.leaving {
		st.Term = p.term
	}
	return st, nil
}

// Entry implements state.Store.
func (db *node) Entry(site frontier.Site, keys ...string) (k state.Kept, ok bool, err error) {
	hashes := make([][16]byte, len(keys))
	for i, key := range keys {
		hashes[i] = db.hash(key)
	}
	part := partOf(site, db.parts)
	err = db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, `select `+rowColumns+` from site s join entry e on e.part = s.part and e.site = s.id
			left join queue q on q.part = e.part and q.site = e.site and q.n = e.n and q.key = e.key
			where s.part = $1 and s.name = $2 and e.key = any($3) order by array_position($3, e.key) limit 1`, part, string(site), hashes)
		if err != nil {
			return err
		}
		var r row
		ok = false
		_, err = pgx.ForEachRow(rows, r.into(), func() (err error) {
			ok = true
			k, err = db.kept(&r)
			return err
		})
		return err
	})
	return k, ok, err
}

// Entries implements state.Store.
func (db *node) Entries(name frontier.Site) iter.Seq2[state.Kept, error] {
	return func(yield func(state.Kept, error) bool) {
		after := int64(0)
		for {
			var some []state.Kept
			err := db.retry(func() error {
				some = nil
				rows, err := db.pool.Query(db.ctx, `select `+rowColumns+` from site s join entry e on e.part = s.part and e.site = s.id
					left join queue q on q.part = e.part and q.site = e.site and q.n = e.n and q.key = e.key
					where s.part = $1 and s.name = $2 and e.n > $3 order by e.n limit $4`, partOf(name, db.parts), string(name), after, atOnce)
				if err != nil {
					return err
				}
				var r row
				_, err = pgx.ForEachRow(rows, r.into(), func() error {
					k, err := db.kept(&r)
					some = append(some, k)
					return err
				})
				return err
			})
			for _, k := range some {
				if !yield(k, nil) {
					return
				}
				after = int64(k.ID)
			}
			if err != nil {
				yield(state.Kept{}, err)
			}
			if err != nil || len(some) == 0 {
				return
			}
		}
	}
}

// Names implements state.Store.
func (db *node) Names() iter.Seq2[frontier.Site, error] {
	return func(yield func(frontier.Site, error) bool) {
		after := ""
		for {
			var some []string
			err := db.retry(func() error {
				rows, err := db.pool.Query(db.ctx, `select s.name from site s where s.name collate "C" > $1
					and exists (select 1 from entry e where e.part = s.part and e.site = s.id) order by s.name collate "C" limit $2`, after, atOnce)
				if err != nil {
					return err
				}
				some, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			})
			for _, name := range some {
				if !yield(frontier.Site(name), nil) {
					return
				}
				after = name
			}
			if err != nil {
				yield("", err)
			}
			if err != nil || len(some) == 0 {
				return
			}
		}
	}
}

// Ahead implements state.Store.
func (db *node) Ahead(k state.Kept) (n int, err error) {
	site := k.URL.Site()
	err = db.retry(func() error {
		return db.pool.QueryRow(db.ctx, `select count(*) from (select 1 from site s join queue q on q.part = s.part and q.site = s.id
			where s.part = $1 and s.name = $2 and q.kind = 0 and (q.rank, q.n) < ($3, $4) limit $5) x`,
			partOf(site, db.parts), string(site), int16(k.Rank), int64(k.Number), state.MostAhead).Scan(&n)
	})
	return n, err
}

// Queued implements state.Store.
func (db *node) Queued(name frontier.Site) iter.Seq2[frontier.Entry, error] {
	return func(yield func(frontier.Entry, error) bool) {
		from := ` from site s join queue q on q.part = s.part and q.site = s.id join entry e on e.part = q.part and e.site = q.site and e.key = q.key
			where s.part = $1 and s.name = $2 and `
		one := func(where, order string, args ...any) (some []frontier.Entry, err error) {
			err = db.retry(func() error {
				some = nil
				rows, err := db.pool.Query(db.ctx, "select "+rowColumns+from+where+order, append([]any{partOf(name, db.parts), string(name)}, args...)...)
				if err != nil {
					return err
				}
				var r row
				_, err = pgx.ForEachRow(rows, r.into(), func() error {
					e, err := db.entry(&r)
					some = append(some, e)
					return err
				})
				return err
			})
			return some, err
		}
		rank, n := int16(-1), int64(0)
		for {
			some, err := one("q.kind = 0 and (q.rank, q.n) > ($3, $4)", " order by q.rank, q.n limit $5", rank, n, atOnce)
			for _, e := range some {
				if !yield(e, nil) {
					return
				}
				rank, n = int16(e.Rank), int64(e.ID)
			}
			if err != nil {
				yield(frontier.Entry{}, err)
				return
			}
			if len(some) == 0 {
				break
			}
		}
		due, n := time.Unix(0, 0), int64(0)
		for {
			some, err := one("q.due is not null and (q.due, q.n) > ($3, $4)", " order by q.due, q.n limit $5", due, n, atOnce)
			for _, e := range some {
				if !yield(e, nil) {
					return
				}
				due, n = db.clock.remote(e.Due), int64(e.ID)
			}
			if err != nil {
				yield(frontier.Entry{}, err)
				return
			}
			if len(some) == 0 {
				break
			}
		}
	}
}
