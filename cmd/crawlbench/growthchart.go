package main

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strconv"
)

// A curve is one panel of the chart: a measure over the known URLs. Places are in pixels.
type curve struct {
	Title  string
	X, Y   int
	Line   string // points of the polyline
	Points []point
}

type point struct {
	X, Y               int
	Label, Value       string
	LabelDown, ValueUp int // baselines of the two texts
}

const (
	panelWidth, panelHeight = 370, 170
	plotWidth, plotHeight   = 300, 90
	plotLeft, plotTop       = 35, 45
)

// drawGrowth draws the rows of a growth: four curves over the logarithm of the known URLs. Each
// begins at zero.
func drawGrowth(rows []growthRow) []byte {
	var curves []curve
	for i, m := range []struct {
		title  string
		digits int
		of     func(growthRow) float64
	}{
		{"pages/s", 0, func(r growthRow) float64 { return r.Rate }},
		{"us CPU/page", 0, func(r growthRow) float64 { return r.CPU }},
		{"anonymous MiB", 0, func(r growthRow) float64 { return r.Memory }},
		{"KB written/page", 1, func(r growthRow) float64 { return r.Written }},
	} {
		c := curve{Title: m.title, X: i % 2 * panelWidth, Y: i / 2 * panelHeight}
		c.plot(rows, m.of, m.digits)
		curves = append(curves, c)
	}
	var b bytes.Buffer
	if err := growthDrawing.Execute(&b, struct {
		Width, Height, Base int
		Curves              []curve
	}{2 * panelWidth, 2 * panelHeight, plotTop + plotHeight, curves}); err != nil {
		panic(err) // the template and its data are constant
	}
	return b.Bytes()
}

// plot places the points of a curve. It leaves out values that are not numbers, from rows
// without pages.
func (c *curve) plot(rows []growthRow, of func(growthRow) float64, digits int) {
	highest := 0.0
	var valid []growthRow
	for _, r := range rows {
		if v := of(r); r.URLs > 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
			valid = append(valid, r)
			highest = max(highest, v)
		}
	}
	if len(valid) == 0 {
		return
	}
	first, last := math.Log(float64(valid[0].URLs)), math.Log(float64(valid[len(valid)-1].URLs))
	for _, r := range valid {
		v := of(r)
		p := point{X: plotLeft, Y: plotTop + plotHeight, Label: short(r.URLs), Value: strconv.FormatFloat(v, 'f', digits, 64)}
		if last > first {
			p.X += int((math.Log(float64(r.URLs)) - first) / (last - first) * plotWidth)
		}
		if highest > 0 {
			p.Y -= int(max(0, v) / highest * plotHeight)
		}
		p.LabelDown, p.ValueUp = plotTop+plotHeight+16, p.Y-7
		c.Points = append(c.Points, p)
		c.Line += fmt.Sprintf("%d,%d ", p.X, p.Y)
	}
}

// short returns a number of URLs, rounded.
func short(n int64) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(math.Round(float64(n)/1e5)/10, 'f', -1, 64) + "M"
	case n >= 1000:
		return strconv.FormatFloat(math.Round(float64(n)/1e3), 'f', -1, 64) + "k"
	}
	return strconv.FormatInt(n, 10)
}

var growthDrawing = template.Must(template.New("growth").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" font-family="sans-serif" font-size="11" text-anchor="middle">
<rect width="100%" height="100%" fill="white"/>
{{$base := .Base}}{{range .Curves}}<g transform="translate({{.X}} {{.Y}})"><text x="20" y="20" font-size="13" font-weight="bold" text-anchor="start">{{.Title}}, by URLs known</text>
<path d="M20 {{$base}}H350" stroke="#94a3b8"/><polyline points="{{.Line}}" fill="none" stroke="#c2410c" stroke-width="2"/>
{{range .Points}}<circle cx="{{.X}}" cy="{{.Y}}" r="3" fill="#c2410c"/><text x="{{.X}}" y="{{.ValueUp}}">{{.Value}}</text><text x="{{.X}}" y="{{.LabelDown}}" fill="#475569">{{.Label}}</text>
{{end}}</g>
{{end}}</svg>
`))
