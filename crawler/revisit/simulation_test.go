package revisit_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
)

var rewrite = flag.Bool("rewrite", false, "write the table and the plot of the documents anew")

const day = 24 * time.Hour

// The size of the simulated web. Its pages change as Poisson processes, with rates that differ as
// widely as on the real web: most pages hardly ever change, and a few change all the time.
const (
	simulatedPages = 300
	simulatedDays  = 300
	settledDays    = 100 // results before this day do not count, because the policy has to learn
)

// rates returns the rate of change of each page, in changes per day. The average is 1.
func rates() []float64 {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]float64, simulatedPages)
	sum := 0.0
	for i := range all {
		all[i] = math.Exp(1.5 * random.NormFloat64())
		sum += all[i]
	}
	for i := range all {
		all[i] *= simulatedPages / sum
	}
	return all
}

// A measure is the result of simulating a policy.
type measure struct {
	requests float64 // requests per page and day
	fresh    float64 // part of the time in which a copy was up to date
}

// simulate visits all pages by a policy, which may depend on the true rate of change of the page.
func simulate(rates []float64, policy func(rate float64) revisit.Policy) (m measure) {
	for i, rate := range rates {
		random := rand.New(rand.NewPCG(3, uint64(i)))
		p := policy(rate)
		wait := func() time.Duration { return time.Duration(random.ExpFloat64() / rate * float64(day)) }
		v, now, change := revisit.Visit{}, time.Duration(0), wait()
		for now < simulatedDays*day {
			next := now + max(p.Next(v), time.Minute)
			v.Changed = change < next
			if measured := settledDays * day; next > measured {
				fresh := min(change, next, simulatedDays*day) - max(now, measured)
				m.fresh += max(0, float64(fresh))
				m.requests++
			}
			for change < next {
				change = next + wait() // a Poisson process has no memory, so it starts again from now
			}
			v.Pause = next - now
			v.History = v.And(v.Pause, v.Changed)
			now = next
		}
	}
	of := float64(simulatedPages) * float64((simulatedDays-settledDays)*day)
	return measure{m.requests / of * float64(day), m.fresh / of}
}

// spending simulates a policy that makes the given number of requests per page and day. It tries
// scales of the policy until that number is reached, because it depends on the changes of the
// pages.
func spending(requests float64, rates []float64, policy func(scale time.Duration, rate float64) revisit.Policy) measure {
	low, high := 0.01, 3000.0 // in days
	var m measure
	for range 25 {
		scale := math.Sqrt(low * high)
		m = simulate(rates, func(rate float64) revisit.Policy {
			return policy(time.Duration(scale*float64(day)), rate)
		})
		switch over := m.requests / requests; {
		case math.Abs(over-1) < 0.01:
			return m
		case over > 1:
			low = scale
		default:
			high = scale
		}
	}
	return m
}

// A proportional policy visits a page as often as the page changes. It knows the rate of change of
// each page.
type proportional struct{ pause time.Duration }

func (p proportional) Next(revisit.Visit) time.Duration { return p.pause }

var contestants = []struct {
	name, color string
	of          func(scale time.Duration, rate float64) revisit.Policy
}{
	{"rate", "#0a6", func(scale time.Duration, rate float64) revisit.Policy { return revisit.Rate{Mean: scale} }},
	{"fixed", "#06c", func(scale time.Duration, rate float64) revisit.Policy { return revisit.Fixed{Every: scale} }},
	{"adaptive", "#c60", func(scale time.Duration, rate float64) revisit.Policy {
		return revisit.Adaptive{Least: scale / 30, Most: 30 * scale}
	}},
	{"in proportion to changes", "#a3a", func(scale time.Duration, rate float64) revisit.Policy {
		return proportional{time.Duration(float64(scale) / rate)}
	}},
}

var budgets = []float64{0.05, 0.1, 0.2, 0.5, 1, 2}

