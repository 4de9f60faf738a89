package crawler

import "time"

// rateOver is how far back a rate looks: so long that a site that is asked every ten
// seconds shows a steady one.
const rateOver = 30 * time.Second

// recent are the figures of the last seconds, one after the other in a ring.
type recent struct {
	began time.Time
	ring  [int(rateOver/time.Second) + 1]second
}

// A second is what was counted in one since recent.began.
type second struct {
	at              int
	pages, requests int
	bytes           int64
}

// now is the second of now.
func (r *recent) now() *second {
	at := int(time.Since(r.began) / time.Second)
	s := &r.ring[at%len(r.ring)]
	if s.at != at {
		*s = second{at: at}
	}
	return s
}

// rate is that of the last seconds, without the one that has not ended: of fewer than
// rateOver, where the run is younger, and nothing in its first one.
func (r *recent) rate() StatusRate {
	at := int(time.Since(r.began) / time.Second)
	over := min(at, len(r.ring)-1)
	if over == 0 {
		return StatusRate{}
	}
	var sum second
	for _, s := range r.ring {
		if s.at < at && s.at >= at-over {
			sum.pages += s.pages
			sum.requests += s.requests
			sum.bytes += s.bytes
		}
	}
	by := float64(over)
	return StatusRate{Seconds: by, Pages: float64(sum.pages) / by, Requests: float64(sum.requests) / by, Bytes: float64(sum.bytes) / by}
}

func (c *counts) rate() StatusRate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.rate()
}
