package postgres

import (
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A clock converts times between the clock of this machine and that of the database. The
// difference is known only within the time of a round trip. Times are stored with its upper bound
// and read with its lower bound, so that a pause becomes longer, never shorter.
type clock struct {
	upper, lower atomic.Int64 // bounds of (database - here), in nanoseconds
	same         bool         // both clocks are the same one; for tests
}

// met sets the bounds, after the database has answered with its time now to a question that was
// sent at sent. The answer has just been received.
func (c *clock) met(sent, now time.Time) {
	c.upper.Store(int64(now.Sub(sent.Round(0))))
	c.lower.Store(int64(now.Sub(time.Now().Round(0))))
}

// remote returns the time of the database's clock that is stored for t. PostgreSQL has
// microseconds, so it is rounded up.
func (c *clock) remote(t time.Time) time.Time {
	if t.IsZero() || c.same {
		return t
	}
	return t.Round(0).Add(time.Duration(c.upper.Load()) + time.Microsecond - 1).Truncate(time.Microsecond)
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
	return t.Add(-time.Duration(c.lower.Load()))
}

// clocks returns c with its times converted by f.
func clocks(c frontier.Clocks, f func(time.Time) time.Time) frontier.Clocks {
	c.Due, c.Ended, c.RetryAfter = f(c.Due), f(c.Ended), f(c.RetryAfter)
	return c
}
