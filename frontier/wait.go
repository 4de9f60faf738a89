package frontier

import (
	"context"
	"math"
	"time"
)

// A keeper lets all goroutines that wait in Next share one timer. One of these goroutines, the
// leader, waits for the timer and for the growths of the backlog. The others, the followers, wait
// for a kick: a value on a channel.
type keeper struct {
	rearm  chan struct{} // wakes the leader; its capacity is 1, so that no kick is lost
	follow chan struct{} // wakes a follower; its capacity is 1, too
	led    bool          // there is a leader, so followers must not read Grown. Next sets led, and only wait resets it
}

// wait returns when there may be something to do, when d has passed, or when ctx ends. lead says
// that the caller is the leader. Only the leader waits for the timer and the growths of the
// backlog, so that a growth does not wake all workers.
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

// more reports whether another goroutine in Next should be woken: a site is ready for a turn, or
// there is no leader.
func (f *Frontier) more() bool {
	return !f.led || len(f.unsearched.sites) > 0 || f.upNext(f.now()) != nil || len(f.waiting.sites) > 0 && !f.waiting.sites[0].due.After(f.now())
}

// kickLocked wakes a goroutine in Next after a change. If there is a leader, kickLocked wakes it,
// so that it computes again how long to wait. Otherwise it wakes a follower, which becomes the
// leader if it gets no turn. The caller must hold f.mu.
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
