package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A Recent is a report of a running crawl and its recent past. Only those fields of its Report
// are set that the page shows.
type Recent struct {
	*Report
	samples []sample
	slow    Table[SiteRow] // sites, by the median of the times that they take to answer
	latest  []latestRow
	errors  []latestRow
	refused []latestRow
}

// A latestRow is a line of the log as a row of a table.
type latestRow struct {
	at        time.Time
	url, what string
	took      float64 // duration of the request in seconds; 0: there was no request
}

// row makes a table row of a line of the log. request is nil if the URL was not requested.
func row(l *crawllog.Line, request *crawllog.Request) latestRow {
	if request == nil {
		return latestRow{l.Time, l.URL, whyNot(l), 0}
	}
	what := strconv.Itoa(l.Status)
	switch {
	case request.Error != "" && l.Status > 0:
		what += ", " + request.Error
	case request.Error != "":
		what = request.Error
	}
	return latestRow{l.Time, l.URL, what, request.End.Sub(request.Start).Seconds()}
}

// whyNot returns why a URL was not requested.
func whyNot(l *crawllog.Line) string {
	switch l.Status {
	case crawllog.RobotsDisallowed:
		if line, ok := l.Annotation("rule"); ok {
			return "forbidden by line " + line + " of robots.txt"
		}
		return "forbidden by robots.txt"
	case crawllog.UseRefused:
		return "its owner refuses the purpose of the crawl"
	case crawllog.OptedOut:
		return "on the opt-out list"
	}
	return "out of scope"
}

// latest keeps the last mostLatest rows that were added.
type latest struct {
	rows []latestRow
	next int // if there are mostLatest rows, the index of the oldest
}

func (l *latest) add(row latestRow) {
	if len(l.rows) < mostLatest {
		l.rows = append(l.rows, row)
		return
	}
	l.rows[l.next] = row
	l.next = (l.next + 1) % mostLatest
}

// newest returns the rows, beginning with the newest.
func (l *latest) newest() []latestRow {
	all := make([]latestRow, 0, len(l.rows))
	for i := range l.rows {
		all = append(all, l.rows[(l.next+len(l.rows)-1-i)%len(l.rows)])
	}
	return all
}

// plots returns all pictures except the first, in their order.
func (r *Recent) plots() []*plot {
	return []*plot{
		r.pagesPlot(), r.queuePlot(), r.statusPlot(), r.bytesPlot(), r.leftPlot(), r.rulesPlot(),
		r.slowPlot(), r.troublePlot(), r.ratePlot(), r.outcomePlot(), r.typesPlot(),
	}
}

// queuePlot draws the size of the frontier over time, from the samples of a Live.
func (r *Recent) queuePlot() *plot {
	p, x := r.overTime("frontier", "URLs found, and URLs ended", "The frontier over time", "found", "ended", "queued")
	p.Note = "What lies between the lines is the queue. Its size is only known while a browser shows this page."
	samples := r.samples
	if x == nil || len(samples) == 0 {
		p.Empty = "Nothing has happened yet."
		return p
	}
	from, to := samples[0], samples[len(samples)-1]
	y := linear(float64(to.known), p.H-frameBottom, frameTop, short)
	p.frame(x, y, "UTC", "URLs")
	var found, ended string
	for i, s := range samples {
		at := x.at(s.at.Sub(r.Series.Begin).Seconds() / r.Series.Step)
		if found += fmt.Sprintf("%c%.1f %.1f", "ML"[min(i, 1)], at, y.at(float64(s.known))); i == 0 {
			ended = fmt.Sprintf("M%.1f %.1f", at, y.at(float64(s.ended)))
			continue
		}
		ended += fmt.Sprintf("L%.1f %.1f", at, y.at(float64(s.ended)))
	}
	p.Marks = append(p.Marks, mark{Class: "line c1", Path: found}, mark{Class: "line c2", Path: ended})
	for i := 0; i < len(samples); i += max(1, len(samples)/30) {
		s := samples[i]
		p.Table.Rows = append(p.Table.Rows, []string{moment(s.at), grouped(int64(s.known)), grouped(int64(s.ended)), grouped(int64(s.known - s.ended))})
	}
	p.Legend = []key{{"c1", "found"}, {"c2", "ended"}}
	p.Desc = fmt.Sprintf("Two lines over time. Found: from %s to %s URLs. Ended: from %s to %s.",
		grouped(int64(from.known)), grouped(int64(to.known)), grouped(int64(from.ended)), grouped(int64(to.ended)))
	return p
}

// slowPlot draws the sites that take longest to answer.
func (r *Recent) slowPlot() *plot {
	p := &plot{
		ID: "slow-sites", Title: "Slowest sites", W: plotWidth,
		Note:  "Half of the answers of a site took longer to their first byte.",
		Table: table{Caption: "Slowest sites" + first(r.slow), Head: []string{"site", "requests", "median answer"}, Text: 1, Kinds: []string{Site}},
	}
	var rows []bar
	for _, s := range r.slow.Rows {
		name, took := string(s.Site), span(s.Median)
		rows = append(rows, bar{name, took, []part{{"c5", name + ": " + took, s.Median}}})
		p.Table.Rows = append(p.Table.Rows, []string{name, grouped(s.Requests), took})
	}
	if len(rows) == 0 {
		p.Empty = "Nothing was answered."
	}
	p.bars(rows)
	p.Desc = fmt.Sprintf("Bars, one for each of %s, the slowest first.", plural(int64(len(rows)), "site"))
	return p
}

// sections returns the tables of the page of a running crawl.
func (r *Recent) sections() []section {
	const newest = "The newest come first."
	return []section{
		{"latest", "Latest answers", newest, "No request was sent.", latestTable("Latest answers", "what came", r.latest)},
		{"errors", "Latest errors", newest, "There are none.", latestTable("Latest errors", "what came", r.errors)},
		{"refused", "Latest decisions against a request", newest + " By robots.txt, by owners, and by the opt-out list.", "There are none.", latestTable("Latest decisions against a request", "why", r.refused)},
		{"sites", "Sites", "Sites with the most requests come first. The delay is the longest pause that was required between two requests.", "No site got a request.", r.siteTable()},
		{"slowest", "Slowest answers", "From the start of the request to the end of the answer.", "Nothing was answered.", requestTable("The slowest answers", r.Slowest)},
	}
}

func latestTable(caption, what string, rows []latestRow) table {
	t := table{Caption: caption, Head: []string{"URL", what, "at", "took"}, Text: 2, Kinds: []string{URLs}}
	for _, row := range rows {
		took := ""
		if row.took > 0 {
			took = span(row.took)
		}
		t.add(row.url, row.what, row.at.UTC().Format(time.TimeOnly), took)
	}
	return t
}
