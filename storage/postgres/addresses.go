package postgres

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// addresses are the public addresses at which this node may begin requests at the moment. A node
// takes an address for a second at a time, so that requests of one node need no round trip each.
type addresses struct {
	mu   sync.Mutex
	held map[string]time.Duration // the uptime up to which requests may begin
}

const (
	addressFor = time.Second
	// Between the check and the start of a request some time may pass.
	addressMargin = 50 * time.Millisecond
	// The holder of an address does not keep it if another node has asked for it within this time.
	// It takes the address again only if that node has not taken it for a second.
	wantedFor = 3 * time.Second
)

// Address implements state.Cluster.
func (db *node) Address(addr string, gap time.Duration) (free time.Time, ok bool) {
	a, now := &db.addresses, uptime()
	a.mu.Lock()
	held := a.held[addr] > now
	a.mu.Unlock()
	if held {
		return free, true
	}
	var wait time.Duration
	err := db.retry(func() error {
		now = uptime() // before the database's time of the statement
		err := db.pool.QueryRow(db.ctx, taking, addr, db.id, addressFor+gap, wantedFor, time.Second).Scan(&ok, &wait)
		if errors.Is(err, pgx.ErrNoRows) { // the server has just begun
			ok, wait = false, time.Second
			return nil
		}
		return err
	})
	switch {
	case err != nil: // the run ends
		return time.Now().Add(time.Minute), false
	case !ok:
		return time.Now().Add(max(wait, addressMargin)), false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.held) > 1<<14 {
		for addr, until := range a.held {
			if until < now {
				delete(a.held, addr)
			}
		}
	}
	if a.held == nil {
		a.held = map[string]time.Duration{}
	}
	a.held[addr] = now + addressFor - addressMargin
	return free, true
}

// taking takes the address $1 for the session $2: other sessions get it after $3, which is the time
// for which it is taken and a pause. It returns whether it was taken, and how long it is taken. The
// time is that of the start of the statement, so that it is never later than the time by which the
// node counts. The table is empty after a crash of the server: then nothing is taken until all
// earlier holders have stopped.
const taking = `insert into address as a (addr, due, holder)
	select $1, statement_timestamp() + $3::interval, $2 where statement_timestamp() > pg_postmaster_start_time() + $3::interval
	on conflict (addr) do update set (holder, due, wanted) = (
		select case when may then $2 else a.holder end, case when may then statement_timestamp() + $3::interval else a.due end,
			case when a.holder = $2 then a.wanted when may then null else statement_timestamp() end
		from (select case when a.wanted > statement_timestamp() - $4::interval and a.holder = $2 then a.due + $5::interval <= statement_timestamp()
			else a.holder = $2 or a.due <= statement_timestamp() end as may) m)
	returning holder = $2 and due = statement_timestamp() + $3::interval, due - clock_timestamp()`
