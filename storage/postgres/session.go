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

// A session is the right of a node to have partitions. It is over when its lease has ended, or its
// row was deleted.
type session struct {
	seq atomic.Int64 // number of the last commit that the database has acknowledged

	// changes is the highest value of the column node.changes that the database has acknowledged.
	// Every transaction on which the memory of the node relies increases the column: commits, and
	// those that take and give back partitions, read news, or name sites. A row with a lower value
	// has lost such a transaction.
	changes atomic.Int64

	until atomic.Int64 // uptime up to which bytes may be sent to sites
	ends  context.CancelFunc
	wait  sync.WaitGroup

	mu     sync.Mutex
	gate   chan struct{} // closed when Blocked may have another result; nil: no caller waits
	steady time.Duration // uptime since which every renewal came in time; used by the goroutine that renews
	over   atomic.Bool   // the session has ended: the frontier is told, and must not wait for a lease
	sure   atomic.Bool   // renewals have come in time for so long that others may be buried
}

// wake wakes the callers that wait for Blocked to have another result.
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

// Blocked implements state.Cluster. After the end of the session it does not block, so that the
// frontier learns of the end; nothing is sent then, because May returns false.
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
// has lost a transaction of this session. A division by zero stops it. The update waits for
// another transaction that changes the row, for example because it ends the session. After the
// commit the caller gives changes to session.changed.
func (db *node) fence(b *pgx.Batch, changes *int64) {
	b.Queue("with n as (update node set changes = changes + 1 where id = $1 and changes >= $2 returning changes) select 1 / count(*)::int, max(changes) from n",
		db.id, db.session.changes.Load()).QueryRow(scanFence(changes))
}

// fenceCommit is like fence, for the commit of a group. It also counts the commit, after which the
// session has spent what spent says. A group whose answer was lost may be sent again.
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

// changed notes that the database has committed a transaction that set node.changes to n.
func (s *session) changed(n int64) {
	for {
		was := s.changes.Load()
		if n <= was || s.changes.CompareAndSwap(was, n) {
			return
		}
	}
}

// change commits a transaction of the statements that fill adds. It begins with the fence.
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

// open begins the session, in place of the one that an earlier process of this node may have: that
// process is dead, because this one has the lock of the directory.
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
			if nodes == 0 { // the first node of a run: sites that the last run has given up are tried again
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
	// This goroutine renews the session until session.stop.
	db.session.wait.Go(func() { db.renewals(ctx) })
	return nil
}

// renewed notes that the database has extended the lease, in the answer to a statement that was
// sent at the uptime sent.
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

// end ends the work of a node whose session is over.
func (db *node) end(err error) {
	db.session.until.Store(0)
	db.session.over.Store(true)
	db.queue.fail(err, true)
	db.tell(frontier.Growth{Err: err})
	db.session.wake()
}

// renew extends the lease. It repeats this until it succeeds, or the session is over.
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
		if known != 0 { // the server allows to ask
			ask = timelineNow
		}
		err := db.pool.QueryRow(one, "update node set until = clock_timestamp() + $2 where id = $1 returning clock_timestamp(), changes, "+ask, db.id, db.lease).Scan(&now, &changes, &timeline)
		cancel()
		switch {
		case err == nil && changes < acknowledged:
			return fmt.Errorf("the database has lost transactions: it has acknowledged %d of this session, and has %d: %w", acknowledged, changes, ErrSession)
		case err == nil && timeline != known: // a pool of connections has led this one to another server
			return fmt.Errorf("a standby was promoted (timeline %d after %d): %w", timeline, known, ErrSession)
		case err == nil:
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
		t := time.NewTimer(max(wait, 50*time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
