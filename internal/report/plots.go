package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// plots returns all pictures of the page except the first, in their order.
func (r *Report) plots() []*plot {
	return []*plot{
		r.pagesPlot(), r.bytesPlot(), r.growthPlot(), r.statusPlot(), r.outcomePlot(), r.leftPlot(),
		r.rulesPlot(), r.ratePlot(), r.troublePlot(), r.typesPlot(),
	}
}

// clockWords lists the clocks that have a colour of their own, and the words for them.
var clockWords = []struct {
	clock frontier.Clock
	words string
}{
	{frontier.OwnClock, "the crawl's own delay"}, {frontier.CrawlDelayClock, "Crawl-delay"}, {frontier.RateClock, "Request-rate"},
	{frontier.AdaptiveClock, "twice the time to first byte"}, {frontier.RetryAfterClock, "Retry-After"},
	{frontier.BackOffClock, "rest after 429, 503 or no connection"}, {frontier.IPClock, "other sites of the address"},
}

// clockClass returns the class of the marks of a clock, which decides their colour, and the
// words for the clock.
func clockClass(c frontier.Clock) (class, words string) {
	for i, w := range clockWords {
		if w.clock == c {
			return fmt.Sprintf("c%d", i), w.words
		}
	}
	return "c7", "another clock"
}

// delayPlot draws the required and the actual pause of each request that had to keep one.
func (r *Report) delayPlot() *plot {
	p := &plot{
		ID: "delays", Title: "Required delay and actual delay", W: plotWidth, H: 430,
		Note:  "Each dot is a request, the one of its group that was closest to being early; larger dots are larger groups. On the line the pause was kept to the microsecond; below it a request came too early.",
		Table: table{Caption: "Required and actual delay, by clock", Head: []string{"clock", "required", "actual, of the closest", "requests", "early", "line of crawl.log"}, Text: 1},
	}
	if len(r.Delays) == 0 {
		p.Empty = "No request had to keep a pause."
		return p
	}
	from, to := 0.01, 1.0
	for _, d := range r.Delays {
		from, to = min(from, max(d.Asked, 1e-4), max(d.Kept, 1e-4)), max(to, d.Asked, d.Kept)
	}
	from, to = from/1.5, to*1.5
	x := spans(from, to, frameLeft, plotWidth-frameRight)
	y := spans(from, to, p.H-frameBottom, frameTop)
	p.Marks = append(p.Marks, mark{Class: "early", Path: fmt.Sprintf("M%.1f %.1fL%.1f %.1fV%.1fZ", x.start, y.start, x.end, y.end, y.start)})
	p.frame(x, y, "required", "actual")
	p.Marks = append(p.Marks, mark{Class: "limit", Path: fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x.start, y.start, x.end, y.end)})
	p.Texts = append(p.Texts, label{"warn end", "too early", x.end - 10, y.start - 12})
	p.dots(r.Delays, x, y)
	for _, d := range r.Delays {
		p.Table.Rows = append(p.Table.Rows, []string{string(d.Clock), span(d.Asked), span(d.Kept), grouped(d.Requests), grouped(d.Early), grouped(d.Line)})
	}
	p.Desc = fmt.Sprintf("A scatter plot, both axes logarithmic. Of %s that had to keep a pause, %d lie below the line on which both delays are equal.",
		plural(r.Polite.Judged, "request"), r.Polite.Early)
	return p
}

// mostDots is how many groups of requests are drawn. Groups with early requests come first,
// then the largest groups.
const mostDots = 1500

func (p *plot) dots(delays []Delay, x, y *axis) {
	drawn := slices.Clone(delays)
	slices.SortStableFunc(drawn, func(a, b Delay) int {
		return cmp.Or(cmp.Compare(min(b.Early, 1), min(a.Early, 1)), cmp.Compare(b.Requests, a.Requests))
	})
	drawn = drawn[:min(len(drawn), mostDots)]
	keys := map[key]bool{}
	for _, d := range drawn {
		class, words := clockClass(d.Clock)
		keys[key{class, words}] = true
		if d.Early > 0 {
			class = "bad"
		}
		p.Marks = append(p.Marks, mark{
			Class: "dot " + class, X: x.at(d.Asked), Y: y.at(d.Kept), R: 4 + 2*min(digits(d.Requests), 5),
			Title: fmt.Sprintf("%s: required %s, actual %s (%s)", d.Clock, span(d.Asked), span(d.Kept), plural(d.Requests, "request")),
		})
	}
	for k := range keys {
		p.Legend = append(p.Legend, k)
	}
	slices.SortFunc(p.Legend, func(a, b key) int { return cmp.Compare(a.Class, b.Class) })
}

