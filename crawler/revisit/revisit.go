package revisit

import (
	"math"
	"time"
)

// A Policy computes the time until a page is fetched again. It must always return the same result
// for the same Visit. The methods of the policies in this package are safe for concurrent use.
type Policy interface {
	// Next returns the time from the visit v to the next visit of the page. A result that is zero,
	// negative or longer than Longest counts as Longest.
	Next(v Visit) time.Duration
}

// Longest is the maximum time between two visits.
const Longest = 10 * 365 * 24 * time.Hour

// A Visit is one fetch of a page, with the data about the page that a Policy may use.
type Visit struct {
	History       // including this visit
	Changed bool  // the page has changed since the previous visit
	Hints   Hints // hints of the page's server
	// Pause is the time since the previous visit; 0 at the first visit.
	Pause time.Duration

	// The fields below describe the page, for policies that treat pages differently. In this
	// package, only Hinted does so, by the field List.
	URL   string
	Tag   string // tag of the page, which it has from a seed or from the program
	Depth int    // number of links from the seed
	List  bool   // the page is a sitemap or a feed with dates of other pages
}

// A PolicyFunc is an adapter that makes a function a Policy.
type PolicyFunc func(Visit) time.Duration

// Next implements Policy. It calls f.
func (f PolicyFunc) Next(v Visit) time.Duration { return f(v) }

// A History counts the observed changes of a page.
type History struct {
	Seen    int           // number of visits after the first
	Changes int           // number of visits at which the page had changed
	Watched time.Duration // time from the first visit to the last
}

// And returns the history with one more visit. pause is the time since the previous visit. changed
// reports whether the page has changed since then.
func (h History) And(pause time.Duration, changed bool) History {
	h.Seen++
	h.Watched += pause
	if changed {
		h.Changes++
	}
	return h
}

// Rate estimates the rate of change of a page, in changes per unit. Several changes between two
// visits are seen as one change. Therefore the estimate is based on the visits without a change. A
// constant is added to the number of visits, and to the number of visits without a change. It
// removes the bias if there are few visits, and keeps the rate finite if the page had changed at
// every visit. Rate returns 0 if there are no observations.
func (h History) Rate(unit time.Duration) float64 {
	if h.Seen <= 0 || h.Watched <= 0 || h.Changes == 0 { // without changes the formula would give -0
		return 0
	}
	n, unchanged := float64(h.Seen), float64(h.Seen-h.Changes)
	return -math.Log((unchanged+0.5)/(n+0.5)) * n / (float64(h.Watched) / float64(unit))
}

// Fixed is a Policy that fetches each page again after the same time.
type Fixed struct {
	Every time.Duration
}

// Next returns f.Every.
func (f Fixed) Next(Visit) time.Duration { return f.Every }

// Adaptive is a Policy that adapts the pause before the next visit of a page. The pause becomes
// shorter if the page has changed, and longer if it has not. Adaptive needs no history, and adapts
// if the page begins to change more or less often. But it fetches pages that change at each visit
// very often, with the requests that it saves by fetching other pages less often.
type Adaptive struct {
	Least, Most time.Duration // limits of the pause
	Start       time.Duration // pause after the first visit; 0: the geometric mean of Least and Most
	Sooner      float64       // factor for the pause after a change; 0: 0.6
	Later       float64       // factor for the pause after a visit without a change; 0: 1.4
}

// Next implements Policy. It multiplies v.Pause by a.Sooner or a.Later.
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

// within returns d, limited to the range from least to most. A most of 0 means Longest.
func within(d float64, least, most time.Duration) time.Duration {
	if most <= 0 {
		most = Longest
	}
	if d >= float64(most) { // compared as floats, because the float64 of most may be rounded up
		return most
	}
	return min(max(time.Duration(d), least), most)
}

// Rate is a Policy that keeps as many copies fresh as its requests allow. A copy is fresh until its
// page changes. Rate computes the pause from the estimated rate of change, so that one more request
// would gain the same freshness for each page.
//
// A page that changes once in Mean is fetched once in Mean. A page that changes less often is
// fetched less often. A page that changes more often is fetched more often, but only up to a limit:
// a copy of a page that changes very often is stale again at once, so a request for it gains less
// than a request for another page. A page that changes about four times in Mean or more often is
// fetched only once in Most.
type Rate struct {
	Mean        time.Duration
	Least, Most time.Duration // limits of the pause; 0: Mean/10 and 10 times Mean
}

// Next implements Policy. It computes the pause from the history of the page.
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
	// One change is added, in a time of Mean before the history, because a page that was unchanged
	// at three visits may still change tomorrow.
	watched := float64(v.Watched) / float64(r.Mean)
	rate := (v.Rate(r.Mean)*watched + 1) / (watched + 1)
	pause, worth := bestPause(rate)
	if !worth {
		return most
	}
	return within(pause*float64(r.Mean), least, most)
}

// worthOfMean is the gain of one more request for a page that changes once in a unit of time and is
// fetched once in that unit. The function gain defines the gain.
var worthOfMean = gain(1, 1)

// gain returns the gain in freshness from one more request for a page. rate is the rate of change
// of the page, and frequency is the number of requests for it per unit of time. A copy is fresh
// during the part frequency/rate * (1 - exp(-rate/frequency)) of the time. The gain is the
// derivative of this part with respect to frequency.
func gain(rate, frequency float64) float64 {
	x := rate / frequency
	return (-math.Expm1(-x) - x*math.Exp(-x)) / rate
}

// bestPause returns the time between two visits of a page with this rate of change. At that pause,
// one more request would gain as much as worthOfMean. ok is false if any request for the page gains
// less than that.
func bestPause(rate float64) (pause float64, ok bool) {
	if rate <= 0 {
		return math.Inf(1), true
	}
	if 1/rate <= worthOfMean { // no request for the page gains more than 1/rate
		return 0, false
	}
	// The gain falls when the frequency grows. If the page hardly changes, the gain is small at any
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
