package postgres

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// addOthers adds the statements for all operations of the group that are not completions.
func (g *group) addOthers(b *pgx.Batch) {
	db := g.db
	var digests []string
	var dates []time.Time
	var urls []string
	values := map[string][]byte{}
	for _, o := range g.ops {
		switch {
		case o.snapshot != nil:
			db.addSnapshot(b, o.site, o.snapshot)
		case o.payload != nil:
			digests, dates, urls = append(digests, o.digest), append(dates, o.payload.Date), append(urls, o.payload.URL)
		case o.key != "":
			values[o.key] = o.value
		}
	}
	if len(digests) > 0 {
		b.Queue(`insert into payload (node, digest, date, url) select $1, * from unnest($2::text[], $3::timestamptz[], $4::text[]) on conflict do nothing`,
			db.name, digests, dates, urls)
	}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	store := func(owner, key string) {
		b.Queue("insert into value (node, key, value) values ($1, $2, $3) on conflict (node, key) do update set value = excluded.value",
			owner, key, json.RawMessage(values[key]))
	}
	for _, key := range keys {
		store(db.owner(key), key)
		if key == processes.HistoryKey {
			store(db.name, key)
		}
	}
	for _, o := range g.ops {
		if len(o.requeued) > 0 {
			addRequeued(b, o.requeued, g.mine)
		}
	}
	g.addOrders(b)
}

// owner returns the name of the node that a value belongs to, or "" if it belongs to the whole
// crawl.
func (db *node) owner(key string) string {
	if own(key) {
		return db.name
	}
	return ""
}

// applyOthers updates the sites in memory after a commit: for entries that the group has queued
// again, and for page changes in its completions. It adds the changed sites to touched.
func (g *group) applyOthers(touched map[siteID]*site) error {
	db := g.db
	recount := map[siteID]*site{}
	for _, o := range g.ops {
		for _, r := range o.requeued {
			db.mu.Lock()
			if s := db.sites[r.name]; s != nil {
				s.ended--
				recount[r.siteID] = s
			}
			db.mu.Unlock()
		}
		if o.completion != nil && o.completion.Changes != nil {
			if err := db.bringForward(o.completion.Changes, recount); err != nil {
				return err
			}
		}
	}
	for id, s := range recount {
		touched[id] = s
	}
	return db.learn(slices.Collect(maps.Keys(recount)))
}

// bringForward gives an earlier due time to entries whose pages have changed, if the node has
// their sites. It adds the sites to changed.
func (db *node) bringForward(c *frontier.Changes, changed map[siteID]*site) error {
	bySite := map[frontier.Site]map[[16]byte]time.Time{}
	for i := range c.Pages {
		p := &c.Pages[i]
		key := db.hash(p.Key)
		if bySite[p.Site] == nil {
			bySite[p.Site] = map[[16]byte]time.Time{}
		}
		if p.Time.After(bySite[p.Site][key]) {
			bySite[p.Site][key] = p.Time
		}
	}
	for name, keys := range bySite {
		db.mu.Lock()
		s := db.sites[name]
		var out []int64
		if s != nil {
			out = s.outNumbers()
		}
		db.mu.Unlock()
		if s == nil {
			continue
		}
		moved, err := db.bringSite(s.siteID, c, keys, out)
		if err != nil {
			return err
		}
		if moved {
			changed[s.siteID] = s
		}
	}
	return nil
}

func (db *node) bringSite(id siteID, c *frontier.Changes, keys map[[16]byte]time.Time, out []int64) (moved bool, err error) {
	all := make([][16]byte, 0, len(keys))
	for key := range keys {
		all = append(all, key)
	}
	err = db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, `select `+rowColumns+`, q.key`+fromQueue+`
			where q.part = $1 and q.site = $2 and q.kind = $3 and q.key = any($4) and q.n <> all($5)`, id.part, id.id, again, all, out)
		if err != nil {
			return err
		}
		var r row
		var key [16]byte
		var ns []int64
		var was, dues []time.Time
		_, err = pgx.ForEachRow(rows, append(r.into(), &key), func() error {
			e, err := db.entry(&r)
			if err != nil {
				return err
			}
			if due, sooner := c.Due(&e, keys[key]); sooner {
				ns, was, dues = append(ns, r.n), append(was, *r.due), append(dues, db.clock.remote(due))
			}
			return nil
		})
		if err != nil || len(ns) == 0 {
			return err
		}
		moved = true
		return db.change(func(b *pgx.Batch) {
			b.Queue(`update queue q set due = u.due from unnest($4::bigint[], $5::timestamptz[], $6::timestamptz[]) u(n, was, due)
			where q.part = $1 and q.site = $2 and q.kind = $3 and q.n = u.n and q.due = u.was`, id.part, id.id, again, ns, was, dues)
		})
	})
	return moved, err
}

