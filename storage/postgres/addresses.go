package postgres

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// addresses are the public addresses at which this node may begin requests now. A node reserves an
// address for a second at a time. So its requests do not each need a round trip to the database.
type addresses struct {
	mu   sync.Mutex
	held map[string]time.Duration // for each address, the uptime of the machine until which requests may begin
}

const (
	addressFor = time.Second
	// addressMargin is how much earlier a node stops using an address, because some time passes
	// between the check and the start of a request.
	addressMargin = 50 * time.Millisecond
	// wantedFor is how long another node's request for an address counts. In this time the holder
	// does not extend its reservation. It reserves the address again only after the other node has
	// not taken it for a second.
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
		now = uptime() // read before the statement, so not later than the database's time of the statement
		err := db.pool.QueryRow(db.ctx, taking, addr, db.id, addressFor+gap, wantedFor, time.Second).Scan(&ok, &wait)
		if errors.Is(err, pgx.ErrNoRows) { // the server was just started
			ok, wait = false, time.Second
			return nil
		}
		return err
	})
	switch {
	case err != nil: // the run is ending
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

// taking reserves the address $1 for the session $2. Other sessions get the address only after $3,
// which is the time of the reservation and a pause. The statement returns whether the address was
// reserved, and for how long. The time is that of the start of the statement, so that it is never
// later than the time from which the node counts. The table is empty after a crash of the server:
// then no address is reserved until all earlier reservations have ended.
const taking = `insert into address as a (addr, due, holder)
	select $1, statement_timestamp() + $3::interval, $2 where statement_timestamp() > pg_postmaster_start_time() + $3::interval
	on conflict (addr) do update set (holder, due, wanted) = (
		select case when may then $2 else a.holder end, case when may then statement_timestamp() + $3::interval else a.due end,
			case when a.holder = $2 then a.wanted when may then null else statement_timestamp() end
		from (select case when a.wanted > statement_timestamp() - $4::interval and a.holder = $2 then a.due + $5::interval <= statement_timestamp()
			else a.holder = $2 or a.due <= statement_timestamp() end as may) m)
	returning holder = $2 and due = statement_timestamp() + $3::interval, due - clock_timestamp()`
