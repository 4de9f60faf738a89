package frontier

import "time"

// The functions of this file convert times that were stored by an earlier run. The wall clock
// may have been wrong in that run, or may be wrong now. So the lengths of the pauses count,
// and not the dates.
//
// Within a run no conversion is needed: durations between times of this process are measured by
// its monotonic clock, which no correction of the wall clock moves. live adds a reading of this
// clock to stored times.

const (
	// longSleep is the longest believable time since the last answer of a site. If the clock shows
	// a longer time, the wall clock was wrong, and the last pause of the site counts from now.
	longSleep = 365 * 24 * time.Hour
	// maxPause is the longest pause that a server can cause.
	maxPause = 365 * 24 * time.Hour
)

// live returns t with a monotonic clock reading. The result is at most maxPause after now.
func live(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(min(t.Sub(now), maxPause))
}

// meet converts the times of c, which an earlier run has stored. It reports whether it had to move
// them because the wall clock was wrong.
func (c *Clocks) meet(now time.Time) (moved bool) {
	if c.Ended.IsZero() {
		// There was no request, so stored reasons to wait are dropped. If a reason still exists,
		// the site sets these clocks again.
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

// meetEntry converts due, which is the earliest Due of the waiting entries of a site. An entry
// waits at most maxRetryDelay for a retry, and at most maxRevisit to be fetched again. A later due
// was set with a clock that was ahead, so meetEntry returns now instead.
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

// meetRestart converts t, the time of the last restart after a crash, for use in this run.
func meetRestart(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return live(t, now)
}
