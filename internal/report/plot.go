package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A plot is a picture of lines and areas, together with a table of the same numbers.
type plot struct {
	ID, Title string
	Note      string // what the picture shows; all readers see it
	Desc      string // description of the picture, for readers that do not see it
	W, H      float64
	Marks     []mark
	Texts     []label
	Legend    []key
	Table     table
	Empty     string // text that is shown instead of the picture if there is nothing to draw
}

// A mark is one shape in a picture: a circle if R is not zero, otherwise a path.
type mark struct {
	Class, Path string
	X, Y, R     float64
	Title       string // shown when the pointer is over the mark; may be empty
}

// A label is a text in a picture.
type label struct {
	Class, Text string
	X, Y        float64
}

// A key is an entry of the legend: it says what the marks of a class show.
type key struct{ Class, Name string }

// A table has rows of texts. The first text of each row is the head of the row.
type table struct {
	Caption string
	Head    []string
	Text    int      // number of columns with texts; they come first, and the other columns have numbers
	Kinds   []string // for each column, the kind of its texts (see Looks) or ""; may be shorter than a row
	Rows    [][]string
}

// The edges of the frame of all pictures with axes, in the units of the picture.
const (
	plotWidth   = 520.0
	plotHeight  = 300.0
	frameLeft   = 64.0
	frameRight  = 14.0
	frameTop    = 26.0
	frameBottom = 46.0
)

// An axis maps values to coordinates in a picture. Its ticks are the values that have names.
type axis struct {
	from, to   float64 // smallest and largest value
	start, end float64 // coordinates of from and to in the picture
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

// linear returns an axis that begins at zero and has four or five ticks.
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

// spans returns a logarithmic axis of lengths of time. from and to are in seconds.
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
		if t <= 1 { // add 2t and 5t only up to 1 s, because above that the next tick is not always ten times t
			add(2 * t)
			add(5 * t)
		}
	}
	return a
}

// clockSteps are the possible distances between the ticks of a time axis.
var clockSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 91 * 24 * time.Hour, 364 * 24 * time.Hour,
}

// hours returns the time axis of a series. Its ticks are times of day, or days or months if the
// series is long.
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

// frame draws the axes of a picture with their ticks and names.
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

// steps returns the path around an area. The upper edge has a horizontal line for each step of
// a series, at the value in top. The lower edge has the values in below. If below is nil, the
// lower edge is the base line of the picture.
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

// line returns a path that begins at the origin and has each value at the end of its step of a
// series.
func line(x, y *axis, values []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", x.start, y.start)
	for i, v := range values {
		fmt.Fprintf(&b, "L%.1f %.1f", x.at(float64(i+1)), y.at(v))
	}
	return b.String()
}

// A bar is a horizontal bar with a name and a value. Its parts are drawn from left to right.
type bar struct {
	name, value string
	parts       []part
}

type part struct {
	class, title string
	n            float64
}

// bars draws the bars one below the other. The longest bar is as wide as the picture.
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

// used returns those keys whose class one of the plot's marks has.
func (p *plot) used(keys []key) []key {
	return slices.DeleteFunc(keys, func(k key) bool {
		return !slices.ContainsFunc(p.Marks, func(m mark) bool { return m.Class == k.Class })
	})
}

// reveal makes hidden characters visible in all texts of the plot, because some texts come from
// sites.
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
