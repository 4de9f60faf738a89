package postgres

import (
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A clock converts times between the clock of this machine and that of the database. The
// difference is known only within the time of a round trip. Times are stored with its upper bound
// and read with its lower bound, so that a pause becomes longer, never shorter.
//
// The database's clock is compared with the time since the machine was started: the clock that has
// the time of day may be wrong, and may be set while the node runs.
type clock struct {
	upper, lower atomic.Int64 // bounds of (database - uptime), in nanoseconds since 1970
	same         bool         // both clocks are the same one; for tests
}

// met sets the bounds, after the database has answered with its time now to a question that was
// sent at the uptime sent. The answer has just been received.
func (c *clock) met(sent time.Duration, now time.Time) {
	c.upper.Store(now.UnixNano() - int64(sent))
	c.lower.Store(now.UnixNano() - int64(uptime()))
}

// remote returns the time of the database's clock that is stored for t. PostgreSQL has
// microseconds, so it is rounded up.
func (c *clock) remote(t time.Time) time.Time {
	if t.IsZero() || c.same {
		return t
	}
	// If t has a reading of the monotonic clock, the difference is by that clock.
	in := time.Until(t)
	there := time.Unix(0, c.upper.Load()+int64(uptime())) // read after time.Now: never too early
	return there.Add(in + time.Microsecond - 1).Truncate(time.Microsecond)
}

// remoteOrNil is like remote, but returns nil for the zero time.
func (c *clock) remoteOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = c.remote(t)
	return &t
}

// local returns the time of this machine's clock for a time that remote has returned, perhaps on
// another machine.
func (c *clock) local(t time.Time) time.Time {
	if t.IsZero() || c.same {
		return t
	}
	in := t.Sub(time.Unix(0, c.lower.Load()+int64(uptime()))) // read before time.Now: never too early
	return time.Now().Add(in)
}

// clocks returns c with its times converted by f.
func clocks(c frontier.Clocks, f func(time.Time) time.Time) frontier.Clocks {
	c.Due, c.Ended, c.RetryAfter = f(c.Due), f(c.Ended), f(c.RetryAfter)
	return c
}