// digits returns the number of decimal digits of n, minus one.
func digits(n int64) float64 { return float64(len(fmt.Sprint(n)) - 1) }

// overTime begins a picture of Report.Series over time. It returns the picture and its time
// axis. The axis is nil if the series is empty.
func (r *Report) overTime(id, title, caption string, head ...string) (*plot, *axis) {
	p := &plot{ID: id, Title: title, W: plotWidth, H: plotHeight, Table: table{Caption: caption, Head: append([]string{"from"}, head...), Text: 1}}
	if len(r.Series.Points) == 0 {
		p.Empty = "Nothing has happened yet."
		return p, nil
	}
	return p, r.Series.hours()
}

// at returns the time at which step i begins, as text.
func (s *Series) at(i int) string {
	return moment(s.Begin.Add(seconds(s.Step * float64(i))))
}

// column returns the result of f for each point of a series.
func (s *Series) column(f func(*Point) float64) []float64 {
	all := make([]float64, len(s.Points))
	for i := range s.Points {
		all[i] = f(&s.Points[i])
	}
	return all
}

// rateOver draws a number of the series over time, per second. It does nothing if x is nil.
func (r *Report) rateOver(p *plot, x *axis, f func(*Point) float64, name func(float64) string, unit string) {
	if x == nil {
		return
	}
	all := r.Series.column(f)
	for i := range all {
		p.Table.Rows = append(p.Table.Rows, []string{r.Series.at(i), name(all[i]), name(all[i] / r.Series.Step)})
		all[i] /= r.Series.Step
	}
	y := linear(slices.Max(all), p.H-frameBottom, frameTop, name)
	p.frame(x, y, "UTC", unit)
	p.Marks = append(p.Marks, mark{Class: "area c0", Path: steps(x, y, all, nil)})
	p.Desc = fmt.Sprintf("An area over time, in steps of %s. At most %s %s.", span(r.Series.Step), name(slices.Max(all)), unit)
}

func (r *Report) pagesPlot() *plot {
	p, x := r.overTime("pages", "Pages a second", "Pages over time", "pages", "a second")
	p.Note = "Pages are answers with a 2xx status, and with 304 where the archive has the page. The rate is limited by the pauses that sites require, not by the machine."
	r.rateOver(p, x, func(p *Point) float64 { return float64(p.Pages) }, short, "pages/s")
	return p
}

func (r *Report) bytesPlot() *plot {
	p, x := r.overTime("bytes", "Bytes a second", "Bytes over time", "bytes", "a second")
	p.Note = "Bodies as they came over the wire, those of robots.txt and of errors included."
	r.rateOver(p, x, func(p *Point) float64 { return float64(p.Bytes) }, size, "/s")
	return p
}

func (r *Report) growthPlot() *plot {
	p, x := r.overTime("frontier", "URLs found, and URLs ended", "The frontier over time", "found", "ended", "found and not ended")
	p.Note = "A URL is found when the page is there that leads to it, and ends with its last request or refusal. What lies between the lines is the queue."
	if r.Running {
		p.Note += " The crawl runs, so the URLs that it has not requested yet are not known."
	}
	if x == nil {
		return p
	}
	sums := [2][]float64{}
	found, ended := 0.0, 0.0
	for i, q := range r.Series.Points {
		found, ended = found+float64(q.Found), ended+float64(q.Ended)
		sums[0], sums[1] = append(sums[0], found), append(sums[1], ended)
		p.Table.Rows = append(p.Table.Rows, []string{r.Series.at(i), short(found), short(ended), short(found - ended)})
	}
	y := linear(max(found, ended), p.H-frameBottom, frameTop, short)
	p.frame(x, y, "UTC", "URLs")
	p.Marks = append(p.Marks, mark{Class: "line c1", Path: line(x, y, sums[0])}, mark{Class: "line c2", Path: line(x, y, sums[1])})
	p.Legend = []key{{"c1", "found"}, {"c2", "ended"}}
	p.Desc = fmt.Sprintf("Two lines over time that only rise: %s URLs found in the end, %s ended.", short(found), short(ended))
	return p
}

