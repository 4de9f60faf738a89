package frontier

import (
	"math"
	"time"
)

// throttle says how long the limit on all requests forbids the next one.
func (f *Frontier) throttle(now time.Time) time.Duration {
	if f.limiter == nil || f.credit > 0 {
		return 0
	}
	missing := 1 - f.limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(f.limiter.Limit()) * float64(time.Second)))
}

// pay takes the next request's token. A turn that makes no request leaves it
// as a credit: the limiter itself cannot take back exactly.
func (f *Frontier) pay(now time.Time) {
	switch {
	case f.limiter == nil:
	case f.credit > 0:
		f.credit--
	default:
		f.limiter.ReserveN(now, 1)
	}
}

// refund takes back the token of a turn that made no request.
func (f *Frontier) refund() {
	if f.limiter != nil {
		f.credit++
	}
}
