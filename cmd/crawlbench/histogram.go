package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram counts times, to one part in 32. It is bounded, whatever is counted, and any
// number of goroutines may add to it.
type histogram struct {
	counts [1024]atomic.Int64 // by bucketOf; the last one has all above nineteen hours, too
	worst  atomic.Int64       // nanoseconds
}

// bucketOf is that of a time in microseconds: below 64 each has its own, above that each
// power of two has 32.
func bucketOf(us uint64) int {
	shift := max(0, bits.Len64(us)-6)
	return shift*32 + int(us>>shift)
}

// upTo is the first time that is above a bucket, in microseconds.
func upTo(bucket int) uint64 {
	if bucket < 64 {
		return uint64(bucket) + 1
	}
	shift := bucket/32 - 1
	return uint64(bucket-shift*32+1) << shift
}

func (h *histogram) add(d time.Duration) {
	h.counts[min(bucketOf(uint64(d.Microseconds())), len(h.counts)-1)].Add(1)
	raise(&h.worst, int64(d))
}

func (h *histogram) reset() {
	for i := range h.counts {
		h.counts[i].Store(0)
	}
	h.worst.Store(0)
}

// Lateness is how long requests came after the moment at which they were allowed. A
// figure is at most one part in 32 above what it stands for.
type Lateness struct {
	Requests           int64 // that had to wait for such a moment, and did
	Median, P99, Worst time.Duration
}

func (h *histogram) lateness() Lateness {
	l := Lateness{Worst: time.Duration(h.worst.Load())}
	for i := range h.counts {
		l.Requests += h.counts[i].Load()
	}
	l.Median, l.P99 = h.quantile(l.Requests, 0.5), h.quantile(l.Requests, 0.99)
	return l
}

// quantile is a time that a share of all n are not above.
func (h *histogram) quantile(n int64, share float64) time.Duration {
	below := int64(0)
	for i := range h.counts {
		if below += h.counts[i].Load(); below > 0 && float64(below) >= share*float64(n) {
			return min(time.Duration(upTo(i))*time.Microsecond, time.Duration(h.worst.Load()))
		}
	}
	return 0
}