// A requeued is an entry that was put aside and is now queued again.
type requeued struct {
	siteID
	name frontier.Site
	key  [16]byte
	n    int64
	rank int16
}

// addRequeued adds the statement that queues entries again. Nodes that own sites of these entries
// get news. If an entry is no longer in the table aside, an earlier try or another node has
// requeued it.
func addRequeued(b *pgx.Batch, all []requeued, mine []int32) {
	var parts []int32
	var sites, ns []int64
	var ranks []int16
	var keys [][16]byte
	for _, r := range all {
		parts, sites, ns = append(parts, int32(r.part)), append(sites, r.id), append(ns, r.n)
		ranks, keys = append(ranks, r.rank), append(keys, r.key)
	}
	b.Queue(`with a as (
			delete from aside a using unnest($1::int[], $2::bigint[], $3::uuid[]) u(part, site, key)
			where a.part = u.part and a.site = u.site and a.key = u.key returning a.part, a.site, a.key),
		q as (insert into queue (part, site, kind, rank, n, key)
			select u.part, u.site, 0, u.rank, u.n, u.key from a
			join unnest($1::int[], $2::bigint[], $3::uuid[], $4::smallint[], $5::bigint[]) u(part, site, key, rank, n)
				on a.part = u.part and a.site = u.site and a.key = u.key
			on conflict do nothing returning part, site, rank, n)
		insert into news (part, id, site, k, head, first)
		select part, min(n), site, count(*), min(rank), min(n) from q where part <> all($6) group by part, site on conflict do nothing`,
		parts, sites, keys, ranks, ns, mine)
}

// requeueAtOnce is the number of entries that Requeue reads with one query.
const requeueAtOnce = 1000

// Requeue implements state.Store. It queues entries of all sites, including those of other nodes.
func (db *node) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	after := requeued{siteID: siteID{-1, 0}}
	for {
		var some []requeued
		var entries []frontier.Entry
		err := db.retry(func() error {
			some, entries = nil, nil
			rows, err := db.pool.Query(db.ctx, `select a.part, a.site, a.key, s.name, `+rowColumns+`
				from aside a join entry e on e.part = a.part and e.site = a.site and e.key = a.key
				join site s on s.part = a.part and s.id = a.site left join queue q on false
				where (a.part, a.site, a.key) > ($1, $2, $3) order by a.part, a.site, a.key limit $4`,
				after.part, after.id, after.key, requeueAtOnce)
			if err != nil {
				return err
			}
			var a requeued
			var r row
			var name string
			_, err = pgx.ForEachRow(rows, append([]any{&a.part, &a.id, &a.key, &name}, r.into()...), func() error {
				e, err := db.entry(&r)
				if err != nil {
					return err
				}
				a.name, a.n, a.rank = frontier.Site(name), r.n, r.rank
				some, entries = append(some, a), append(entries, e)
				return nil
			})
			return err
		})
		if err != nil || len(some) == 0 {
			return n, err
		}
		after = some[len(some)-1]
		var back []requeued
		for i := range some {
			if wanted(entries[i]) {
				back = append(back, some[i])
			}
		}
		n += len(back)
		if len(back) > 0 {
			if err := db.queue.put(op{requeued: back}); err != nil {
				return n, err
			}
		}
	}
}

// Put implements state.Store.
func (db *node) Put(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return db.queue.put(op{key: key, value: raw})
}

// Sync implements state.Store. It waits as long as the server is down.
func (db *node) Sync(ctx context.Context) error {
	q := &db.queue
	q.mu.Lock()
	done := q.waiters.Wait(len(q.ops) > 0, q.err)
	q.mu.Unlock()
	nudge(q.hurry)
	return state.Await(ctx, done)
}

