package crawler

import "time"

// rateOver is the period over which rates are computed. It is long enough that the rate stays
// about the same if there is one request every ten seconds.
const rateOver = 30 * time.Second

// recent has the figures of each of the last seconds, in a ring.
type recent struct {
	began time.Time
	ring  [int(rateOver/time.Second) + 1]second
}

// A second has the counts of one second of the run.
type second struct {
	at              int
	pages, requests int
	bytes           int64
}

// now returns the counts of the current second.
func (r *recent) now() *second {
	at := int(time.Since(r.began) / time.Second)
	s := &r.ring[at%len(r.ring)]
	if s.at != at {
		*s = second{at: at}
	}
	return s
}

// rate returns the rates of the last seconds, without the current second. The period is
// rateOver or, if the run is younger, the age of the run. In the first second of a run the
// rates are zero.
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
