package report

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A timeline has at most mostPoints steps for any times in any order. It loses no count, and
// has each in the step of its time.
func TestATimelineKeepsEachMomentInItsStep(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, whole := range []time.Duration{time.Second, time.Minute, 119 * time.Second, 2 * time.Minute, 36 * time.Hour, 3 * 365 * 24 * time.Hour} {
		begin := time.Date(2026, 5, 4, 10, 0, 0, int(time.Second/2), time.UTC)
		var line timeline
		var moments []time.Time
		line.start(begin)
		for range 500 {
			at := begin.Add(time.Duration(random.Int64N(int64(whole))))
			moments = append(moments, at)
			line.at(at).Pages++
		}
		line.at(begin.Add(-time.Hour)).Bytes++
		s := line.series()
		if len(s.Points) > mostPoints || s.Begin != begin.Truncate(time.Second) || s.Points[0].Bytes != 1 {
			t.Errorf("%v: %d steps from %v, %+v", whole, len(s.Points), s.Begin, s.Points[0])
		}
		want := make([]int64, len(s.Points))
		for _, at := range moments {
			want[int(at.Sub(s.Begin).Seconds()/s.Step)]++
		}
		for i, n := range want {
			if s.Points[i].Pages != n {
				t.Errorf("%v: %d in step %d, want %d", whole, s.Points[i].Pages, i, n)
			}
		}
	}
}

// If two steps become one, the new step has the sum of their counts.
func TestStepsThatBecomeOneAreAdded(t *testing.T) {
	a := Point{1, 2, 3, [6]int64{4, 5, 6, 7, 8, 9}, 10, 11, 12}
	b := a
	b.add(&a)
	if want := (Point{2, 4, 6, [6]int64{8, 10, 12, 14, 16, 18}, 20, 22, 24}); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
}

