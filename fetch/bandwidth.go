package fetch

import (
	"golang.org/x/time/rate"
)

// A throttle limits the bytes per second of all bodies together. It is safe for concurrent use.
type throttle struct{ limiter *rate.Limiter }

// portion is the largest number of bytes that one read of a body takes. It applies if the
// bandwidth, or the total bytes of the crawl or of the site, are limited.
const portion = 16 << 10

// newThrottle returns a throttle, or nil if bytesPerSecond is not positive, which means no
// limit.
func newThrottle(bytesPerSecond int64) *throttle {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &throttle{rate.NewLimiter(rate.Limit(bytesPerSecond), portion)}
}

// portion returns the largest number of bytes that one read of a body may take, or 0 if there
// is no limit.
func (f *Fetcher) portion() int {
	if f.throttle == nil {
		return 0
	}
	return portion
}

// pay waits until the limit allows n bytes, which were already read from a body. The time-outs of
// the exchange (see watch) do not run during this wait, because the site does not cause it.
func (t *throttle) pay(w *watch, n int) {
	if n == 0 {
		return
	}
	w.pause()
	// The error is ignored: WaitN fails only if the exchange was cancelled, which the next read
	// notices.
	t.limiter.WaitN(w.parent, n)
	w.resume()
}
