package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The ranks and confidences equal those of printed tables for the median.
func TestTheIntervalOfAMedianIsThatOfTheTables(t *testing.T) {
	for _, c := range []struct {
		n, k    int
		percent string
	}{
		{5, 0, "0.0"}, {6, 1, "96.9"}, {7, 1, "98.4"}, {8, 1, "99.2"}, {9, 2, "96.1"}, {11, 2, "98.8"}, {12, 3, "96.1"},
		{13, 3, "97.8"}, {15, 4, "96.5"}, {17, 5, "95.1"}, {18, 5, "96.9"}, {20, 6, "95.9"},
	} {
		sorted := make([]float64, c.n)
		for i := range sorted {
			sorted[i] = float64(i + 1)
		}
		low, high, confidence, ok := interval(sorted, 0.95)
		wantLow, wantHigh := float64(c.k), float64(c.n+1-c.k)
		if c.k == 0 {
			wantHigh = 0
		}
		if ok != (c.k > 0) || low != wantLow || high != wantHigh || fmt.Sprintf("%.1f", 100*confidence) != c.percent {
			t.Errorf("of %d: %v to %v with %v, %t, want rank %d with %s %%", c.n, low, high, confidence, ok, c.k, c.percent)
		}
	}
	if _, _, _, ok := interval(nil, 0.95); ok {
		t.Error("of nothing there is an interval")
	}
	many := make([]float64, 5000)
	if _, _, confidence, ok := interval(many, 0.95); !ok || confidence < 0.95 || confidence > 0.96 {
		t.Errorf("of many: %v, %t", confidence, ok)
	}
	sum := 0.0
	for k := range 13 {
		sum += binomial(12, k)
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("all tosses come to %v", sum)
	}
}

func TestTheMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		sorted []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{1, 4}, 2.5}, {[]float64{1, 2, 9}, 2}, {[]float64{1, 2, 4, 9}, 3}} {
		if got := middle(c.sorted); got != c.want {
			t.Errorf("%v: %v, want %v", c.sorted, got, c.want)
		}
	}
}

// pairs returns runs whose CPU times have these ratios, and that are equal otherwise.
func pairs(ratios ...float64) *[2][]result {
	var both [2][]result
	for i, ratio := range ratios {
		r := result{CPU: time.Duration(i+1) * time.Second, Memory: 10 << 20, Web: WebCounts{Pages: 20, Robots: 2, Elapsed: 2 * time.Second}}
		both[0] = append(both[0], r)
		r.CPU = time.Duration(ratio * float64(r.CPU))
		both[1] = append(both[1], r)
	}
	return &both
}

func TestWhatRatiosSayIsSaidInWords(t *testing.T) {
	bc, who := smallCase(), contestant{name: "permesso"}
	for _, c := range []struct {
		name   string
		ratios []float64
		ratio  float64
		words  string
	}{
		{"all are smaller", []float64{0.9, 0.8, 0.9, 0.7, 0.95, 0.9}, 0.9, "new takes less"},
		{"all are larger", []float64{1.1, 1.2, 1.3, 1.2, 1.4, 1.2}, 1.2, "new takes more"},
		{"one of six is on the other side", []float64{0.9, 0.8, 0.9, 0.7, 1.01, 0.9}, 0.9, "no difference seen"},
		{"two of twelve are on the other side", []float64{0.9, 0.8, 0.9, 0.7, 1.01, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 1.3}, 0.9, "new takes less"},
		{"three of twelve are on the other side", []float64{0.9, 0.8, 0.9, 0.7, 1.01, 0.9, 0.9, 0.9, 0.9, 0.9, 1.2, 1.3}, 0.9, "no difference seen"},
		{"the end of the interval is 1", []float64{0.9, 0.8, 0.9, 0.7, 1, 0.9}, 0.9, "no difference seen"},
		{"five pairs", []float64{0.5, 0.5, 0.5, 0.5, 0.5}, 0.5, "too few pairs to tell"},
	} {
		list := compare("engine", bc, &who, pairs(c.ratios...))
		cpu, rate, memory := list[0], list[1], list[2]
		if math.Abs(cpu.Ratio-c.ratio) > 1e-6 || cpu.Words != c.words || len(cpu.Ratios) != len(c.ratios) {
			t.Errorf("%s: %+v, want %v and %q", c.name, cpu, c.ratio, c.words)
		}
		for _, same := range []difference{rate, memory} {
			if want := "no difference seen"; same.Ratio != 1 || len(c.ratios) > 5 && same.Words != want {
				t.Errorf("%s: %+v, want %q", c.name, same, want)
			}
		}
	}
}

