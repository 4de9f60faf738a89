package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

//go:embed parts.html
var partsText string

// Style is the style sheet of the page of a report, and of its parts.
//
//go:embed style.css
var Style string

// page is the template of a whole page. It makes no links, because there are no other pages.
var page = template.Must(looks(func(string, string) string { return "" }).New("page").Parse(pageText))

// A view has the texts and pictures of a report, for the template of the page.
type view struct {
	Title, By, When string
	Warnings        []string
	Figures         []figure
	Delays          *plot
	Politeness      []string
	Plots           []*plot
	Changes         *changes // nil: the report has no comparison
	Tables          []section
	Program         string
}

// A figure is one of the large numbers at the top of the page.
type figure struct {
	Name, Value string
	Class       string // "good", "bad", or empty; decides the colour
}

// A section is a table with a heading and a note.
type section struct {
	ID, Title, Note, Empty string
	Table                  table
}

// WriteHTML writes a report as one page, which loads nothing and runs nothing.
func (r *Report) WriteHTML(w io.Writer) error {
	plots := append([]*plot{r.delayPlot()}, r.plots()...)
	for _, p := range plots {
		p.reveal()
	}
	v := view{
		Title: visible(r.Name), Warnings: r.warnings(), Figures: r.figures(), Delays: plots[0], Politeness: r.politeness(),
		Plots: plots[1:], Changes: r.changes(), Tables: r.sections(), Program: visible(r.Program),
	}
	if r.Token != "" {
		v.By = visible(fmt.Sprintf("%s (%s)", r.Token, r.Contact))
	}
	if !r.First.IsZero() {
		v.When = fmt.Sprintf("%s to %s, %s", moment(r.First), moment(r.Last), plural(int64(r.Runs), "run"))
	}
	return page.Execute(w, v)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// first returns a text such as " (the first 50 of 312)" for a table that does not have all
// rows. It returns "" if the table has all.
func first[T any](t Table[T]) string {
	if int64(len(t.Rows)) >= t.All {
		return ""
	}
	return fmt.Sprintf(" (the first %d of %s)", len(t.Rows), grouped(t.All))
}

// warnings returns sentences about parts of the report that are missing or uncertain.
func (r *Report) warnings() (all []string) {
	if r.Running {
		all = append(all, "This is of a crawl that runs: what its log says so far. Its queue and its identity are not known from outside.")
	}
	all = append(all, r.nodeWarnings()...)
	if r.Killed > 0 {
		all = append(all, fmt.Sprintf("Runs that did not end by themselves: %d. A kill may have taken lines of the log.", r.Killed))
	}
	if r.NotCompared != nil {
		text := r.NotCompared.Words()
		all = append(all, visible(strings.ToUpper(text[:1])+text[1:]+"."))
	}
	if r.Others > 0 {
		text := fmt.Sprintf("Lines of crawl.log that could not be read, and are in none of the figures: %s (", grouped(r.Others))
		for i, o := range r.Other {
			text += fmt.Sprintf("%sline %d: %s", strings.Repeat("; ", min(i, 1)), o.Line, clip(o.Why, mostTitle))
		}
		if r.Others > int64(len(r.Other)) {
			text += "; ..."
		}
		all = append(all, visible(text)+")")
	}
	return all
}

func (r *Report) figures() []figure {
	early := counted(r.Polite.Early, "early request")
	early.Class = "good"
	if r.Polite.Early > 0 {
		early.Class = "bad"
	}
	kept := int64(0)
	for _, o := range r.Outcomes {
		if fateClass(o.Fate) == "c3" {
			kept += o.URLs
		}
	}
	pages := counted(r.Pages, "page")
	if r.NotModified > 0 {
		pages.Name += fmt.Sprintf(", %s of them by a 304", grouped(r.NotModified))
	}
	return []figure{
		pages, counted(r.Requests, "request"), counted(r.Sites, "site"), {"received", size(float64(r.Bytes)), ""},
		{"from first to last", span(r.Last.Sub(r.First).Seconds()), ""}, {"left alone as owners wish", grouped(kept), ""}, early,
	}
}

// counted returns a figure with the number n. The parameter one is the noun for a single item;
// the name of the figure is its plural if n is not 1.
func counted(n int64, one string) figure {
	value, name, _ := strings.Cut(plural(n, one), " ")
	return figure{name, value, ""}
}

// politeness returns the sentences about kept pauses, which stand beside the picture of delays.
func (r *Report) politeness() []string {
	p := &r.Polite
	if p.Judged == 0 {
		return []string{"No request had to keep a pause yet."}
	}
	verdict := "Each of " + plural(p.Judged, "request") + " that had to keep a pause has kept it."
	if p.Early > 0 {
		verdict = fmt.Sprintf("%s of %s came before the pause was over.", grouped(p.Early), plural(p.Judged, "request"))
	}
	closest := fmt.Sprintf("The closest one kept %s more than required", span(p.Margin()))
	if p.Early > 0 {
		closest = fmt.Sprintf("The earliest came %s too soon", span(-p.Least))
	}
	if p.LeastLine > 0 {
		closest += visible(fmt.Sprintf(" (%s, line %d of crawl.log)", p.LeastClock, p.LeastLine))
	}
	all := []string{
		verdict,
		closest + ".",
		retryAfter(p.RetryAfter),
		fmt.Sprintf("%s of the requests were for robots.txt.", grouped(r.RobotsRequests)),
	}
	if p.Unknown > 0 {
		all = append(all, fmt.Sprintf("Of %s a kill has taken what the pause counts from.", plural(p.Unknown, "request")))
	}
	return append(all, "This is what the lines say of themselves. “crawl audit” proves it against the stored robots.txt.")
}

func retryAfter(n int64) string {
	if n == 0 {
		return "No request had to wait for a Retry-After that was the longest of all pauses."
	}
	return plural(n, "request") + " waited for a Retry-After, as long as it said."
}

// sections returns the tables of the page, in their order.
func (r *Report) sections() []section {
	linked := "The table names one page for each: the page by which the URL was found first. With --output links, a crawl keeps all links."
	if r.HasLinks {
		linked = "Those that most pages link to come first."
	}
	all := []section{
		{"sites", "Sites", "Sites with the most requests come first. The delay is the longest pause that was required between two requests.", "No site got a request.", r.siteTable()},
		{"broken", "Errors, and who links to them", "URLs whose last try failed. " + linked, "There are none.", r.errorTable()},
		{"redirects", "Redirects", "Targets of redirects, from pages.jsonl.", "There are none.", r.redirectTable()},
		{"linked", "Most linked", "By how many pages have a link to them that readers follow, once each; in the crawl or not.", "The crawl has kept no links (links.jsonl).", r.linkedTable()},
		{"slowest", "Slowest answers", "From the start of the request to the end of the answer.", "Nothing was answered.", requestTable("The slowest answers", r.Slowest)},
		{"largest", "Largest answers", "Bytes of the body as it came over the wire.", "Nothing was answered.", requestTable("The largest answers", r.Largest)},
		{"duplicates", "Duplicates", fmt.Sprintf("Pages that have one body. %s could be left out.", plural(r.Repeated, "page")), "No two pages have one body.", r.sameTable()},
	}
	if near := r.Near; near != nil {
		note := fmt.Sprintf("Pages with nearly the same main text; also those that have one body. %s like another page.", are(near.Pages))
		if near.Unread > 0 {
			note += fmt.Sprintf(" What could not be compared, because it cannot be read: %s.", grouped(near.Unread))
		}
		all = append(all, section{"near-duplicates", "Near-duplicates", note, "No two pages have nearly the same text.", near.table()})
	}
	return all
}

func are(n int64) string {
	if n == 1 {
		return "1 page is"
	}
	return plural(n, "page") + " are"
}

func (n *Near) table() table {
	t := table{Caption: "Groups of pages with nearly the same text" + first(n.Groups), Head: []string{"pages", "title", "number of pages"}, Text: 2, Kinds: []string{URLs}}
	for _, g := range n.Groups.Rows {
		t.add(someURLs(g.URLs, g.Pages), g.Title, grouped(g.Pages))
	}
	return t
}

// someURLs returns some URLs of a group of pages as one text. If the group has more pages, the
// text says so.
func someURLs(urls []string, pages int64) string {
	text := strings.Join(urls, " ")
	if int(pages) > len(urls) {
		text += " …"
	}
	return text
}

func (r *Report) siteTable() table {
	t := table{Caption: "Sites" + first(r.SiteRows), Head: []string{"site", "robots.txt", "delay required by", "requests", "pages", "bytes", "delay", "median answer"}, Text: 3, Kinds: []string{Site}}
	for _, s := range r.SiteRows.Rows {
		delay, median := "", ""
		if s.Asked > 0 {
			delay = span(s.Asked)
		}
		if s.Median > 0 {
			median = span(s.Median)
		}
		t.add(string(s.Site), s.Robots, string(s.Clock), grouped(s.Requests), grouped(s.Pages), size(float64(s.Bytes)), delay, median)
	}
	return t
}

// add adds a row. The cells may have texts from sites, so add makes hidden characters in them
// visible.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = visible(c)
	}
	t.Rows = append(t.Rows, cells)
}

