package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram counts times, accurate to 1/32. Its size is constant. It is safe for concurrent
// use.
type histogram struct {
	counts [1024]atomic.Int64 // by bucketOf; the last one also has all times above nineteen hours
	worst  atomic.Int64       // nanoseconds
}

// bucketOf returns the bucket of a time in microseconds. Each time below 64 has its own bucket;
// above that each power of two has 32.
func bucketOf(us uint64) int {
	shift := max(0, bits.Len64(us)-6)
	return shift*32 + int(us>>shift)
}

// upTo returns the first time above a bucket, in microseconds.
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

// Lateness is how long after the allowed time requests came. A figure may be too high by at
// most 1/32.
type Lateness struct {
	Requests           int64 // requests that had to wait for a time, and did
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

// quantile returns the time that this share of all n does not exceed.
func (h *histogram) quantile(n int64, share float64) time.Duration {
	below := int64(0)
	for i := range h.counts {
		if below += h.counts[i].Load(); below > 0 && float64(below) >= share*float64(n) {
			return min(time.Duration(upTo(i))*time.Microsecond, time.Duration(h.worst.Load()))
		}
	}
	return 0
}
