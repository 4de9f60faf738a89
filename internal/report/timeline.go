package report

import (
	"math"
	"strconv"
	"time"
)

// mostPoints is the largest number of steps of a timeline.
const mostPoints = 120

// A timeline counts what happened in steps of equal length. A step is one second long at first.
// If more than mostPoints steps are needed, the length is doubled.
type timeline struct {
	begin  time.Time // when the first step begins; zero: nothing was counted
	step   time.Duration
	points []Point
}

// start sets the beginning of the first step.
func (t *timeline) start(at time.Time) {
	t.begin, t.step = at.UTC().Truncate(time.Second), time.Second
}

// at returns the Point of the step in which the time when is. A time before the first step
// counts in the first step. The result is valid until the next call.
func (t *timeline) at(when time.Time) *Point {
	if t.begin.IsZero() {
		t.start(when)
	}
	i := max(0, when.Sub(t.begin)) / t.step
	for i >= mostPoints {
		t.double()
		i /= 2
	}
	for int(i) >= len(t.points) {
		t.points = append(t.points, Point{})
	}
	return &t.points[i]
}

// double makes one step of each two.
func (t *timeline) double() {
	n := (len(t.points) + 1) / 2
	for i := range n {
		p := t.points[2*i]
		if 2*i+1 < len(t.points) {
			p.add(&t.points[2*i+1])
		}
		t.points[i] = p
	}
	t.points, t.step = t.points[:n], 2*t.step
}

func (p *Point) add(o *Point) {
	p.Requests += o.Requests
	p.Pages += o.Pages
	p.Bytes += o.Bytes
	p.Refused += o.Refused
	p.Found += o.Found
	p.Ended += o.Ended
	for i, n := range o.Answers {
		p.Answers[i] += n
	}
}

func (t *timeline) series() Series {
	return Series{Begin: t.begin, Step: t.step.Seconds(), Points: t.points}
}

// A histogram counts lengths of time in bins, sixteen for each power of ten. Its quantiles are
// accurate to 1/12.
type histogram struct {
	from int      // number of the bin bins[0]
	bins []uint32 // counts of the bins, up to the bin of the longest length that was counted
	n    int64
}

const (
	binsPerDecade = 16
	shortest      = 1e-5 // lower bound of the shortest bin, in seconds
	longest       = 1e5
)

func bin(seconds, perDecade float64) int {
	return int(math.Floor(math.Log10(min(max(seconds, shortest), longest)) * perDecade))
}

func (h *histogram) add(d time.Duration) {
	b := bin(d.Seconds(), binsPerDecade)
	if h.n == 0 {
		h.from = b
	}
	for ; b < h.from; h.from-- {
		h.bins = append([]uint32{0}, h.bins...)
	}
	for b-h.from >= len(h.bins) {
		h.bins = append(h.bins, 0)
	}
	h.bins[b-h.from]++
	h.n++
}

// quantile returns the shortest length of time that the given part of all counted lengths does
// not exceed. The part 0.5 gives the median. quantile returns 0 if nothing was counted.
func (h *histogram) quantile(part float64) float64 {
	want, sum := int64(math.Ceil(part*float64(h.n))), int64(0)
	for i, n := range h.bins {
		if sum += int64(n); sum >= want && n > 0 {
			return rounded(math.Pow(10, (float64(h.from+i)+0.5)/binsPerDecade), 3)
		}
	}
	return 0
}

// rounded returns x rounded to the given number of digits. Further digits have no meaning, and
// may differ between processors.
func rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return x
}