// answerWords has the first digits of HTTP statuses, each with the class of its marks and with
// words. They are drawn in this order, from the bottom.
var answerWords = []struct {
	digit        int
	class, words string
}{{2, "c2", "2xx"}, {3, "c0", "3xx"}, {4, "c6", "4xx"}, {5, "c4", "5xx"}, {1, "c3", "1xx"}, {0, "c7", "failed"}}

func (r *Report) statusPlot() *plot {
	p, x := r.overTime("status", "What sites answered", "Requests over time, by class of the answer")
	p.Note = "Requests by the first digit of the status, those for robots.txt included."
	if x == nil {
		return p
	}
	y := linear(slices.Max(r.Series.column(func(q *Point) float64 { return float64(q.Requests) })), p.H-frameBottom, frameTop, short)
	p.frame(x, y, "UTC", "requests in "+span(r.Series.Step))
	below, shown := make([]float64, len(r.Series.Points)), []int{}
	for _, w := range answerWords {
		n, sum := r.Series.column(func(q *Point) float64 { return float64(q.Answers[w.digit]) }), 0.0
		for i := range n {
			sum += n[i]
			n[i] += below[i]
		}
		if sum == 0 {
			continue
		}
		p.Marks = append(p.Marks, mark{Class: "area " + w.class, Path: steps(x, y, n, below)})
		p.Legend = append(p.Legend, key{w.class, w.words})
		p.Table.Head = append(p.Table.Head, w.words)
		below, shown = n, append(shown, w.digit)
		p.Desc += fmt.Sprintf(" %s: %s.", w.words, short(sum))
	}
	p.Desc = "Stacked areas over time." + p.Desc
	for i, q := range r.Series.Points {
		row := []string{r.Series.at(i)}
		for _, digit := range shown {
			row = append(row, grouped(q.Answers[digit]))
		}
		p.Table.Rows = append(p.Table.Rows, row)
	}
	return p
}

// fateInWords returns the words for what happened to a URL.
func fateInWords(c frontier.Code) string {
	if c == frontier.Undecided {
		return "never entered the crawl"
	}
	return c.Words()
}

// fateClass returns the class of the marks for a reason why a URL was not fetched: its owner
// refuses it, there was trouble, or it was not fetched yet.
func fateClass(s frontier.Code) string {
	switch s {
	case frontier.RobotsDisallowed, frontier.UseRefused, frontier.OptedOut:
		return "c3"
	case frontier.Failed, frontier.SiteDead, frontier.RobotsUnreachable:
		return "c4"
	}
	return "c0"
}

func (r *Report) outcomePlot() *plot {
	p := &plot{
		ID: "outcomes", Title: "Why URLs were not fetched", W: plotWidth,
		Note:  "URLs that entered the crawl and were not answered. Links out of scope, too deep or excluded never enter it, and are counted in the summary of each run alone.",
		Table: table{Caption: "What became of URLs", Head: []string{"what became of them", "URLs"}, Text: 1, Kinds: []string{Fate}},
	}
	var rows []bar
	for _, o := range r.Outcomes {
		words := o.Fate.Words()
		p.Table.Rows = append(p.Table.Rows, []string{words, grouped(o.URLs)})
		if o.Fate != frontier.Fetched {
			rows = append(rows, bar{words, grouped(o.URLs), []part{{fateClass(o.Fate), words + ": " + grouped(o.URLs), float64(o.URLs)}}})
			p.Desc += fmt.Sprintf(" %s: %s.", words, grouped(o.URLs))
		}
	}
	if len(rows) == 0 {
		p.Empty = "Each URL that entered the crawl was answered."
		return p
	}
	slices.SortStableFunc(rows, func(a, b bar) int { return cmp.Compare(b.sum(), a.sum()) })
	p.bars(rows)
	p.Legend = p.used([]key{{"c3", "owners say no"}, {"c4", "trouble"}, {"c0", "left for later, or put aside"}})
	p.Desc = "Bars." + p.Desc
	return p
}

