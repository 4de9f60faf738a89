package frontier

import "time"

// The functions of this file convert times from an earlier run. They were read from a
// wall clock that may have been wrong then, or may be wrong now; so the pauses count,
// not the dates.
//
// Within a run no conversion is needed: durations between times of this process are
// measured by its monotonic clock, which no correction of the wall clock moves. live
// adds a monotonic reading to other times.

const (
	// longSleep is the time since the last answer of a site from which the clock is
	// taken to be wrong: the last pause of the site then counts from now.
	longSleep = 365 * 24 * time.Hour
	// maxPause is the longest pause that a server can cause.
	maxPause = 365 * 24 * time.Hour
)

// live returns t with a monotonic clock reading, at most maxPause from now.
func live(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(min(t.Sub(now), maxPause))
}

// meet converts clocks from an earlier run, and reports whether their times had to be
// moved.
func (c *Clocks) meet(now time.Time) (moved bool) {
	if c.Ended.IsZero() {
		// There was no request: the causes of waiting will set the clocks again.
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

// meetEntry converts the earliest Due of the entries that wait. Entries wait at most
// maxRetryDelay, or maxRevisit to be fetched again. A later Due was set by a clock that
// was fast: that entry is due now.
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

// meetRestart converts the time of the last restart after a crash.
func meetRestart(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return live(t, now)
}