// Get implements state.Store.
func (db *node) Get(key string, value any) (ok bool, err error) {
	db.queue.mu.Lock()
	raw := db.queue.values[key]
	db.queue.mu.Unlock()
	if raw == nil {
		err = db.retry(func() (err error) {
			if key == processes.HistoryKey {
				raw, err = readHistory(db.ctx, db.pool)
			} else {
				err = db.pool.QueryRow(db.ctx, "select value::text from value where node = $1 and key = $2", db.owner(key), key).Scan(&raw)
			}
			if errors.Is(err, pgx.ErrNoRows) || missing(err) {
				raw = nil
				return nil
			}
			return err
		})
	}
	if err != nil || raw == nil {
		return false, err
	}
	return true, json.Unmarshal(raw, value)
}

// Keys implements state.Store.
func (db *node) Keys(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		after := ""
		for {
			var some []string
			err := db.retry(func() error {
				rows, err := db.pool.Query(db.ctx, `select distinct key collate "C" from value where node in ('', $1) and starts_with(key, $2) and key collate "C" > $3
					order by key collate "C" limit 500`, db.name, prefix, after)
				if missing(err) {
					return nil
				}
				if err != nil {
					return err
				}
				if some, err = pgx.CollectRows(rows, pgx.RowTo[string]); missing(err) {
					return nil
				}
				return err
			})
			for _, key := range some {
				if !yield(key[len(prefix):], nil) {
					return
				}
				after = key
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

// Payload implements state.Store. It returns only payloads of this node, because a revisit record
// must refer to a record in the same directory.
func (db *node) Payload(digest string) (p *state.Payload, err error) {
	db.queue.mu.Lock()
	p = db.queue.payloads[digest]
	db.queue.mu.Unlock()
	if p != nil {
		return p, nil
	}
	err = db.retry(func() error {
		p = new(state.Payload)
		err := db.pool.QueryRow(db.ctx, "select date, url from payload where node = $1 and digest = $2", db.name, digest).Scan(&p.Date, &p.URL)
		if errors.Is(err, pgx.ErrNoRows) {
			p = nil
			return nil
		}
		return err
	})
	return p, err
}

// PutPayload implements state.Store.
func (db *node) PutPayload(digest string, p state.Payload) error {
	return db.queue.put(op{digest: digest, payload: &p})
}

// maxRulesBody is the size in bytes of the longest robots.txt that is stored and read.
const maxRulesBody = 16 << 20

// PutSnapshot implements fetch.Snapshots.
func (db *node) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	if len(s.Body) > maxRulesBody {
		return fmt.Errorf("robots.txt of %s: it is longer than %d bytes", site, maxRulesBody)
	}
	return db.queue.put(op{snapshot: s, site: site})
}

// PutLicense implements fetch.Snapshots.
func (db *node) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	return db.PutSnapshot(licenseAt(u), s)
}

// License implements fetch.Snapshots.
func (db *node) License(u frontier.URL) (*robots.Snapshot, error) { return db.Snapshot(licenseAt(u)) }

// licenseAt returns the name under which a license document is stored. It takes the place of the
// site that other snapshots have.
func licenseAt(u frontier.URL) frontier.Site { return frontier.Site(u.Key()) }

// addSnapshot adds the statements that store a snapshot. The Copy in the snapshot is stored first,
// as a snapshot of its own.
func (db *node) addSnapshot(b *pgx.Batch, site frontier.Site, s *robots.Snapshot) {
	type record struct {
		Snapshot robots.Snapshot
		Copy     time.Time `json:",omitzero"`
	}
	r := record{Snapshot: *s}
	r.Snapshot.Body, r.Snapshot.Copy = nil, nil
	if s.Copy != nil {
		r.Copy = s.Copy.Fetched
		db.addSnapshotIf(b, site, s.Copy)
	}
	db.insertSnapshot(b, site, s, &r, "true")
}

// addSnapshotIf adds the statements that store a Copy, unless it is already stored.
func (db *node) addSnapshotIf(b *pgx.Batch, site frontier.Site, s *robots.Snapshot) {
	r := struct{ Snapshot robots.Snapshot }{*s}
	r.Snapshot.Body, r.Snapshot.Copy = nil, nil
	db.insertSnapshot(b, site, s, &r, "not exists (select 1 from snapshot s where s.part = $1 and s.site = $2 and s.at = $4)")
}

func (db *node) insertSnapshot(b *pgx.Batch, site frontier.Site, s *robots.Snapshot, record any, condition string) {
	var digest []byte
	if len(s.Body) > 0 {
		sum := sha256.Sum256(s.Body)
		digest = sum[:]
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(s.Body)
		w.Close() // no error: writing into memory does not fail
		b.Queue("insert into body (digest, gzip) values ($1, $2) on conflict do nothing", digest, z.Bytes())
	}
	b.Queue(`insert into snapshot (part, site, put, at, record, body) select $1::int, $2::text, $3::bigint, $4::timestamptz, $5::jsonb, $6::bytea where `+condition+` on conflict do nothing`,
		partOf(site, db.parts), string(site), db.numbers.next(db.num), s.Fetched, record, digest)
}

const snapshotColumns = "s.at, s.record, b.gzip from snapshot s left join body b on b.digest = s.body"

// Snapshot implements fetch.Snapshots.
func (db *node) Snapshot(site frontier.Site) (s *robots.Snapshot, err error) {
	db.queue.mu.Lock()
	s = db.queue.snapshots[site]
	db.queue.mu.Unlock()
	if s != nil {
		return s, nil
	}
	err = db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, "select "+snapshotColumns+" where s.part = $1 and s.site = $2 order by s.put desc limit 1", partOf(site, db.parts), string(site))
		if err != nil {
			return err
		}
		all, err := db.scanSnapshots(rows, site)
		if len(all) > 0 {
			s = all[0]
		}
		return err
	})
	return s, err
}