func simulated(t *testing.T) (fresh [][]float64) {
	t.Helper()
	web := rates()
	for _, budget := range budgets {
		var row []float64
		for _, c := range contestants {
			m := spending(budget, web, c.of)
			if math.Abs(m.requests/budget-1) > 0.05 {
				t.Fatalf("%s spends %.3f requests for each page and day, not %v", c.name, m.requests, budget)
			}
			row = append(row, m.fresh)
		}
		fresh = append(fresh, row)
	}
	return fresh
}

// rateNeeds is the number of requests per page and day that Rate needs if pages change once a day
// on average. With fewer requests, Rate learns too little to be better than Fixed.
const rateNeeds = 0.1

func TestTheBestPolicyIsNeitherUniformNorProportional(t *testing.T) {
	fresh := simulated(t)
	for i, row := range fresh {
		t.Logf("%4v requests: %.3f", budgets[i], row)
		rate, fixed, inProportion := row[0], row[1], row[3]
		if fixed <= inProportion || rate < fixed-0.01 || budgets[i] >= rateNeeds && rate <= fixed {
			t.Errorf("with %v requests for each page and day, fresh are: by rate %.3f, all alike %.3f, in proportion %.3f", budgets[i], rate, fixed, inProportion)
		}
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("figures in the documents are those of amd64: others may round otherwise")
	}
	golden(t, "../../docs/explain/revisit.svg", "", "", plot(fresh))
	golden(t, "../../docs/explain/revisit.md", "<!-- simulation -->\n", "<!-- end -->\n", table(fresh))
}

// golden compares want with the text between two marks of a file, or with the whole file. With the
// flag rewrite, it writes want to the file.
func golden(t *testing.T, name, from, to, want string) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil && !(*rewrite && from == "") {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(raw), from)
	is, tail, closed := strings.Cut(rest, to)
	if from == "" {
		head, is, tail, found, closed = "", string(raw), "", true, true
	}
	switch {
	case !found || !closed:
		t.Fatalf("%s has no place for the figures between %q and %q", name, from, to)
	case *rewrite:
		if err := os.WriteFile(name, []byte(head+from+want+to+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case is != want:
		t.Errorf("%s has other figures: go test ./crawler/revisit -run Best -rewrite\ngot:\n%s\nwant:\n%s", name, is, want)
	}
}

func table(fresh [][]float64) string {
	var b strings.Builder
	b.WriteString("| requests for each page and day |")
	for _, c := range contestants {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|--:|" + strings.Repeat("--:|", len(contestants)) + "\n")
	for i, row := range fresh {
		fmt.Fprintf(&b, "| %v |", budgets[i])
		for _, f := range row {
			fmt.Fprintf(&b, " %.2f |", f)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// plot draws the freshness against the number of requests, on a logarithmic scale.
func plot(fresh [][]float64) string {
	const width, height, left, top, bottom = 640.0, 340.0, 60.0, 40.0, 50.0
	x := func(budget float64) float64 {
		of := math.Log(budget/budgets[0]) / math.Log(budgets[len(budgets)-1]/budgets[0])
		return left + of*(width-left-190)
	}
	y := func(fresh float64) float64 { return height - bottom - fresh*(height-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" font-size=\"13\">\n", width, height)
	b.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n")
	b.WriteString("<text x=\"10\" y=\"20\" font-weight=\"bold\">part of the copies that is fresh, by requests for each page and day</text>\n")
	for _, tick := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(&b, "<path d=\"M%g %.1fH%.1f\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%v</text>\n", left, y(tick), x(budgets[len(budgets)-1]), left-8, y(tick)+4, tick)
	}
	for _, budget := range budgets {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%v</text>\n", x(budget), height-bottom+20, budget)
	}
	below := 0.0
	for i, c := range contestants {
		var path strings.Builder
		for j, row := range fresh {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x(budgets[j]), y(row[i]))
		}
		at := max(y(fresh[len(fresh)-1][i]), below+16)
		below = at
		fmt.Fprintf(&b, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/><text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", &path, c.color, x(budgets[len(budgets)-1])+8, at+4, c.color, c.name)
	}
	return b.String() + "</svg>\n"
}
