package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// A session is the right of a node to have partitions. It is over when its lease has ended, or
// when another node has deleted its row.
type session struct {
	seq atomic.Int64 // number of the last commit that the database has acknowledged

	// changes is the highest value of the column node.changes that the database has acknowledged.
	// Every transaction that the memory of the node relies on increases the column. These are
	// commits, and transactions that take or return partitions, read news, or name sites. If a row
	// has a lower value, the database has lost such a transaction.
	changes atomic.Int64

	until atomic.Int64 // uptime until which bytes may be sent to sites
	ends  context.CancelFunc
	wait  sync.WaitGroup

	mu     sync.Mutex
	gate   chan struct{} // closed when Blocked may return another result; nil if no caller waits
	steady time.Duration // uptime since which each renewal was in time; only the goroutine that renews uses it
	over   atomic.Bool   // the session has ended, so Blocked does not wait for a lease
	sure   atomic.Bool   // renewals were in time for long enough, so this node may bury (end the sessions of) others
}

// wake wakes all callers that wait for another result of Blocked.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
	}
}

func (s *session) stop() {
	if s.ends != nil {
		s.ends()
	}
	s.wait.Wait()
}

// May implements state.Cluster.
func (db *node) May() bool { return int64(uptime()) < db.session.until.Load() }

// Outage implements state.Cluster.
func (db *node) Outage() time.Time { return db.outages.begun() }

// Blocked implements state.Cluster. After the end of the session it does not block, so that the
// frontier learns of the end. No request is sent after the end, because May returns false.
func (db *node) Blocked() <-chan struct{} {
	free := func() bool { return db.session.over.Load() || db.May() && !db.queue.behind() }
	if free() {
		return nil
	}
	s := &db.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if free() {
		return nil
	}
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
	return s.gate
}

// fence adds the statement that stops the transaction if the session is over, or if the database
// has lost a transaction of this session. The statement stops it with a division by zero. The
// statement waits for other transactions that change the row, for example to end the session.
// After the commit the caller must pass changes to session.changed.
func (db *node) fence(b *pgx.Batch, changes *int64) {
	b.Queue("with n as (update node set changes = changes + 1 where id = $1 and changes >= $2 returning changes) select 1 / count(*)::int, max(changes) from n",
		db.id, db.session.changes.Load()).QueryRow(scanFence(changes))
}

// fenceCommit is like fence, for the commit of a group. It also counts the commit, and stores what
// the session has spent with it. If the answer was lost, the group may be sent again.
func (db *node) fenceCommit(b *pgx.Batch, spent frontier.Spent, changes *int64) {
	seq := db.session.seq.Load()
	b.Queue(`with n as (update node set seq = $3, changes = changes + 1, pages = $5, bytes = $6 where id = $1 and seq in ($2, $3) and changes >= $4 returning changes)
		select 1 / count(*)::int, max(changes) from n`, db.id, seq, seq+1, db.session.changes.Load(), spent.Pages, spent.Bytes).QueryRow(scanFence(changes))
}

func scanFence(changes *int64) func(pgx.Row) error {
	return func(r pgx.Row) error {
		var one int
		return r.Scan(&one, changes)
	}
}

// changed records that the database has committed a transaction that set node.changes to n.
func (s *session) changed(n int64) {
	for {
		was := s.changes.Load()
		if n <= was || s.changes.CompareAndSwap(was, n) {
			return
		}
	}
}

// change runs a transaction with the statements that fill adds. The transaction begins with fence.
func (db *node) change(fill func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	var changes int64
	db.fence(b, &changes)
	fill(b)
	err := db.send(b)
	if err == nil {
		db.session.changed(changes)
	}
	return err
}

