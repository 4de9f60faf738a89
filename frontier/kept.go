package frontier

import "time"

// Here times that were kept meet the clock of now. They were read from a wall
// clock that may have been wrong then, or may be wrong now; so it is the pauses
// that count, not the years.
//
// Within a run nothing of this is needed: what is computed from a time.Time of
// this process is measured by its monotonic clock, which no correction of the
// wall clock moves. live gives such a reading to times that come from elsewhere.

const (
	// longSleep is so long that rather the clock is wrong than that a crawl has
	// rested: the last pause of each site counts from now.
	longSleep = 365 * 24 * time.Hour
	// maxPause is the longest that anybody can ask for.
	maxPause = 365 * 24 * time.Hour
)

// live is t by the monotonic clock, no later than maxPause from now.
func live(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(min(t.Sub(now), maxPause))
}

// meet brings clocks that were kept to the time of now, and reports whether they
// had to be moved.
func (c *Clocks) meet(now time.Time) (moved bool) {
	if c.Ended.IsZero() {
		// It was never asked: what it waited for is said again.
		c.Due, c.By, c.RetryAfter = time.Time{}, NoClock, time.Time{}
		return false
	}
	if ahead := c.Ended.Sub(now); ahead > 0 || -ahead > longSleep {
		moved = true
		c.Ended, c.Due = now, c.Due.Add(-ahead)
		if !c.RetryAfter.IsZero() {
			c.RetryAfter = c.RetryAfter.Add(-ahead)
		}
	}
	c.Due, c.Ended, c.RetryAfter = live(c.Due, now), live(c.Ended, now), live(c.RetryAfter, now)
	return moved
}

// meetEntry says when the first of the entries that wait is due. None waits for
// longer than maxRetryDelay, unless it is to be fetched again; what seems to was
// queued by a clock that ran ahead, and has waited long enough.
func (f *Frontier) meetEntry(due, now time.Time) time.Time {
	most := maxRetryDelay
	if f.opts.Revisits {
		most = maxRevisit
	}
	switch ahead := due.Sub(now); {
	case due.IsZero():
		return due
	case ahead > most:
		return now
	default:
		return now.Add(ahead)
	}
}

// meetRestart is the last unclean start, as it counts now.
func meetRestart(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return live(t, now)
}