func (r *Report) leftPlot() *plot {
	p := &plot{
		ID: "left", Title: "Sites by the time that is left", W: plotWidth,
		Note:  "What is queued, at one request each pause: the least that it takes.",
		Table: table{Caption: "Sites with something left" + first(r.Left), Head: []string{"site", "fate", "URLs left", "least time"}, Text: 2, Kinds: []string{Site}},
	}
	if r.Again > 0 {
		p.Note += " Beside that " + r.againNote()
	}
	var rows []bar
	for _, l := range r.Left.Rows {
		fate, least := strings.TrimSuffix(l.Fate.String()+": "+l.Reason, ": "), "none will be requested"
		if l.Seconds > 0 {
			least = span(l.Seconds)
			rows = append(rows, bar{string(l.Site), least, []part{{"c0", string(l.Site) + ": " + least, l.Seconds}}})
		}
		p.Table.Rows = append(p.Table.Rows, []string{string(l.Site), fate, grouped(l.Queued), least})
	}
	switch {
	case r.Running:
		p.Empty = "The crawl runs: its queue is not known from outside."
	case len(rows) == 0 && len(p.Table.Rows) > 0:
		p.Empty = "No URL that is left can be requested."
	case len(rows) == 0:
		p.Empty = "Nothing is left."
	}
	p.bars(rows)
	p.Desc = fmt.Sprintf("Bars, one for each of %s.", plural(int64(len(rows)), "site"))
	return p
}

// againNote returns the sentence that says how many URLs wait to be fetched again, and when the
// first of them is due.
func (r *Report) againNote() string {
	text := plural(r.Again, "URL") + " wait"
	if r.Again == 1 {
		text += "s"
	}
	if text += " to be fetched again"; r.NextAgain.IsZero() {
		return text + "."
	}
	return text + ", the next at " + moment(r.NextAgain) + "."
}

func (r *Report) rulesPlot() *plot {
	p := &plot{
		ID: "rules", Title: "What robots.txt and owners decided", W: plotWidth,
		Note: "Requests, and URLs that were not requested, by site.",
		Table: table{Caption: "Decisions by site" + first(r.Rules),
			Head: []string{"site", "requested", "forbidden by robots.txt", "refused for this purpose", "on the opt-out list"}, Text: 1, Kinds: []string{Site}},
	}
	var rows []bar
	for _, s := range r.Rules.Rows {
		name := string(s.Site)
		rows = append(rows, bar{name, fmt.Sprintf("%s / %s", grouped(s.Asked), grouped(s.Refused+s.Use+s.OptOut)), []part{
			{"c2", name + ": requested " + grouped(s.Asked), float64(s.Asked)}, {"c3", name + ": forbidden " + grouped(s.Refused), float64(s.Refused)},
			{"c1", name + ": refused " + grouped(s.Use), float64(s.Use)}, {"c7", name + ": left alone " + grouped(s.OptOut), float64(s.OptOut)},
		}})
		p.Table.Rows = append(p.Table.Rows, []string{name, grouped(s.Asked), grouped(s.Refused), grouped(s.Use), grouped(s.OptOut)})
	}
	if len(rows) == 0 {
		p.Empty = "No request was sent."
	}
	p.bars(rows)
	p.Legend = p.used([]key{{"c2", "requested"}, {"c3", "forbidden by robots.txt"}, {"c1", "refused for this purpose"}, {"c7", "on the opt-out list"}})
	p.Desc = "Stacked bars, one for each site, those with the most refusals first."
	return p
}