// A quantile of a histogram is accurate to 1/12.
func TestAQuantileIsWithinATwelfth(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 50 {
		var h histogram
		var all []float64
		for range 1 + random.IntN(300) {
			d := time.Duration(math.Pow(10, 4.1+8*random.Float64()))
			all = append(all, d.Seconds())
			h.add(d)
		}
		slices.Sort(all)
		for _, part := range []float64{0.1, 0.5, 0.9, 1} {
			want := all[int(math.Ceil(part*float64(len(all))))-1]
			if got := h.quantile(part); math.Abs(got-want) > want/12 {
				t.Errorf("round %d: %v of %d is %v, want %v", round, part, len(all), got, want)
			}
		}
	}
	if got := new(histogram).quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// A top returns the first rows in its order, no matter in which order they were added.
func TestATopHasTheFirstOfAll(t *testing.T) {
	for _, n := range []int{0, 1, 3, 6, 7, 1000} {
		rows := top[int]{most: 3, order: func(a, b int) int { return a - b }}
		for _, i := range rand.New(rand.NewPCG(5, 6)).Perm(n) {
			rows.add(i)
		}
		want := Table[int]{int64(n), []int{0, 1, 2}[:min(n, 3)]}
		if got := rows.table(); got.All != want.All || !slices.Equal(got.Rows, want.Rows) || got.Rows == nil {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

// A tally has at most mostNames names, and the sum of its counts includes all others.
func TestATallyHasFewNames(t *testing.T) {
	all := tally{}
	for i := range 2 * mostNames {
		all.add(fmt.Sprint(i))
	}
	sum := int64(0)
	for _, c := range all.counts() {
		sum += c.N
	}
	if len(all) > mostNames+1 || sum != 2*mostNames || all.counts()[0].Name != restName {
		t.Errorf("%d names, %d in all, %v", len(all), sum, all.counts()[0])
	}
}

// Numbers are formatted for readers, and axes have a few round ticks.
func TestFiguresAreWrittenForPeople(t *testing.T) {
	for got, want := range map[string]string{
		grouped(0): "0", grouped(999): "999", grouped(1234567): "1\u202f234\u202f567", grouped(-1234): "-1\u202f234",
		short(0.0012): "0.0012", short(0.25): "0.25", short(12.34): "12.3", short(99.96): "100",
		size(999): "999 B", size(1500): "1.5 kB", size(5e6): "5 MB", size(999_600): "1 MB", size(999.4e3): "999 kB", size(999.5e3): "1 MB", size(1000): "1 kB", size(5e15): "5 PB", size(5e18): "5\u202f000 PB",
		span(0): "0 s", span(47e-6): "47 µs", span(0.2): "200 ms", span(90): "90 s", span(600): "10 min", span(7200): "2 h", span(864000): "10 d",
		visible("a\u202eb\x00c"): `a\u{202e}b\u{0}c`, visible("e\u0300\u0301\u0302"): "e\u0300\u0301", clip("abc", 2): "ab…", clip("ab", 2): "ab",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, most := range []float64{0, 0.3, 1, 3, 7, 99, 160, 5e6} {
		a := linear(most, 0, 100, short)
		if n := len(a.ticks); n < 4 || n > 8 || a.to < most || most > 0 && a.to > 1.5*most {
			t.Errorf("up to %v: %v, to %v", most, a.ticks, a.to)
		}
	}
}

// The ticks of axes, and numbers near the bounds of their units, equal the golden file.
func TestGoldenAxes(t *testing.T) {
	var is strings.Builder
	for _, s := range []float64{4e-7, 0.000999, 0.001, 0.0994, 0.0995, 0.25, 0.999, 1, 9.94, 9.95, 9.96, 59.4, 99.4, 99.5, 119.9, 120, 121, 180, 7199, 7200, 7201, 86400, 172799, 172800, 864000, 1e9} {
		fmt.Fprintf(&is, "%v: %s, %s, %s, %s\n", s, short(s), span(s), size(s), size(1000*s))
	}
	ticks := func(a *axis) {
		for _, v := range a.ticks {
			fmt.Fprintf(&is, " %.1f %s;", a.at(v), a.name(v))
		}
		fmt.Fprintf(&is, " from %v to %v\n", a.from, a.to)
	}
	for _, most := range []float64{0, 0.3, 1, 2, 3, 6, 7, 12, 99, 160, 5e6} {
		fmt.Fprintf(&is, "linear %v:", most)
		ticks(linear(most, 0, 100, short))
	}
	for _, of := range [][2]float64{{0.001, 10}, {0.002, 0.005}, {0.1, 1}, {0.3, 3}, {1, 60}, {2, 7}, {1e-4, 1e8}, {10, 600}, {60, 3600}, {4000, 50000}} {
		fmt.Fprintf(&is, "spans %v:", of)
		ticks(spans(of[0], of[1], 10, 90))
	}
	begin := time.Date(2026, 12, 31, 23, 50, 13, 0, time.UTC)
	for _, step := range []float64{1, 2, 5, 6, 10, 60, 600, 3600, 7200, 86400, 3 * 86400, 10 * 86400} {
		for _, n := range []int{1, 2, 60, 119} {
			for _, at := range []time.Time{begin, begin.Add(-20 * time.Hour)} {
				s := Series{Begin: at, Step: step, Points: make([]Point, n)}
				fmt.Fprintf(&is, "%d steps of %v from %s:", n, step, at.Format(time.DateTime))
				ticks(s.hours())
			}
		}
	}
	const golden = "testdata/axes.txt"
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(is.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), is.String()); d != "" {
		t.Error(d)
	}
}

// For an error that only prevents the comparison, unusable returns why and what the user can
// do. For other errors it returns nil.
func TestUnusable(t *testing.T) {
	inUse, damaged, version := &store.InUseError{Dir: "d"}, &store.DamagedError{Path: "p", Err: io.EOF}, &store.VersionError{Path: "p"}
	for err, want := range map[error]*NotCompared{
		store.ErrNoCrawl: {"d", "there is no crawl", "bring it back, or name another one"},
		inUse:            {"d", inUse.Error(), "make the report again when that has ended"},
		damaged:          {"d", damaged.Error(), "bring it back, or name another one"},
		version:          {"d", version.Error(), "name another one"},
		io.EOF:           nil,
	} {
		if d := cmp.Diff(want, unusable("d", err)); d != "" {
			t.Errorf("%v: %s", err, d)
		}
	}
}

// The time axis of a series has a few ticks, however long the series is.
func TestTheHoursOfASeriesAreFew(t *testing.T) {
	for _, step := range []float64{1, 2, 64, 4096, 1 << 22} {
		for _, n := range []int{1, 7, 60, 120} {
			s := Series{Begin: time.Date(2026, 12, 31, 23, 59, 13, 0, time.UTC), Step: step, Points: make([]Point, n)}
			a := s.hours()
			if len(a.ticks) > 8 || len(a.ticks) == 0 && n > 7 {
				t.Errorf("%d steps of %v s: %d moments", n, step, len(a.ticks))
			}
			for _, v := range a.ticks {
				if x := a.at(v); x < frameLeft || x > plotWidth || a.name(v) == "" {
					t.Errorf("%d steps of %v s: %v at %v", n, step, a.name(v), x)
				}
			}
		}
	}
}

// Each error, and each status that is no success, has one of the Classes, with words for it.
func TestEachTroubleHasItsClass(t *testing.T) {
	for class, of := range map[string][]fetch.Stage{
		"name":       {fetch.StageDNS, fetch.StageDNSTimeout, fetch.StageAddress},
		"connection": {fetch.StageConnect, fetch.StageConnectTimeout, fetch.StageTLS, fetch.StageTLSTimeout, fetch.StageProxy},
		"broken":     {fetch.StageReset, fetch.StageStale, fetch.StageTruncated, fetch.StageProtocol, fetch.StageEncoding, fetch.StageHeaderSize},
		"time-out":   {fetch.StageAnswerTimeout, fetch.StageBodyTimeout, fetch.StageTotalTimeout},
		"rest":       {fetch.StageCalm, fetch.StageChallenge},
		"other":      {fetch.StageStopped, "of another version"},
	} {
		for _, stage := range of {
			if got := classOf(403, string(stage)); got != class {
				t.Errorf("%s is of class %s, want %s", stage, got, class)
			}
		}
	}
	for status, want := range map[int]string{200: "", 304: "", 404: "4xx", 429: "rest", 500: "5xx", 503: "rest", -5: "other"} {
		if got := classOf(status, ""); got != want {
			t.Errorf("%d is of class %q, want %q", status, got, want)
		}
	}
	if len(classWords) != len(Classes()) || len(new(site).troubles) != len(Classes()) {
		t.Errorf("%d classes, words for %d", len(Classes()), len(classWords))
	}
}

// Two requests to a public address are apart by at least the minimum delay, even if the crawl
// has a shorter one. If the site requires a longer pause, or is slow, that pause decides how
// long the remaining URLs take.
func TestWhatIsLeftTakesTheLongestPause(t *testing.T) {
	for name, c := range map[string]struct {
		clocks frontier.Clocks
		delay  time.Duration
		want   float64
	}{
		"own":             {frontier.Clocks{}, 50 * time.Millisecond, 0.5},
		"public":          {frontier.Clocks{Public: true}, 50 * time.Millisecond, 2},
		"robots.txt":      {frontier.Clocks{Gap: 3 * time.Second}, time.Second, 30},
		"slow":            {frontier.Clocks{LastTTFB: 4 * time.Second}, time.Second, 80},
		"slower than all": {frontier.Clocks{LastTTFB: time.Hour}, time.Second, 600},
	} {
		r := &reporter{Report: &Report{}}
		st := frontier.SiteState{Site: "http://a.test", Queued: 10, Clocks: c.clocks}
		if got := r.leftOf(&st, &account.Listed{Code: frontier.Queued}, c.delay).after(0); math.Abs(got.Seconds-c.want) > 1e-9 {
			t.Errorf("%s: %v s, want %v", name, got.Seconds, c.want)
		}
	}
}

// The table of media types has at most 50 rows, and the picture at most 15.
func TestTypesAreFew(t *testing.T) {
	var r Report
	for i := range 60 {
		r.Types = append(r.Types, Type{Name: fmt.Sprint(i), Requests: 1, Bytes: 100})
	}
	if p := r.typesPlot(); len(p.Table.Rows) != mostSites || len(p.Marks) != mostBars || mostSites != 50 || mostBars != 15 {
		t.Errorf("%d rows, %d bars", len(p.Table.Rows), len(p.Marks))
	}
}

// If there are too many groups of requests, further groups are counted as one, except those
// with early requests.
func TestDotsAreFew(t *testing.T) {
	r := reporter{delays: map[delayBin]*closest{}}
	for i := range mostNames {
		r.dot(int64(i), delayBin{"own", i, 0}, time.Second, time.Second, false)
	}
	for i, early := range []bool{false, false, true} { // one request of a known group, and two of new groups
		r.dot(1, delayBin{"own", 0, i}, time.Second, time.Second, early)
	}
	rest, first, early := r.delays[delayBin{clock: restName}], r.delays[delayBin{"own", 0, 0}], r.delays[delayBin{"own", 0, 2}]
	if len(r.delays) != mostNames+2 || rest == nil || rest.Requests != 1 || first.Requests != 2 || early == nil || early.Early != 1 {
		t.Errorf("%d groups: %+v, %+v, %+v", len(r.delays), rest, first, early)
	}
}

// If there are too many groups to draw, those with early requests and the largest are drawn.
func TestDrawnDotsAreFew(t *testing.T) {
	t.Parallel()
	var delays []Delay
	for i := range 1502 {
		delays = append(delays, Delay{Clock: "own", Asked: 1, Kept: 1, Requests: int64(2000 - i)})
	}
	delays[1501].Early = 1
	var p plot
	p.dots(delays, spans(0.5, 2, 0, 100), spans(0.5, 2, 0, 100))
	bad := 0
	for _, m := range p.Marks {
		if m.Class == "dot bad" {
			bad++
		}
	}
	if len(p.Marks) != 1500 || bad != 1 || p.Marks[0].Class != "dot bad" || len(p.Legend) != 1 {
		t.Errorf("%d dots, %d of them early, %v", len(p.Marks), bad, p.Legend)
	}
}
