package report

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// The kinds of texts in a table that a Looks can turn into links.
const (
	URLs = "urls" // one URL, or several with spaces between them
	Site = "site"
	Fate = "fate" // the words for a frontier.Code
)

// A Looks renders parts of the page of a report, to be shown in another page.
type Looks struct{ of *template.Template }

// NewLooks returns a Looks. For a text in a table, link returns the address of a page about it,
// or "" if there is no such page. link gets the kind of the text. If the kind is URLs, it gets
// one URL at a time.
func NewLooks(link func(kind, text string) string) *Looks { return &Looks{looks(link)} }

// looks returns the templates of the parts of a page. link is as in NewLooks.
func looks(link func(kind, text string) string) *template.Template {
	return template.Must(template.Must(template.New("parts").Funcs(template.FuncMap{
		"px":     func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) },
		"pieces": func(kinds []string, i int, cell string) []piece { return pieces(link, kinds, i, cell) },
	}).Parse(partsText)).New("style").Parse(Style))
}

// A piece is a part of the text of a cell. Href is its link, or empty.
type piece struct{ Href, Text string }

// pieces splits the text of a cell in column i into parts with and without a link.
func pieces(link func(kind, text string) string, kinds []string, i int, cell string) []piece {
	if i >= len(kinds) || kinds[i] == "" {
		return []piece{{"", cell}}
	}
	if kinds[i] != URLs {
		return []piece{{link(kinds[i], cell), cell}}
	}
	var all []piece
	for n, word := range strings.Split(cell, " ") {
		if n > 0 {
			all = append(all, piece{"", " "})
		}
		all = append(all, piece{link(URLs, word), word})
	}
	return all
}

// A Part is one part of the page of a report, as HTML.
type Part struct {
	ID   string // ID of its HTML element, which is the same in each report
	HTML template.HTML
}

// Parts are all parts of the page of a report, in their order on the page.
type Parts struct {
	Warnings []string // sentences about parts of the report that are missing or uncertain
	Polite   Part     // how the crawl has kept its pauses
	Plots    []Part
	Changes  *Part // nil: the report has no comparison
	Tables   []Part
}

// Parts renders a report in parts.
func (l *Looks) Parts(r *Report) (Parts, error) {
	p, err := l.parts(r.delayPlot(), r.plots(), r.politeness(), r.sections(), r.changes())
	p.Warnings = r.warnings()
	return p, err
}

// Recent renders the report of a running crawl in parts.
func (l *Looks) Recent(r *Recent) (Parts, error) {
	delays, plots, sections := r.delayPlot(), r.plots(), r.sections()
	delays.Table.without(lineColumn)
	for i := range sections {
		sections[i].Table.without(lineColumn)
	}
	return l.parts(delays, plots, r.politeness(), sections, nil)
}

func (l *Looks) parts(delays *plot, plots []*plot, polite []string, sections []section, changes *changes) (p Parts, err error) {
	part := func(id, name string, of any) Part {
		var text strings.Builder
		if err == nil {
			err = l.of.ExecuteTemplate(&text, name, of)
		}
		return Part{id, template.HTML(text.String())} // the template has escaped the text
	}
	delays.reveal()
	p.Polite = part("signature", "signature", view{Delays: delays, Politeness: polite})
	for _, plot := range plots {
		plot.reveal()
		p.Plots = append(p.Plots, part("plot-"+plot.ID, "plot", plot))
	}
	if changes != nil {
		one := part("changes", "changes", changes)
		p.Changes = &one
	}
	for _, s := range sections {
		p.Tables = append(p.Tables, part("table-"+s.ID, "section", s))
	}
	return p, err
}

// lineColumn is the head of the columns with line numbers. The report of a running crawl has no
// such columns, because the numbers are not known.
const lineColumn = "line of crawl.log"

// without removes the column with the given head. It does nothing if there is no such column.
func (t *table) without(head string) {
	i := slices.Index(t.Head, head)
	if i < 0 {
		return
	}
	t.Head = slices.Delete(slices.Clone(t.Head), i, i+1)
	for n, row := range t.Rows {
		t.Rows[n] = slices.Delete(slices.Clone(row), i, i+1)
	}
}
