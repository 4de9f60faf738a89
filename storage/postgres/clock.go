package postgres

import (
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A clock converts times between the clock of this machine and that of the database. The
// difference is known only up to the time of a round trip. Times are stored with the upper bound
// of the difference and read with the lower bound, so that a pause can become longer, never
// shorter.
//
// The database's clock is compared with the uptime of this machine, because the wall clock may be
// wrong and may be changed while the node runs.
type clock struct {
	upper, lower atomic.Int64 // bounds of the database's time minus the uptime, in nanoseconds since 1970
	same         bool         // this machine and the database have the same clock; set in tests
}

// met sets the bounds. The parameter now is the database's time in an answer that has just been
// received. The parameter sent is the uptime at which the question was sent.
func (c *clock) met(sent time.Duration, now time.Time) {
	c.upper.Store(now.UnixNano() - int64(sent))
	c.lower.Store(now.UnixNano() - int64(uptime()))
}

// remote returns the time by the database's clock that is stored for t. It is rounded up, because
// PostgreSQL stores microseconds.
func (c *clock) remote(t time.Time) time.Time {
	if t.IsZero() || c.same {
		return t
	}
	// If t has a monotonic clock reading, time.Until uses that reading.
	in := time.Until(t)
	there := time.Unix(0, c.upper.Load()+int64(uptime())) // read after time.Now, so the result is never too early
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

// local returns the time by this machine's clock for a time that remote has returned, perhaps on
// another machine.
func (c *clock) local(t time.Time) time.Time {
	if t.IsZero() || c.same {
		return t
	}
	in := t.Sub(time.Unix(0, c.lower.Load()+int64(uptime()))) // read before time.Now, so the result is never too early
	return time.Now().Add(in)
}

// clocks returns c with its times converted by f.
func clocks(c frontier.Clocks, f func(time.Time) time.Time) frontier.Clocks {
	c.Due, c.Ended, c.RetryAfter = f(c.Due), f(c.Ended), f(c.RetryAfter)
	return c
}
