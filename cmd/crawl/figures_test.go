package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
)

// oddWeb is keptWeb with sites that make figures differ: links that occur twice, fail, are
// refused, cut or listed by sitemaps, and sites that do not answer.
func oddWeb(t *testing.T) *crawltest.Web {
	w, _ := keptWeb(t)
	html := func(field, value string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set(field, value)
			fmt.Fprint(rw, "<title>said</title>", field)
		}
	}
	sessions := ""
	for i := range 12 {
		sessions += fmt.Sprintf("<a href='/s?sid=0123456789abcdef0123456789abcd%02d'>s</a>", i)
	}
	odd := w.Site("http://odd.example").Robots("User-agent: *\nDisallow: /private/\nSitemap: http://odd.example/map.xml\nSitemap: http://odd.example/none.xml\n").
		Page("/", `<title>Odd</title><a href=/two>2</a><a href=/two#again>2</a><a href=http://far.example/1>f</a><a href=http://far.example/1#x>f</a><a href=http://far.example/2>f</a>
			<a href=/missing>4</a><a href=/fails>5</a><a href=/flaky>6</a><a href=/private/1>7</a><a href=/noindex>8</a><a href=/refused>9</a><a href=/long>10</a><a href=/old>11</a><a href=/in>12</a>
			<a href=/loop>13</a><a href=/ad rel=nofollow>14</a><a href=/ad#x rel=nofollow>14</a><a href=/empty>15</a><a href=/feed>16</a><a href=/broken>17</a><a href=/skip/1>18</a><a href=/cut>19</a><img src=/i.png><img src=http://far.example/i.png>`+sessions).
		Page("/two", `<title>Two</title><a href=http://far.example/1>f</a><a href=/missing>4</a><a href=/private/1>7</a><a href=/private/2>7</a><a href=/ad rel=nofollow>14</a><a href=/skip/1>18</a>`).
		Status("/missing", http.StatusNotFound).Status("/fails", http.StatusInternalServerError).
		Flaky("/flaky", "<title>Flaky</title>", "30", http.StatusServiceUnavailable).
		Func("/noindex", html("X-Robots-Tag", "noindex")).Func("/refused", html("X-Robots-Tag", "noai")).
		Page("/long", "<title>Long</title>"+strings.Repeat("long ", 3000)).
		Redirect("/old", "http://far.example/1").Redirect("/in", "/private/3").Redirect("/loop", "/loop").Status("/empty", http.StatusNoContent).
		File("/feed", "application/rss+xml", `<rss><channel><item><link>http://odd.example/two</link></item><item><link>http://far.example/3</link></item></channel></rss>`).
		Reset("/broken").File("/i.png", "image/png", "PNG").
		File("/map.xml", "application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://odd.example/two</loc></url><url><loc>http://odd.example/listed</loc></url>
			<url><loc>http://far.example/1</loc></url><url><loc>http://odd.example/private/4</loc></url></urlset>`).
		Func("/cut", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Content-Length", "1000")
			fmt.Fprint(rw, "<title>Cut</title>")
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		}).
		Page("/listed", "<title>Listed</title>").Status("/none.xml", http.StatusNotFound)
	for i := range 12 {
		odd.Page(fmt.Sprintf("/s?sid=0123456789abcdef0123456789abcd%02d", i), "<title>Session</title>")
	}
	w.Site("http://many.example").Trap("/", 3).Page("/", "<title>Many</title><a href=/1/>1</a><a href=/2/>2</a>")
	w.Site("http://down.example").Down(true)
	w.Site("http://shut.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(http.StatusBadGateway) }).Page("/", "x")
	return w
}

// crawlOddWeb makes a crawl of oddWeb in odd.crawl, which knows the one before it, and the
// same in two runs in two.crawl. It returns what crawl run prints for the first, and the
// summaries of all three runs for programs.
func crawlOddWeb(t *testing.T) (text string, summaries []string) {
	synctest.Test(t, func(t *testing.T) {
		w := oddWeb(t)
		if code, said := runKept(t, w, "was.crawl"); code != exit.Done {
			t.Fatalf("exit %d: %s", code, said)
		}
		time.Sleep(24 * time.Hour)
		args := []string{
			"http://odd.example/", "http://many.example/", "http://down.example/x", "http://shut.example/", "http://odd.example/skip/0",
			"--previous", "was.crawl", "--max-size", "2kB", "--max-host-pages", "20", "--patience", "24h", "--purpose", "ai-train", "--exclude", "/skip/", "--depth", "4", "--requisites", "page",
			"--on-end", "cat > end.json",
		}
		for _, run := range []struct{ dir, limit string }{{"odd.crawl", "0"}, {"two.crawl", "12"}, {"two.crawl", "0"}} {
			code, said := runKept(t, w, run.dir, append(args, "--limit", run.limit)...)
			raw, err := os.ReadFile("end.json")
			if code != exit.Done || err != nil {
				t.Fatalf("exit %d, %v: %s", code, err, said)
			}
			if summaries = append(summaries, string(raw)); run.dir == "odd.crawl" {
				text = said
			}
		}
	})
	return text, summaries
}

