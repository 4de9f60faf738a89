package frontier

import (
	"context"
	"math"
	"time"
)

// A keeper is how those who wait in Next share one clock: one of them leads, and
// watches the timer and the backlog's news for all. The others wait until they
// are kicked.
type keeper struct {
	rearm  chan struct{} // wakes the one who leads; room for one kick, which is not lost while nobody listens
	follow chan struct{} // wakes one of the others, in the same way
	led    bool          // a goroutine in Next leads: Next sets it, wait alone takes it back. The others must not read Grown
}

// wait returns when there may be something to do. Only the leader looks at the
// clock and at the backlog's news: sixty-four workers need not wake for each.
func (f *Frontier) wait(ctx context.Context, lead bool, d time.Duration) {
	var grown <-chan Growth
	var due <-chan time.Time
	kick := f.follow
	if lead {
		grown, kick = f.backlog.Grown(), f.rearm
		if d < math.MaxInt64 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			due = timer.C
		}
	}
	select {
	case <-kick:
	case <-due:
	case g := <-grown:
		f.mu.Lock()
		f.absorb(g)
		f.led = false
		f.mu.Unlock()
		return
	case <-ctx.Done():
	}
	if lead {
		f.mu.Lock()
		f.led = false
		f.mu.Unlock()
	}
}

// more reports whether another turn may be had at once, or its time must be
// kept by somebody else.
func (f *Frontier) more() bool {
	return !f.led || len(f.unlooked.sites) > 0 || f.upNext(f.now()) != nil || len(f.waiting.sites) > 0 && !f.waiting.sites[0].due.After(f.now())
}

// kickLocked wakes somebody who waits in Next, because something has changed:
// who keeps the time, if there is one, so that it is kept anew; else one of
// the others, who will keep it if there is nothing else to do.
func (f *Frontier) kickLocked() {
	kick := f.follow
	if f.led {
		kick = f.rearm
	}
	select {
	case kick <- struct{}{}:
	default:
	}
}
