package revisit

import (
	"math"
	"time"
)

// A Policy computes when a page is fetched again. It must always return the same for the same
// Visit. The methods of the policies in this package are safe for concurrent use.
type Policy interface {
	// Next returns the time from a visit to the next one. Zero, a negative time, and more than
	// Longest count as Longest.
	Next(v Visit) time.Duration
}

// Longest is the longest time between two visits.
const Longest = 10 * 365 * 24 * time.Hour

// A Visit is a visit with the data about its page.
type Visit struct {
	History       // including this visit
	Changed bool  // the page has changed since the visit before
	Hints   Hints // from its server
	// Pause is the time since the visit before; 0 at the first visit.
	Pause time.Duration

	// The page, for a policy that distinguishes pages; in this package only Hinted does, by List.
	URL   string
	Tag   string // of its seed, or set by a program
	Depth int    // links from the seed
	List  bool   // it is a sitemap or a feed, with dates of pages
}

// A PolicyFunc is a function as a Policy.
type PolicyFunc func(Visit) time.Duration

// Next implements Policy.
func (f PolicyFunc) Next(v Visit) time.Duration { return f(v) }

// A History counts the observed changes of a page.
type History struct {
	Seen    int           // visits without the first
	Changes int           // visits at which it had changed
	Watched time.Duration // from the first visit to the last
}

// And returns the history with one more visit, pause after the last.
func (h History) And(pause time.Duration, changed bool) History {
	h.Seen++
	h.Watched += pause
	if changed {
		h.Changes++
	}
	return h
}

// Rate estimates how often a page changes, in changes per unit. Several changes between two
// visits are seen as one, so the estimate is based on the visits without a change. The
// constants added to both counts remove the bias for few visits, and keep the rate finite for
// a page that has always changed. Rate returns 0 without observations.
func (h History) Rate(unit time.Duration) float64 {
	if h.Seen <= 0 || h.Watched <= 0 {
		return 0
	}
	n, unchanged := float64(h.Seen), float64(h.Seen-h.Changes)
	return -math.Log((unchanged+0.5)/(n+0.5)) * n / (float64(h.Watched) / float64(unit))
}

// Fixed is a Policy that fetches each page after the same time.
type Fixed struct {
	Every time.Duration
}

func (f Fixed) Next(Visit) time.Duration { return f.Every }

// Adaptive is a Policy that fetches a page sooner if it has changed, and later if it has not.
// It needs no history, and adapts if the page changes its habits; but it spends on pages that
// change at each visit what it saves on the others.
type Adaptive struct {
	Least, Most time.Duration // limits of the pause
	Start       time.Duration // pause after the first visit; 0: the geometric mean of Least and Most
	Sooner      float64       // factor of the pause if the page has changed; 0: 0.6
	Later       float64       // factor if it has not; 0: 1.4
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

// within returns a time limited to least and to most; most 0 means Longest.
func within(d float64, least, most time.Duration) time.Duration {
	if most <= 0 {
		most = Longest
	}
	if d >= float64(most) { // which may be rounded up
		return most
	}
	return min(max(time.Duration(d), least), most)
}

// Rate is a Policy that keeps as many copies fresh as its requests allow: it derives the
// pause from the estimated rate of change so that the last request for each page has the same
// worth. A page that changes once in Mean is fetched once in Mean, and one that changes less
// often is fetched less often. A page that changes more often is fetched more often, up to
// the rate at which a copy is stale again at once: then more requests are worth less than for
// other pages. From about four changes in Mean on no request is worth it, and the page is
// fetched once in Most.
type Rate struct {
	Mean        time.Duration
	Least, Most time.Duration // limits of the pause; 0: Mean/10 and 10 Mean
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
	// Add a change in a time of Mean before the history: a page that was unchanged at three
	// visits may change tomorrow.
	watched := float64(v.Watched) / float64(r.Mean)
	rate := (v.Rate(r.Mean)*watched + 1) / (watched + 1)
	pause, worth := bestPause(rate)
	if !worth {
		return most
	}
	return within(pause*float64(r.Mean), least, most)
}

// worthOfMean is the gain of one more request for a page that changes once in a unit and is
// fetched once in it: see gain.
var worthOfMean = gain(1, 1)

// gain returns how much fresher one more request makes a page that changes at a rate and is
// fetched at a frequency: the derivative of the part of the time for which a copy is fresh,
// frequency/rate * (1 - exp(-rate/frequency)), with respect to frequency.
func gain(rate, frequency float64) float64 {
	x := rate / frequency
	return (-math.Expm1(-x) - x*math.Exp(-x)) / rate
}

// bestPause returns the time between two visits at which a page of this rate gains as much by
// one more request as others do. ok is false if no request is worth it.
func bestPause(rate float64) (pause float64, ok bool) {
	if rate <= 0 {
		return math.Inf(1), true
	}
	if 1/rate <= worthOfMean { // the limit of the gain of any request
		return 0, false
	}
	// The gain falls as the frequency grows. For a page that hardly changes it is small at any
	// practical frequency.
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
