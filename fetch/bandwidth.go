package fetch

import (
	"golang.org/x/time/rate"
)

// A throttle limits all bodies together to a number of bytes per second. It is safe for
// concurrent use.
type throttle struct{ limiter *rate.Limiter }

// portion is the most bytes that one read takes if bytes are counted.
const portion = 16 << 10

// newThrottle returns a throttle, or nil for no limit.
func newThrottle(bytesPerSecond int64) *throttle {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &throttle{rate.NewLimiter(rate.Limit(bytesPerSecond), portion)}
}

// portion returns the most bytes that one read of a body may take, or 0 for no limit.
func (f *Fetcher) portion() int {
	if f.throttle == nil {
		return 0
	}
	return portion
}

// pay waits until n bytes that were read fit the limit. No time-out of the exchange runs
// meanwhile: the pause is ours, not the site's.
func (t *throttle) pay(w *watch, n int) {
	if n == 0 {
		return
	}
	w.pause()
	// It fails if the exchange was cancelled, which the next read notices.
	t.limiter.WaitN(w.parent, n)
	w.resume()
}
