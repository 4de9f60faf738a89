package fetch

import (
	"golang.org/x/time/rate"
)

// A throttle holds all bodies together to a number of bytes per second. It is
// safe for concurrent use.
type throttle struct{ limiter *rate.Limiter }

// portion is the most that is read at once where bytes are counted.
const portion = 16 << 10

// newThrottle returns nil for no limit.
func newThrottle(bytesPerSecond int64) *throttle {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &throttle{rate.NewLimiter(rate.Limit(bytesPerSecond), portion)}
}

// portion is the most that one read of a body may take; 0: no limit.
func (f *Fetcher) portion() int {
	if f.throttle == nil {
		return 0
	}
	return portion
}

// pay waits for the time of n bytes that were read. Meanwhile no time-out of
// the exchange runs: the pause is ours, not the site's.
func (t *throttle) pay(w *watch, n int) {
	if n == 0 {
		return
	}
	w.pause()
	// It fails where the exchange is broken off, which the next read finds out.
	t.limiter.WaitN(w.parent, n)
	w.resume()
}
