package revisit

import (
	"math"
	"time"
)

// A Policy says after what time a page is to be fetched again. The same Visit has the
// same answer; the methods of those of this package are safe for concurrent use.
type Policy interface {
	// Next is the time from a visit to the one behind it. What is not more than zero, or
	// more than Longest, counts as Longest.
	Next(v Visit) time.Duration
}

// Longest is the longest time between two visits.
const Longest = 10 * 365 * 24 * time.Hour

// A Visit is what is known of a page when it was fetched.
type Visit struct {
	History       // with this visit
	Changed bool  // since the visit before
	Hints   Hints // what its server says
	// Pause is the time from the visit before to this one; 0: there was none.
	Pause time.Duration

	// What page it is, for a policy that tells pages apart; of those of this package Hinted
	// does, by List.
	URL   string
	Tag   string // of the seed that it was found from, or that a program has given it
	Depth int    // links from the seed
	List  bool   // it is a sitemap or a feed, which says of pages when they were changed
}

// A PolicyFunc is a function that is a policy.
type PolicyFunc func(Visit) time.Duration

// Next implements Policy.
func (f PolicyFunc) Next(v Visit) time.Duration { return f(v) }

// A History is what was seen of how a page changes.
type History struct {
	Seen    int           // how often it was looked whether it has changed: visits but the first
	Changes int           // how often it had
	Watched time.Duration // from the first visit to the last
}

// And is the history with another visit.
func (h History) And(pause time.Duration, changed bool) History {
	h.Seen++
	h.Watched += pause
	if changed {
		h.Changes++
	}
	return h
}

// Rate estimates how often a page changes, in changes per unit of time: not by the
// changes that were seen, since of several between two visits one is seen, but by how
// often there was none. Few visits estimate little: what is added to both counts takes
// the bias off, and keeps the rate of a page finite that has changed each time. 0 where
// there is nothing to estimate by.
func (h History) Rate(unit time.Duration) float64 {
	if h.Seen <= 0 || h.Watched <= 0 {
		return 0
	}
	n, unchanged := float64(h.Seen), float64(h.Seen-h.Changes)
	return -math.Log((unchanged+0.5)/(n+0.5)) * n / (float64(h.Watched) / float64(unit))
}

// Fixed asks for each page after the same time.
type Fixed struct {
	Every time.Duration
}

func (f Fixed) Next(Visit) time.Duration { return f.Every }

// Adaptive comes sooner to a page that had changed, and later to one that had not. It
// needs no history, and follows a page whose ways have changed; it spends on pages that
// change at each visit what it saves on the others.
type Adaptive struct {
	Least, Most time.Duration // between which it stays
	Start       time.Duration // after the first visit; 0: the geometric mean of Least and Most
	Sooner      float64       // by which a pause is multiplied where the page had changed; 0: 0.6
	Later       float64       // where it had not; 0: 1.4
}

func (a Adaptive) Next(v Visit) time.Duration {
	next := float64(v.Pause)
	switch {
	case v.Pause <= 0 && a.Start > 0:
		next = float64(a.Start)
	case v.Pause <= 0:
		next = math.Sqrt(float64(a.Least) * float64(a.Most))
	case v.Changed:
		next *= orElse(a.Sooner, 0.6)
	default:
		next *= orElse(a.Later, 1.4)
	}
	return within(next, a.Least, a.Most)
}

func orElse(f, usual float64) float64 {
	if f == 0 {
		return usual
	}
	return f
}

// within is a time between two others, as far as these are given.
func within(d float64, least, most time.Duration) time.Duration {
	if most <= 0 {
		most = Longest
	}
	return time.Duration(min(max(d, float64(least)), float64(most)))
}

// Rate keeps as many copies fresh as it can for what it asks: the time between two
// visits follows from the estimated rate of change so that the last request for each
// page is worth the same. A page that changes once in Mean is asked for once in Mean,
// one that changes less often less often. One that changes more often is asked for more
// often, up to where a copy is old again at once: then more requests make less of it
// fresh than elsewhere, and from about four changes in Mean on there is none that is
// worth it: it is asked for once in Most.
type Rate struct {
	Mean        time.Duration
	Least, Most time.Duration // between which it stays; 0: Mean/10 and 10 Mean
}

func (r Rate) Next(v Visit) time.Duration {
	least, most := r.Least, r.Most
	if least <= 0 {
		least = r.Mean / 10
	}
	if most <= 0 {
		most = 10 * r.Mean
	}
	if v.Seen == 0 {
		return within(float64(r.Mean), least, most)
	}
	// As if it had been watched for Mean before, and changed once: what was seen three
	// times alike may change tomorrow.
	watched := float64(v.Watched) / float64(r.Mean)
	rate := (v.Rate(r.Mean)*watched + 1) / (watched + 1)
	pause, worth := bestPause(rate)
	if !worth {
		return most
	}
	return within(pause*float64(r.Mean), least, most)
}

// worthOfMean is what one more request brings for a page that changes once in a unit
// and is asked for once in it: see gain.
var worthOfMean = gain(1, 1)

// gain is how much fresher a page that changes at a rate gets by one more request, if it
// is asked for frequency times already: the derivative of the time for which a copy is
// fresh, frequency/rate * (1 - exp(-rate/frequency)), by frequency.
func gain(rate, frequency float64) float64 {
	x := rate / frequency
	return (-math.Expm1(-x) - x*math.Exp(-x)) / rate
}

// bestPause is the time between two visits at which a page of this rate gains as much
// by one more as others do. ok is false where it never does.
func bestPause(rate float64) (pause float64, ok bool) {
	if rate <= 0 {
		return math.Inf(1), true
	}
	if 1/rate <= worthOfMean { // the most that any request can bring
		return 0, false
	}
	// The gain falls as the frequency grows. Of a page that hardly changes it is small
	// at any frequency that can be asked for.
	low, high := 1e-4, 1e4
	for range 30 {
		middle := math.Sqrt(low * high)
		if gain(rate, middle) > worthOfMean {
			low = middle
		} else {
			high = middle
		}
	}
	return 1 / low, true
}