// A figureRow is a row of the table of docs/reference/outputs.md.
type figureRow struct {
	word         string
	names, texts []string
}

func figureRows(t *testing.T) (rows []figureRow) {
	_, section, _ := strings.Cut(document(t, "docs/reference/outputs.md"), "## Words and their figures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	code := regexp.MustCompile("`([^`]+)`")
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| ([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(section, -1)[1:] {
		row := figureRow{word: m[1]}
		for i, of := range []*[]string{&row.names, &row.texts} {
			for _, c := range code.FindAllStringSubmatch(m[2+i], -1) {
				*of = append(*of, c[1])
			}
		}
		rows = append(rows, row)
	}
	if len(rows) < 30 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}

// A figureTable compares the figures of several outputs.
type figureTable struct {
	t    *testing.T
	rows []figureRow
	said map[string]map[float64]string // by word and by the crawl or file it is about: each number, with its place
}

// is notes that the output at where has the number n for a word.
func (f *figureTable) is(word, where string, n float64) {
	if f.said[word] == nil {
		f.said[word] = map[float64]string{}
	}
	if f.said[word][n] == "" {
		f.said[word][n] = where
	}
}

// reasonsOf returns the words of texts for the keys of a row.
var reasonsOf = map[string]func(string) string{
	"skipped URLs by reason": words.URLs, "skipped links by reason": words.Links, "left": words.URLs, "failed requests of a stage": words.Stage,
	"sitemaps": func(key string) string {
		if key == "urls" {
			return "URLs listed"
		}
		return key
	},
	"page changes": func(c string) string { return words.Changes[crawler.ChangeClass(c)] },
}

// several are the words of rows whose names are about several things.
var several = map[string]bool{
	"pages with something odd": true, "changes": true, "not judged": true, "records": true,
}

// one returns a text about any number of something with the number 1.
func one(words string) string {
	first, rest, _ := strings.Cut(words, " ")
	return strings.TrimSuffix(strings.TrimSuffix(first, "s")+" "+rest, " ")
}

// measures are fields whose number is not a count, or is about another crawl.
var measures = []string{
	"version", "seconds", "rate", "limits", "memory", "least_margin_seconds", "least_line", "step_seconds", "pages_per_second", "log_bytes", "log_lost", "since",
	"permesso_least_margin_seconds", "permesso_heap_bytes", "permesso_memory_bytes", "permesso_run_seconds", "permesso_state", "list",
}

// name notes the number of a field of JSON, or of a metric, for the longest name of the
// table that ends its path.
func (f *figureTable) name(where string, path []string, n float64) {
	best, word := 0, ""
	for _, row := range f.rows {
		for _, name := range row.names {
			parts := strings.Split(name, ".")
			score := 2*len(parts) - strings.Count(name, "*")
			if len(parts) > len(path) || score <= best {
				continue
			}
			of, fits := row.word, true
			if several[row.word] {
				of += ": " + name
			}
			for i, part := range parts {
				at := path[len(path)-len(parts)+i]
				if part == "*" {
					if in := reasonsOf[row.word]; in != nil {
						at = in(at)
					}
					of += ": " + one(at)
				} else if part != at {
					fits = false
				}
			}
			if fits {
				best, word = score, of
			}
		}
	}
	if word == "" {
		f.t.Errorf("%s: %s is in no row of the table: %v", where, strings.Join(path, "."), n)
		return
	}
	f.is(word, where+" "+strings.Join(path, "."), n)
}

// object notes all numbers of a JSON object, except measures and those in rows of a table.
func (f *figureTable) object(where string, path []string, v any) {
	if len(path) > 0 && slices.Contains(measures, path[len(path)-1]) {
		return
	}
	switch v := v.(type) {
	case float64:
		f.name(where, path, v)
	case map[string]any:
		for key, of := range v {
			f.object(where, append(slices.Clone(path), key), of)
		}
	case []any: // names with a number each
		for _, one := range v {
			name, n, pair := paired(one)
			if pair {
				f.name(where, append(slices.Clone(path), name), n)
			}
		}
	}
}

// paired returns the text and the number of an object that has one of each.
func paired(v any) (name string, n float64, ok bool) {
	of, _ := v.(map[string]any)
	for _, member := range of {
		switch m := member.(type) {
		case string:
			name = m
		case float64:
			n = m
		}
	}
	return name, n, len(of) == 2 && name != ""
}

// text notes all figures of a text, line by line. Lines about one site are not about the
// crawl.
func (f *figureTable) text(where, text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !strings.Contains(line, "://") && !settled.MatchString(line) {
			f.line(where, fate.ReplaceAllString(line, "in all: $1"))
		}
	}
}

// settled matches lines of settings, of times and of rules, which have numbers of their
// own; fate matches a line of one fate.
var (
	settled = regexp.MustCompile(`^(crawl |limits |remark |least margin |from .* to .*Z$|[a-z-]+ .*: (kept|nothing to check))`)
	fate    = regexp.MustCompile(`^ +(\d+ [a-z]+)$`)
)

// figureIn matches a number and the word after it, except times, sizes and the like.
var figureIn = regexp.MustCompile(`(?:^|[ (>,=])(\d+)(?: [A-Za-z]|[,;:&]|$| \()`)

var statusIn = regexp.MustCompile(`\b([1-5]\d\d): (\d+)`)

func (f *figureTable) line(where, line string) {
	line = strings.Join(strings.Fields(line), " ")
	if strings.HasPrefix(line, "answers ") {
		for _, m := range statusIn.FindAllStringSubmatch(line, -1) {
			f.is("answers of a status: "+m[1], where+": "+line, number(m[2]))
		}
		line, _, _ = strings.Cut(line, " (")
	}
	type text struct{ word, text string }
	var texts []text
	for _, row := range f.rows {
		for _, of := range row.texts {
			if label, list := strings.CutSuffix(of, " N *"); !list {
				texts = append(texts, text{row.word, of})
			} else if strings.HasPrefix(line, label+" ") {
				line = f.list(row.word, where, line, label)
			}
		}
	}
	slices.SortStableFunc(texts, func(a, b text) int { return len(b.text) - len(a.text) })
	taken := map[int]bool{} // numbers that were noted, by their offsets
	for _, of := range texts {
		for _, m := range textPattern(of.text).FindAllStringSubmatchIndex(line, -1) {
			if !taken[m[2]] {
				taken[m[2]] = true
				f.is(of.word, where+": "+line, number(line[m[2]:m[3]]))
			}
		}
	}
	for _, m := range figureIn.FindAllStringSubmatchIndex(line, -1) {
		if !taken[m[2]] && line[m[2]:m[3]] != "304" {
			f.t.Errorf("%s: %q is in no row of the table: %s", where, line[m[2]:], line)
		}
	}
}

// list notes what a line lists after its label, each with its number, and returns what is
// before that.
func (f *figureTable) list(word, where, line, label string) (head string) {
	head, rest := line[:len(label)], line[len(label):]
	if i := strings.LastIndex(rest, ": "); i >= 0 {
		head, rest = head+rest[:i], rest[i+1:]
	}
	for _, m := range regexp.MustCompile(`(\d+) (\D+)`).FindAllStringSubmatch(rest, -1) {
		f.is(word+": "+one(strings.TrimRight(m[2], " ,;")), where+": "+line, number(m[1]))
	}
	return head
}

func number(digits string) float64 {
	n, _ := strconv.ParseFloat(digits, 64)
	return n
}

// textPattern returns a pattern for a text of the table, also in the singular.
func textPattern(text string) *regexp.Regexp {
	p := regexp.QuoteMeta(text)
	p = regexp.MustCompile(`N ((?:[a-z]+ )?[A-Za-z]+)s\b`).ReplaceAllString(p, "N ${1}s?")
	return regexp.MustCompile(`(?:^|[ ("|])` + regexp.MustCompile(`\bN\b`).ReplaceAllLiteralString(p, `(\d+)`) + `(?:$|[^\w.-]|\.$)`)
}

// The same word has the same number in all outputs of one crawl, and parts sum to their
// total. A figure that docs/reference/outputs.md does not name fails here.
func TestAWordIsOneFigureInAllOutputs(t *testing.T) {
	f := &figureTable{t: t, rows: figureRows(t), said: map[string]map[float64]string{}}
	atHome(t)
	text, summaries := crawlOddWeb(t)
	object := func(where, raw string) {
		t.Helper()
		var of map[string]any
		if err := json.Unmarshal([]byte(raw), &of); err != nil {
			t.Fatalf("%s: %v: %s", where, err, raw)
		}
		f.object(where, nil, of)
	}
	f.text("run", strings.TrimSuffix(text, "<nil>"))
	object("run --json", summaries[0])
	f.text("status", said(t, "status", "odd.crawl"))
	status := said(t, "status", "--json", "odd.crawl")
	object("status --json", status)
	f.progress(status)
	for _, of := range []string{"report", "verify --in-process", "audit --out none", "provenance", "index"} {
		f.text(of, said(t, append(strings.Fields(of), "odd.crawl")...))
	}
	page, err := os.ReadFile("odd.crawl/report.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`<dt>([^<]*)</dt><dd>(\d+)</dd>`).FindAllStringSubmatch(string(page), -1) {
		f.line("report.html", m[2]+" "+m[1])
	}
	object("report --json", said(t, "report", "--json", "odd.crawl"))
	f.tables()
	object("verify --json", said(t, "verify", "--in-process", "--json", "odd.crawl"))
	object("audit --json", said(t, "audit", "--out", "none", "--json", "odd.crawl"))
	for _, format := range []string{"csv", "wacz"} {
		var out, errs bytes.Buffer
		if code := run([]string{"export", "odd.crawl", "--format", format, "--output", "odd." + format}, nil, &out, &errs); code != exit.Done {
			t.Fatalf("export: exit %d: %s", code, &errs)
		}
		f.text("export", errs.String())
	}
	f.last("list --count", said(t, "list", "--count", "odd.crawl"))
	lines := strings.Split(strings.TrimSpace(said(t, "list", "--count", "--json", "odd.crawl")), "\n")
	object("list --count --json", lines[len(lines)-1])
	raw, err := os.ReadFile("odd.crawl/provenance.json")
	if err != nil {
		t.Fatal(err)
	}
	object("provenance.json", string(raw))
	f.datasheet()
	for _, word := range slices.Sorted(maps.Keys(f.said)) {
		if len(f.said[word]) > 1 {
			t.Errorf("%s: %v", word, f.said[word])
		}
	}
	f.sums()
	twoRuns(t, summaries[1:])
}

// twoRuns checks that the figures of two runs sum to those of the crawl.
func twoRuns(t *testing.T, summaries []string) {
	type counts struct {
		Pages, Requests, Bytes int64
		Robots                 int64 `json:"robots_requests"`
		Fetched, Status        int64
		Failed                 int64
	}
	var runs counts
	for _, raw := range summaries {
		var s struct {
			counts
			Status map[string]int64 `json:"status"`
			Errors map[string]int64 `json:"errors"`
		}
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
		runs.Pages += s.Pages
		runs.Requests += s.Requests
		runs.Bytes += s.Bytes
		runs.Robots += s.Robots
		runs.Fetched += s.Fetched
		for _, n := range s.Status {
			runs.Status += n
		}
		for _, n := range s.Errors {
			runs.Failed += n
		}
	}
	r, err := report.Dir(t.Context(), "two.crawl", report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crawl := counts{Pages: r.Pages, Requests: r.Requests, Bytes: r.Bytes, Robots: r.RobotsRequests, Status: r.Answers}
	for _, o := range r.Outcomes {
		if o.Fate == frontier.Fetched {
			crawl.Fetched = o.URLs
		}
	}
	for _, c := range r.Failures {
		crawl.Failed += c.N
	}
	if runs != crawl {
		t.Errorf("two runs sum to %+v, the crawl is %+v", runs, crawl)
	}
}

// last notes the figures of the last line of a text.
func (f *figureTable) last(where, text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	f.line(where, lines[len(lines)-1])
}

// progress notes the figures of a status that are also shown while a crawl runs.
func (f *figureTable) progress(raw string) {
	var s crawler.Status
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		f.t.Fatal(err)
	}
	r := &s.Run
	v := &progress.View{Now: s.Time, Since: time.Hour}
	v.Stats.Counts = crawler.Counts{
		Requests: r.Requests, Robots: r.Robots, Fetched: r.Fetched, Pages: r.Pages, Bytes: r.Bytes, Status: r.Status, Errors: r.Errors, SkippedLinks: r.SkippedLinks, SkippedURLs: r.SkippedURLs,
	}
	v.Stats.Frontier.Entries, v.Stats.Frontier.Again, v.Stats.Frontier.Sites = s.Crawl.Queued, s.Crawl.Again, s.Sites.Known
	v.Stats.Frontier.Done = s.Crawl.Done
	for _, text := range v.Block(1000) {
		line := strings.Join(strings.Fields(text.String()), " ")
		for _, m := range statusIn.FindAllStringSubmatch(line, -1) {
			f.is("answers of a status: "+m[1], "progress: "+line, number(m[2]))
		}
		line = statusIn.ReplaceAllString(line, "")
		if kept, is := strings.CutPrefix(line, "kept out "); is {
			urls, links, _ := strings.Cut(kept, "; ")
			f.line("progress", "not fetched "+urls)
			f.line("progress", "not followed "+links)
			continue
		}
		f.line("progress", line)
	}
	f.line("progress", v.Logfmt())
	var said bytes.Buffer
	(&progress.Events{W: &said}).Progress(v)
	answer := httptest.NewRecorder()
	control.Metrics(func() crawler.Status { return s }).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, m := range regexp.MustCompile(`(?m)^(permesso_\w+)(?:\{\w+="([^"]*)"\})? (\S+)$`).FindAllStringSubmatch(answer.Body.String(), -1) {
		path := []string{m[1]}
		if m[2] != "" {
			path = append(path, m[2])
		}
		if !slices.Contains(measures, m[1]) {
			f.name("metrics", path, number(m[3]))
		}
	}
	var of map[string]any
	if err := json.Unmarshal(said.Bytes(), &of); err != nil {
		f.t.Fatal(err)
	}
	f.object("events", nil, of)
}

// datasheet notes the counts and the statuses of DATASHEET.md.
func (f *figureTable) datasheet() {
	raw, err := os.ReadFile("odd.crawl/DATASHEET.md")
	if err != nil {
		f.t.Fatal(err)
	}
	_, counts, _ := strings.Cut(string(raw), "<!-- facts: counts -->")
	counts, _, _ = strings.Cut(counts, "<!--")
	for _, m := range regexp.MustCompile(`(?m)^\| (.*) \| (\d+) \|$`).FindAllStringSubmatch(counts, -1) {
		f.line("DATASHEET", m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\d{3})` \\| (\\d+) \\|$").FindAllStringSubmatch(string(raw), -1) {
		f.is("answers of a status: "+m[1], "DATASHEET", number(m[2]))
	}
}

// tables notes the sums of the rows of a report: of all sites, and of all steps of time.
func (f *figureTable) tables() {
	r, err := report.Dir(f.t.Context(), "odd.crawl", report.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	sums := map[string]int64{"requests for robots.txt": r.Requests}
	for _, s := range r.SiteRows.Rows {
		sums["requests"] += s.Requests
		sums["pages"] += s.Pages
		sums["bytes"] += s.Bytes
	}
	for _, s := range r.Rules.Rows {
		sums["requests for robots.txt"] -= s.Asked
		sums["fates: refused"] += s.Refused
	}
	for _, s := range r.Left.Rows {
		sums["queued"] += s.Queued
	}
	for _, s := range r.Types {
		sums["answers"] += s.Requests
	}
	for word, n := range sums {
		f.is(word, "rows of the report", float64(n))
	}
	var all report.Point
	for _, p := range r.Series.Points {
		all.Requests += p.Requests
		all.Pages += p.Pages
		all.Bytes += p.Bytes
		all.Found += p.Found
		all.Ended += p.Ended
	}
	for word, n := range map[string]int64{"requests": all.Requests, "pages": all.Pages, "bytes": all.Bytes, "URLs": all.Found, "done": all.Ended} {
		f.is(word, "steps of time of the report", float64(n))
	}
}

// of returns the figure of a word.
func (f *figureTable) of(word string) float64 {
	for n := range f.said[word] {
		return n
	}
	f.t.Errorf("no output has a figure of %s", word)
	return 0
}

// sum returns the sum of the parts of a word.
func (f *figureTable) sum(word string) (n float64) {
	for of := range f.said {
		if strings.HasPrefix(of, word+": ") {
			n += f.of(of)
		}
	}
	return n
}

// sums compares parts with their totals.
func (f *figureTable) sums() {
	for total, parts := range map[string]float64{
		"answers":           f.sum("answers of a status"),
		"failed requests":   f.sum("failed requests of a stage"),
		"URLs":              f.sum("fates"),
		"queued":            f.sum("left"),
		"skipped URLs":      f.sum("skipped URLs by reason"),
		"skipped links":     f.sum("skipped links by reason"),
		"pages":             f.sum("page changes"),
		"done":              f.of("URLs") - f.of("queued"),
		"without an answer": f.of("URLs") - f.of("fetched"),
		"requests":          f.of("answers") + f.of("failed requests") - f.of("failed requests of a stage: answer cut by the server"), // these are both
		"budget pages":      f.of("pages") + f.of("fates: use"),                                                                       // that was asked, and has answered with 200
	} {
		if n := f.of(total); n != parts || n == 0 {
			f.t.Errorf("%s: %v, and the parts sum to %v", total, n, parts)
		}
	}
}