func (r *Report) errorTable() table {
	t := table{Caption: "Errors" + first(r.Errors), Head: []string{"URL", "what came", "found on", "linked from", "tries", "pages that link to it"}, Text: 4, Kinds: []string{URLs, "", URLs, URLs}}
	for _, e := range r.Errors.Rows {
		linked := ""
		if r.HasLinks {
			linked = grouped(e.Linked)
		}
		what := cmp.Or(e.Error, strconv.Itoa(e.Status))
		if e.Error != "" && e.Status > 0 {
			what = fmt.Sprintf("%d, %s", e.Status, e.Error)
		}
		if e.Title != "" {
			what += ": " + e.Title
		}
		t.add(e.URL, what, cmp.Or(e.Via, "a seed"), strings.Join(e.From, " "), grouped(e.Tries), linked)
	}
	return t
}

func (r *Report) redirectTable() table {
	t := table{Caption: "Redirects" + first(r.Redirect), Head: []string{"URL", "leads to", "status"}, Text: 2, Kinds: []string{URLs, URLs}}
	for _, e := range r.Redirect.Rows {
		t.add(e.URL, cmp.Or(e.To, "not kept"), strconv.Itoa(e.Status))
	}
	return t
}

func (r *Report) linkedTable() table {
	t := table{Caption: "Most linked" + first(r.Linked), Head: []string{"URL", "title", "what became of it", "pages"}, Text: 3, Kinds: []string{URLs}}
	for _, l := range r.Linked.Rows {
		t.add(l.URL, l.Title, fateInWords(l.Fate), grouped(l.Pages))
	}
	return t
}

func requestTable(caption string, all Table[Request]) table {
	t := table{Caption: caption + first(all), Head: []string{"URL", "title", "type", "status", "bytes", "time", "line of crawl.log"}, Text: 3, Kinds: []string{URLs}}
	for _, q := range all.Rows {
		t.add(q.URL, q.Title, q.Type, strconv.Itoa(q.Status), size(float64(q.Bytes)), span(q.Seconds), grouped(q.Line))
	}
	return t
}

func (r *Report) sameTable() table {
	t := table{Caption: "Bodies of several pages" + first(r.Same), Head: []string{"pages", "title", "digest", "number of pages", "bytes of one"}, Text: 3, Kinds: []string{URLs}}
	for _, d := range r.Same.Rows {
		bytes := "not sent"
		if d.Bytes > 0 {
			bytes = size(float64(d.Bytes))
		}
		t.add(someURLs(d.URLs, d.Pages), d.Title, d.Digest, grouped(d.Pages), bytes)
	}
	return t
}
