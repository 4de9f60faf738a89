package frontier

import (
	"context"
	"math"
	"time"
)

// A keeper lets the goroutines in Next share one timer. One of these goroutines, the leader,
// waits for the timer and the growths of the backlog on behalf of all. The others, the
// followers, wait for a kick, which is a value on a channel.
type keeper struct {
	rearm  chan struct{} // wakes the leader; of capacity 1, so that a kick is not lost
	follow chan struct{} // wakes a follower, in the same way
	led    bool          // there is a leader. Next sets led, and only wait resets it. Followers must not read Grown
}

// wait returns when there may be something to do, or when ctx ends. lead says that the caller
// is the leader. Only the leader waits for the timer and the growths of the backlog, so that a
// growth does not wake all workers.
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

// more reports whether another goroutine in Next should be woken, because a site is ready for a
// turn or there is no leader.
func (f *Frontier) more() bool {
	return !f.led || len(f.unsearched.sites) > 0 || f.upNext(f.now()) != nil || len(f.waiting.sites) > 0 && !f.waiting.sites[0].due.After(f.now())
}

// kickLocked wakes a goroutine in Next after a change. If there is a leader, it wakes the
// leader, so that the leader computes again how long to wait. Otherwise it wakes a follower,
// which becomes the leader if it gets no turn. It requires that f.mu is held.
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
