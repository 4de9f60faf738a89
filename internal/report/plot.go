package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A plot is a picture of lines and areas, with the same data as a table.
type plot struct {
	ID, Title string
	Note      string // what the picture shows, for all readers
	Desc      string // the picture in words, for readers who do not see it
	W, H      float64
	Marks     []mark
	Texts     []label
	Legend    []key
	Table     table
	Empty     string // shown instead of the picture if there is nothing to draw
}

// A mark is a shape: a circle if R is not zero, or else a path.
type mark struct {
	Class, Path string
	X, Y, R     float64
	Title       string // shown when the mark is pointed at; may be empty
}

// A label is a text in a picture.
type label struct {
	Class, Text string
	X, Y        float64
}

// A key is an entry of the legend: it says what the marks of a class show.
type key struct{ Class, Name string }

// A table is rows of texts. The first text of each row is its head.
type table struct {
	Caption string
	Head    []string
	Text    int      // number of columns with texts; they come first, and the others have figures
	Kinds   []string // what the texts of a column name: a kind of Looks, or empty; columns may be missing
	Rows    [][]string
}

// The frame of all pictures that have axes.
const (
	plotWidth   = 520.0
	plotHeight  = 300.0
	frameLeft   = 64.0
	frameRight  = 14.0
	frameTop    = 26.0
	frameBottom = 46.0
)

// An axis maps values to coordinates in a picture, and has names for some values, its ticks.
type axis struct {
	from, to   float64 // range of the values
	start, end float64 // their coordinates in the picture
	log        bool
	ticks      []float64
	name       func(float64) string
}

func (a *axis) at(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log10(min(max(v, from), to)), math.Log10(from), math.Log10(to)
	}
	if to <= from {
		return a.start
	}
	return a.start + (min(max(v, from), to)-from)/(to-from)*(a.end-a.start)
}

// linear returns an axis from zero, with four or five names.
func linear(most, start, end float64, name func(float64) string) *axis {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, by := range []float64{5, 2, 2.5} {
		if most/(step*by) >= 3.5 {
			step *= by
			break
		}
	}
	if most/step > 6 {
		step *= 2
	}
	a := &axis{to: math.Ceil(most/step-1e-9) * step, start: start, end: end, name: name}
	for i := 0; float64(i)*step <= a.to*(1+1e-9); i++ {
		a.ticks = append(a.ticks, float64(i)*step)
	}
	return a
}

// spans returns a logarithmic axis of lengths of time, in seconds.
func spans(from, to, start, end float64) *axis {
	all := []float64{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 86400, 10 * 86400, 100 * 86400, 1000 * 86400}
	a := &axis{from: from, to: to, start: start, end: end, log: true, name: span}
	add := func(t float64) {
		if t >= from*0.999 && t <= to*1.001 {
			a.ticks = append(a.ticks, t)
		}
	}
	for _, t := range all {
		add(t)
	}
	if len(a.ticks) > 2 {
		return a
	}
	a.ticks = nil
	for _, t := range all {
		add(t)
		if t <= 1 { // above 1 s the next value is not always ten times t, so 2t and 5t are left out
			add(2 * t)
			add(5 * t)
		}
	}
	return a
}

// clockSteps are the possible distances between the named times of a time axis.
var clockSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 91 * 24 * time.Hour, 364 * 24 * time.Hour,
}

// hours returns the time axis of a series. The names are times of day or, if the series is
// long, days or months.
func (s *Series) hours() *axis {
	whole := time.Duration(s.Step * float64(len(s.Points)) * float64(time.Second))
	step := clockSteps[len(clockSteps)-1]
	for _, d := range clockSteps {
		if whole/d < 6 {
			step = d
			break
		}
	}
	for whole/step >= 6 {
		step *= 2
	}
	form := "15:04"
	switch end := s.Begin.Add(whole); {
	case step >= 300*24*time.Hour:
		form = "Jan 2006"
	case step >= 24*time.Hour:
		form = "2 Jan"
	case step < time.Minute:
		form = "15:04:05"
	case s.Begin.YearDay() != end.YearDay():
		form = "2 Jan 15:04"
	}
	a := &axis{to: float64(len(s.Points)), start: frameLeft, end: plotWidth - frameRight}
	a.name = func(v float64) string {
		return s.Begin.Add(time.Duration(v * s.Step * float64(time.Second))).Format(form)
	}
	for t := s.Begin.Truncate(step); t.Before(s.Begin.Add(whole + 1)); t = t.Add(step) {
		if v := t.Sub(s.Begin).Seconds() / s.Step; v >= 0 {
			a.ticks = append(a.ticks, v)
		}
	}
	return a
}

