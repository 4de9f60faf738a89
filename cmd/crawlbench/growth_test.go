package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A growth writes a chart and two profiles if they are requested, and prints the rows of the
// chart.
func TestAGrowthIsPrintedDrawnAndProfiled(t *testing.T) {
	dir := t.TempDir()
	svg, profile := filepath.Join(dir, "growth.svg"), filepath.Join(dir, "growth")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"frontier", "--urls", "3000", "--hosts", "100", "--active", "20", "--workers", "4",
		"--svg", svg, "--profile", profile}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| URLs | pages | pages/s | links/s | us CPU/page | KB written/page | anonymous MiB | B of disk/URL |\n") {
		t.Errorf("no rows: %s", out.String())
	}
	raw, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "<polyline"); n != 4 || !strings.Contains(string(raw), ">3k</text>") {
		t.Errorf("%d curves: %s", n, raw)
	}
	for _, name := range []string{".cpu", ".heap"} {
		if info, err := os.Stat(profile + name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlacesOfAGrowth(t *testing.T) {
	rows := []growthRow{{URLs: 1000, CPU: 50}, {URLs: 10_000, CPU: 100}, {URLs: 50_000, CPU: math.NaN()}, {URLs: 100_000, CPU: -1}}
	var c curve
	c.plot(rows, func(r growthRow) float64 { return r.CPU }, 0)
	want := []point{
		{X: plotLeft, Y: plotTop + plotHeight/2, Label: "1k", Value: "50", LabelDown: plotTop + plotHeight + 16, ValueUp: plotTop + plotHeight/2 - 7},
		{X: plotLeft + plotWidth/2, Y: plotTop, Label: "10k", Value: "100", LabelDown: plotTop + plotHeight + 16, ValueUp: plotTop - 7},
		{X: plotLeft + plotWidth, Y: plotTop + plotHeight, Label: "100k", Value: "-1", LabelDown: plotTop + plotHeight + 16, ValueUp: plotTop + plotHeight - 7},
	}
	if len(c.Points) != len(want) {
		t.Fatalf("%+v", c.Points)
	}
	for i, p := range c.Points {
		if p != want[i] {
			t.Errorf("%+v, want %+v", p, want[i])
		}
	}
	if !strings.HasPrefix(c.Line, "35,90 185,45 335,135") {
		t.Errorf("the line is %s", c.Line)
	}
	for n, want := range map[int64]string{999: "999", 100_378: "100k", 1_000_023: "1M", 2_549_000: "2.5M"} {
		if got := short(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if raw := string(drawGrowth(nil)); !strings.Contains(raw, "</svg>") {
		t.Errorf("of no rows: %s", raw)
	}
}