// open begins the session. It replaces the session of an earlier process of this node, if there is
// one. That process has ended, because this process has the lock of the directory.
func (db *node) open() error {
	if _, err := rand.Read(db.id[:]); err != nil {
		return err
	}
	var sent time.Duration
	var now time.Time
	err := db.retry(func() error {
		return pgx.BeginFunc(db.ctx, db.pool, func(tx pgx.Tx) error {
			if err := db.onlyHere(tx); err != nil {
				return err
			}
			_, err := tx.Exec(db.ctx, `with dead as (delete from node where name = $1 returning *), `+creditBack+`
				update part set owner = null, rest = greatest(rest, clock_timestamp()) where owner in (select id from dead)`, db.name)
			if err != nil {
				return err
			}
			if err := db.onTimeline(tx); err != nil {
				return err
			}
			var nodes int
			if err := tx.QueryRow(db.ctx, "select count(*) from node").Scan(&nodes); err != nil {
				return err
			}
			if nodes >= maxNodes {
				return refusal{fmt.Errorf("the crawl has %d nodes, and no more can join", nodes)}
			}
			if nodes == 0 { // this is the first node of a run, so sites that the last run has given up are tried again
				if _, err := tx.Exec(db.ctx, "update site set fate = null where fate is not null"); err != nil {
					return err
				}
				if _, err := tx.Exec(db.ctx, "delete from address where due < clock_timestamp() - interval '1 hour'"); err != nil {
					return err
				}
				if _, err := tx.Exec(db.ctx, "update crawl set since = orders"); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(db.ctx, "select since from crawl").Scan(&db.orders.heard); err != nil {
				return err
			}
			if _, err := tx.Exec(db.ctx, "insert into home (name, open) values ($1, true) on conflict (name) do update set open = true", db.name); err != nil {
				return err
			}
			sent = uptime()
			return tx.QueryRow(db.ctx, `insert into node (id, name, num, until, place)
				select $1, $2, (select min(g) from generate_series(0, $3 - 1) g where not exists (select 1 from node where num = g)), clock_timestamp() + $4, $5
				returning num, clock_timestamp()`, db.id, db.name, maxNodes, db.lease, db.place()).Scan(&db.num, &now)
		})
	})
	if err != nil {
		return err
	}
	db.renewed(sent, now)
	db.session.seq.Store(0)
	db.session.changes.Store(0)
	ctx, cancel := context.WithCancel(db.ctx)
	db.session.ends = cancel
	db.session.steady = uptime()
	// This goroutine renews the session. It ends with session.stop.
	db.session.wait.Go(func() { db.renewals(ctx) })
	return nil
}

// renewed records that the database has extended the lease. The parameter sent is the uptime at
// which the statement was sent, and now is the database's time.
func (db *node) renewed(sent time.Duration, now time.Time) {
	db.clock.met(sent, now)
	db.session.until.Store(int64(sent + db.lease*19/20))
	db.session.wake()
}

func (db *node) renewals(ctx context.Context) {
	tick := time.NewTicker(db.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := db.renew(ctx); err != nil {
			if ctx.Err() == nil {
				db.end(err)
			}
			return
		}
	}
}

// end stops the node after its session is over.
func (db *node) end(err error) {
	db.session.until.Store(0)
	db.session.over.Store(true)
	db.queue.fail(err, true)
	db.tell(frontier.Growth{Err: err})
	db.session.wake()
}

// renew extends the lease. It tries again until it succeeds, or until the session is over.
func (db *node) renew(ctx context.Context) error {
	s := &db.session
	for {
		if !db.May() {
			s.steady = uptime()
		}
		acknowledged := s.changes.Load()
		sent := uptime()
		var now time.Time
		var changes int64
		one, cancel := context.WithTimeout(ctx, db.lease/2)
		timeline, known := int64(0), db.server.timeline.Load()
		ask := "0"
		if known != 0 { // the server permits the query of its timeline
			ask = timelineNow
		}
		err := db.pool.QueryRow(one, "update node set until = clock_timestamp() + $2 where id = $1 returning clock_timestamp(), changes, "+ask, db.id, db.lease).Scan(&now, &changes, &timeline)
		cancel()
		switch {
		case err == nil && changes < acknowledged:
			return fmt.Errorf("the database has lost transactions: it has acknowledged %d of this session, and has %d: %w", acknowledged, changes, ErrSession)
		case err == nil && timeline != known: // a connection pooler has connected to another server
			return fmt.Errorf("a standby was promoted (timeline %d after %d): %w", timeline, known, ErrSession)
		case err == nil:
			db.outages.answered()
			db.renewed(sent, now)
			s.sure.Store(uptime()-s.steady > db.lease*3/2)
			return nil
		case errors.Is(err, pgx.ErrNoRows):
			return ErrSession
		case ctx.Err() != nil:
			return ctx.Err()
		}
		s.steady = uptime()
		s.sure.Store(false)
		wait, err := db.passes(err, 3)
		if wait < 0 && !errors.Is(err, context.Canceled) {
			return err
		}
		db.outages.failed(err, db.lease, db.outage)
		t := time.NewTimer(max(wait, 50*time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