func (r *Report) ratePlot() *plot {
	p := &plot{
		ID: "rate", Title: "Response time, and our rate", W: plotWidth, H: plotHeight,
		Note:  "The time to the first byte, by the number of requests a second at that time. A line that rises to the right shows that the crawl slowed the site down.",
		Table: table{Caption: "Time to first byte by the rate of requests to a site", Head: []string{"at least one request in", "requests", "median", "nine of ten"}, Text: 1},
	}
	if len(r.Rates) == 0 {
		p.Empty = "No site got two requests."
		return p
	}
	from, to := r.Rates[0].Median, 0.0
	for _, q := range r.Rates {
		from, to = min(from, q.Median), max(to, q.Ninety)
		p.Table.Rows = append(p.Table.Rows, []string{span(q.Every), grouped(q.Requests), span(q.Median), span(q.Ninety)})
	}
	slowest, fastest := r.Rates[0].Every*1.5, r.Rates[len(r.Rates)-1].Every/1.5
	x := spans(fastest, slowest, plotWidth-frameRight, frameLeft)
	x.name = func(v float64) string { return short(1/v) + "/s" }
	slices.Reverse(x.ticks)
	y := spans(from/2, to*2, p.H-frameBottom, frameTop)
	p.frame(x, y, "requests to one site by the second", "to the first byte")
	for _, of := range []struct {
		class string
		value func(Rate) float64
	}{{"c5", func(q Rate) float64 { return q.Ninety }}, {"c0", func(q Rate) float64 { return q.Median }}} {
		path := ""
		for i, q := range r.Rates {
			path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(i, 1)], x.at(q.Every), y.at(of.value(q)))
			p.Marks = append(p.Marks, mark{Class: "dot " + of.class, X: x.at(q.Every), Y: y.at(of.value(q)), R: 2 + min(digits(q.Requests), 5),
				Title: fmt.Sprintf("one in %s: %s (%s)", span(q.Every), span(of.value(q)), plural(q.Requests, "request"))})
		}
		p.Marks = append(p.Marks, mark{Class: "line " + of.class, Path: path})
	}
	p.Legend = []key{{"c0", "median"}, {"c5", "nine of ten were no slower"}}
	p.Desc = fmt.Sprintf("Two lines over the rate, both axes logarithmic. The median goes from %s at the slowest rate to %s at the fastest.", span(r.Rates[0].Median), span(r.Rates[len(r.Rates)-1].Median))
	return p
}

// classWords are the words for the classes of trouble, in the order of Classes.
var classWords = []string{
	"name without a (public) address", "no connection", "broken off, or no HTTP", "not in time", "told to slow down", "5xx", "4xx", "anything else",
}

func (r *Report) troublePlot() *plot {
	p := &plot{
		ID: "troubles", Title: "Errors by class and site", W: plotWidth,
		Note:  "Requests that failed, or were answered with an error. A missing robots.txt is not an error.",
		Table: table{Caption: "Errors by class and site" + first(r.Troubles), Head: append([]string{"site"}, classWords...), Text: 1, Kinds: []string{Site}},
	}
	if len(r.Troubles.Rows) == 0 {
		p.Empty = "There were none."
		return p
	}
	var rows []bar
	for _, t := range r.Troubles.Rows {
		name, cells := string(t.Site), make([]string, len(classWords))
		b := bar{name: name, value: grouped(t.All)}
		for i, class := range Classes() {
			cells[i] = "0"
			if at := slices.IndexFunc(t.Classes, func(c Count) bool { return c.Name == class }); at >= 0 {
				n := t.Classes[at].N
				cells[i] = grouped(n)
				b.parts = append(b.parts, part{fmt.Sprintf("c%d", i), name + ": " + classWords[i] + ": " + grouped(n), float64(n)})
			}
		}
		rows = append(rows, b)
		p.Table.Rows = append(p.Table.Rows, append([]string{name}, cells...))
	}
	p.bars(rows)
	keys := make([]key, len(classWords))
	for i, words := range classWords {
		keys[i] = key{fmt.Sprintf("c%d", i), words}
	}
	p.Legend = p.used(keys)
	p.Desc = fmt.Sprintf("Stacked bars, one for each of %s, those with the most errors first.", plural(int64(len(rows)), "site"))
	return p
}

func (r *Report) typesPlot() *plot {
	p := &plot{
		ID: "types", Title: "Bytes by media type", W: plotWidth,
		Note:  "As the servers named them.",
		Table: table{Caption: "Bytes by media type", Head: []string{"media type", "answers", "bytes"}, Text: 1},
	}
	if len(r.Types) == 0 {
		p.Empty = "Nothing was answered."
		return p
	}
	var rows []bar
	for i, t := range r.Types {
		if i == mostSites {
			break
		}
		name := t.Name
		if p.Table.Rows = append(p.Table.Rows, []string{name, grouped(t.Requests), size(float64(t.Bytes))}); i < mostBars && t.Bytes > 0 {
			rows = append(rows, bar{name, size(float64(t.Bytes)), []part{{"c5", name + ": " + size(float64(t.Bytes)), float64(t.Bytes)}}})
		}
	}
	if len(rows) == 0 {
		p.Empty = "No answer had a body."
	}
	p.bars(rows)
	p.Desc = "Bars, the most bytes first."
	return p
}