func TestASlowerBuildIsCalledSlower(t *testing.T) {
	runs := pairs(1, 1, 1, 1, 1, 1)
	for i := range runs[1] {
		runs[1][i].Web.Elapsed = 4 * time.Second
	}
	list := compare("engine", smallCase(), &contestant{name: "permesso"}, runs)
	if rate := list[1]; rate.Words != "new is slower" || rate.Ratio != 0.5 || rate.Old != 10 || rate.New != 5 {
		t.Errorf("%+v", rate)
	}
}

// A failed run and its pair are not compared.
func TestAPairWithABadEndIsLeftOut(t *testing.T) {
	runs := pairs(0.5, 0.5, 3, 0.5, 0.5, 0.5, 0.5, 0.5)
	runs[0][2].Failed = "exit status 1"
	runs[1][3].Web.Pages = 0
	runs[1][4].Memory = 0 // the system did not report it
	list := compare("engine", smallCase(), &contestant{name: "permesso"}, runs)
	for i, want := range []int{6, 6, 6} {
		if got := len(list[i].Ratios); got != want {
			t.Errorf("%s: %d pairs, want %d", list[i].Measure, got, want)
		}
	}
	if d := list[0]; slices.Contains(d.Ratios, 3) || !slices.Equal(d.Remarks, []string{"old ends with: exit status 1", "new loses 20 pages"}) {
		t.Errorf("%+v", d)
	}
}

// The test binary is compared with itself: both children serve the same case, and the output
// says that they are the same file.
func TestABuildIsComparedWithItself(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	path := filepath.Join(t.TempDir(), "ab.json")
	t.Setenv("PATH", t.TempDir()) // no program can be found and asked for its version
	args := []string{"ab", "--scale", "0.004", "--rounds", "1", "--contestants", "permesso-memory,raw-discard", "--json", path, exe, exe}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Both are the same file", "| engine | 20 hosts | permesso-memory | CPU s / 1,000 pages |", "| engine | 20 hosts | raw-discard | pages/s |", "| 1 | too few pairs to tell |  |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []difference
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != 6 || len(list[0].Ratios) != 1 || list[0].Ratio <= 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// The older build is first in every other round, so that what becomes slower over time affects
// both.
func TestTheOrderOfThePairsAlternates(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "crawlbench")
	c := comparison{bench: bench{exe: exe, temp: t.TempDir(), timeout: time.Minute}, builds: [2]build{{path: exe}, {path: broken}}, rounds: 2}
	who, err := findContestant("raw-discard")
	if err != nil {
		t.Fatal(err)
	}
	var runs [2][]result
	for round := range 2 {
		if err := c.pair(t.Context(), smallCase(), &who, round, &runs); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if runs[0][i].Failed != "" || runs[0][i].Web.Pages != 20 || !strings.Contains(runs[1][i].Failed, broken) {
			t.Errorf("%+v and %+v", runs[0][i], runs[1][i])
		}
	}
	for round, want := range []([2]int){{0, 1}, {1, 0}, {0, 1}} {
		if got := order(round); got != want {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
}

func TestAComparisonWantsTwoBuildsAndWhatTheyHave(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"there are two arguments":   {exe},
		"rounds must be positive":   {"--rounds", "0", exe, exe},
		text:                        {text, exe},
		"a program of its own":      {"--contestants", "wget2", exe, exe},
		"no contestant is named":    {"--contestants", "x", exe, exe},
		"no scenario is named":      {"--scenario", "x", exe, exe},
		"no such file or directory": {exe, filepath.Join(t.TempDir(), "none")},
	} {
		err := runAB(t.Context(), args, io.Discard)
		if want == "a program of its own" {
			if c, ferr := findContestant("wget2"); ferr != nil || !c.available() {
				continue
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