// Snapshots implements state.Store.
func (db *node) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return func(yield func(*robots.Snapshot, error) bool) {
		var all []*robots.Snapshot
		err := db.retry(func() error {
			rows, err := db.pool.Query(db.ctx, "select "+snapshotColumns+" where s.part = $1 and s.site = $2 order by s.at, s.put", partOf(site, db.parts), string(site))
			if err != nil {
				return err
			}
			all, err = db.scanSnapshots(rows, site)
			return err
		})
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (db *node) scanSnapshots(rows pgx.Rows, site frontier.Site) (all []*robots.Snapshot, err error) {
	var at time.Time
	var record []byte
	var zipped []byte
	copies := map[*robots.Snapshot]time.Time{}
	_, err = pgx.ForEachRow(rows, []any{&at, &record, &zipped}, func() error {
		s, of, err := decodeSnapshot(site, record, zipped)
		if err != nil {
			return err
		}
		if !of.IsZero() {
			copies[s] = of
		}
		all = append(all, s)
		return nil
	})
	for s, at := range copies {
		if err == nil {
			s.Copy, err = db.snapshotAt(site, at)
		}
	}
	return all, err
}

// decodeSnapshot returns the snapshot in a row. It also returns the time at which the snapshot's
// Copy was fetched, or zero if it has no Copy.
func decodeSnapshot(site frontier.Site, record, zipped []byte) (s *robots.Snapshot, of time.Time, err error) {
	var r struct {
		Snapshot robots.Snapshot
		Copy     time.Time
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, of, err
	}
	if zipped != nil {
		z, err := gzip.NewReader(bytes.NewReader(zipped))
		if err == nil {
			r.Snapshot.Body, err = io.ReadAll(io.LimitReader(z, maxRulesBody+1))
		}
		if err != nil {
			return nil, of, fmt.Errorf("robots.txt of %s: %w", site, err)
		}
	}
	return &r.Snapshot, r.Copy, nil
}

// snapshotAt returns the snapshot of a site that was fetched at a time.
func (db *node) snapshotAt(site frontier.Site, at time.Time) (*robots.Snapshot, error) {
	rows, err := db.pool.Query(db.ctx, "select "+snapshotColumns+" where s.part = $1 and s.site = $2 and s.at = $3 order by s.put limit 1", partOf(site, db.parts), string(site), at)
	if err != nil {
		return nil, err
	}
	all, err := db.scanSnapshots(rows, site)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("robots.txt of %s: the copy of %s is missing", site, at.Format(time.RFC3339))
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