// frame draws the axes of a picture.
func (p *plot) frame(x, y *axis, xName, yName string) {
	var grid strings.Builder
	left, right := min(x.start, x.end), max(x.start, x.end)
	for _, v := range y.ticks {
		fmt.Fprintf(&grid, "M%.1f %.1fH%.1f", left, y.at(v), right)
		p.Texts = append(p.Texts, label{"tick end", y.name(v), left - 6, y.at(v) + 4})
	}
	last := math.Inf(-1)
	for _, v := range x.ticks {
		at := x.at(v)
		fmt.Fprintf(&grid, "M%.1f %.1fv5", at, y.start)
		name := x.name(v)
		half := float64(len([]rune(name))) * 3.4
		if at-half > last+4 && at+half <= p.W {
			last = at + half
			p.Texts = append(p.Texts, label{"tick middle", name, at, y.start + 18})
		}
	}
	p.Marks = append(p.Marks, mark{Class: "grid", Path: grid.String()})
	p.Texts = append(p.Texts, label{"axis start", yName, 4, 14}, label{"axis end", xName, right, p.H - 6})
}

// steps returns the path around an area. Its upper edge has a horizontal line at each value in
// top, one for each step of a series. Its lower edge has the values in below or, if below is
// nil, is the base line of the picture.
func steps(x, y *axis, top, below []float64) string {
	var b strings.Builder
	for i, v := range top {
		fmt.Fprintf(&b, "%c%.1f %.1fH%.1f", "ML"[min(i, 1)], x.at(float64(i)), y.at(v), x.at(float64(i+1)))
	}
	if below == nil {
		fmt.Fprintf(&b, "V%.1fH%.1fZ", y.start, x.start)
		return b.String()
	}
	for i := len(below) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "L%.1f %.1fH%.1f", x.at(float64(i+1)), y.at(below[i]), x.at(float64(i)))
	}
	return b.String() + "Z"
}

// line returns a path from the origin that has each value at the end of its step of a series.
func line(x, y *axis, values []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", x.start, y.start)
	for i, v := range values {
		fmt.Fprintf(&b, "L%.1f %.1f", x.at(float64(i+1)), y.at(v))
	}
	return b.String()
}

// A bar is a horizontal bar with its name and its value, and with parts from left to right.
type bar struct {
	name, value string
	parts       []part
}

type part struct {
	class, title string
	n            float64
}

// bars draws bars below each other. The longest is as wide as the picture.
func (p *plot) bars(rows []bar) {
	const height, left, right, letters = 34.0, 4.0, 4.0, 58
	most := 0.0
	for _, r := range rows {
		most = max(most, r.sum())
	}
	p.H = float64(len(rows))*height + 8
	for i, r := range rows {
		y := float64(i)*height + 16
		p.Texts = append(p.Texts, label{"name start", clip(r.name, letters), left, y}, label{"value end", r.value, p.W - right, y})
		at := left
		for _, part := range r.parts {
			if part.n <= 0 {
				continue
			}
			w := max(1.5, part.n/most*(p.W-left-right))
			p.Marks = append(p.Marks, mark{Class: part.class, Path: fmt.Sprintf("M%.1f %.1fh%.1fv10h%.1fZ", at, y+5, w, -w), Title: part.title})
			at += w
		}
	}
}

func (b *bar) sum() (sum float64) {
	for _, p := range b.parts {
		sum += p.n
	}
	return sum
}

// used returns the keys whose class occurs among the marks of the plot.
func (p *plot) used(keys []key) []key {
	return slices.DeleteFunc(keys, func(k key) bool {
		return !slices.ContainsFunc(p.Marks, func(m mark) bool { return m.Class == k.Class })
	})
}

// reveal makes hidden characters in all texts visible, because some texts come from sites.
func (p *plot) reveal() {
	p.Note, p.Desc, p.Table.Caption = visible(p.Note), visible(p.Desc), visible(p.Table.Caption)
	for i := range p.Marks {
		p.Marks[i].Title = visible(p.Marks[i].Title)
	}
	for i := range p.Texts {
		p.Texts[i].Text = visible(p.Texts[i].Text)
	}
	for _, row := range p.Table.Rows {
		for i := range row {
			row[i] = visible(row[i])
		}
	}
}
