package provenance

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/processes"
)

// For each mark of the datasheet there is a fact with its name, and for each fact there is a
// mark.
func TestEachMarkHasItsFacts(t *testing.T) {
	facts := newWriter(t.Context(), t.TempDir(), nil, Options{}).facts()
	text, err := fillSheet(emptySheet, facts)
	if err != nil || len(text) <= len(emptySheet) {
		t.Errorf("%v: %s", err, text)
	}
	marks := map[string]bool{}
	for _, m := range allMarks(emptySheet) {
		marks[m] = true
		if facts[m] == "" {
			t.Errorf("there are no facts %s", m)
		}
	}
	for name := range facts {
		if !marks[name] {
			t.Errorf("the facts %s have no mark", name)
		}
	}
}

func allMarks(sheet []byte) (names []string) {
	for _, line := range bytes.Split(sheet, []byte("\n")) {
		if m := beginFacts.FindSubmatch(line); m != nil {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// The datasheet names the previous crawl, with the digest of its provenance.json if it has one.
func TestTheCrawlBeforeIsNamed(t *testing.T) {
	before := t.TempDir()
	previous := func() *Previous {
		w := newWriter(t.Context(), t.TempDir(), nil, Options{})
		w.asked = map[string]string{"previous": before}
		if err := w.compare(); err != nil {
			t.Fatal(err)
		}
		return w.Previous
	}
	if p := previous(); p == nil || p.Dir != before || p.Provenance != "" {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(filepath.Join(before, File), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := previous(); p == nil || p.Provenance != digestOf([]byte("{}")) {
		t.Errorf("%+v", p)
	}
}

// The datasheet of a later snapshot says what comes from the previous crawl: bodies that are
// not in its own archive, pages that were not sent again, and robots.txt files that are older
// than the crawl. The datasheet of a single crawl has no such facts.
func TestADatasheetTellsWhatASnapshotHasFromTheOneBefore(t *testing.T) {
	w := newWriter(t.Context(), t.TempDir(), nil, Options{})
	w.Settings = []Setting{{Name: "purpose", Value: "none"}}
	reported := map[string]string{
		"types":      "A 304 says that a page has not changed",
		"settings":   "snapshot.json says how, as `changed`",
		"politeness": "was carried over from the crawl before it",
		"files":      "a record of type `revisit` says where it is",
	}
	alone := w.facts()
	for name, text := range reported {
		if strings.Contains(alone[name], text) {
			t.Errorf("a single crawl: %s: %s", name, alone[name])
		}
	}
	if alone["purpose"] != "The crawl declares no purpose to sites.\n" {
		t.Errorf("%s", alone["purpose"])
	}
	w.Previous = &Previous{Dir: "last.crawl"}
	w.Figures.Statuses = map[string]int64{"304": 1}
	w.Outputs = []Output{{Name: "snapshot.json"}}
	w.Settings[0].Value = "search"
	facts := w.facts()
	for name, text := range reported {
		if !strings.Contains(facts[name], text) {
			t.Errorf("%s: %s", name, facts[name])
		}
	}
	if facts["purpose"] != "The crawl declares its purpose to sites as `search`.\n" {
		t.Errorf("%s", facts["purpose"])
	}
}

// The facts of three crawls equal the golden file: a crawl without facts, one with one fact of
// each kind, and one with more rows than a table shows.
func TestGoldenFacts(t *testing.T) {
	now := time.Date(2000, 1, 2, 3, 4, 5, 0, time.UTC)
	nothing := newWriter(t.Context(), "/crawls/nothing.crawl", nil, Options{Now: now}).Provenance
	nothing.Writer.Program = "permesso/V"

	names := func(of string, n int) map[string]int64 {
		all := map[string]int64{}
		for i := range n {
			all[fmt.Sprintf("%s %02d", of, i)] = int64(1 + i/2)
		}
		return all
	}
	one := newWriter(t.Context(), "/crawls/one.crawl", nil, Options{Now: now}).Provenance
	one.Writer.Program = "permesso/V"
	one.Identity = Identity{Token: "paperbot", Contact: "mailto:me@example.org", UserAgent: "paperbot (mailto:me@example.org)"}
	one.Figures = Figures{
		First: now, Last: now.Add(time.Hour), Requests: 1, RobotsRequests: 2, Bytes: 3, Hosts: 2, TopHosts: []Count{{"a.example", 4}}, Types: names("type", 50), Statuses: map[string]int64{"200": 7},
		HasPages: true, Pages: 8, NoIndex: 9, NoArchive: 10, Refused: 11, Truncated: 12, Usage: map[string]int64{"search refused": 13}, Licenses: []Count{{"http://a.example/terms", 14}},
		PageChanges: map[string]int64{"new": 15},
	}
	one.Seeds = Seeds{Count: 1, SHA256: "5EED"}
	one.Settings = []Setting{{"purpose", "search", true, "none"}, {"max-size", "1kB", false, "1kB"}}
	one.Runs.add(Run{Began: now, How: HowItself, Clock: Unknown, Synchronised: "no", Build: "no build"})
	one.Killed = 1
	one.Overrides.add(Override{now, "http://a.example", "delay", "1s", `they | agreed \| twice`})
	one.Orders.add(crawler.Order{})
	one.Changes.add(Change{})
	one.Changes.add(Change{})
	one.Robots = Robots{Copies: 1, Sites: 1}
	one.Absences = Absences{Entered: 20, URLs: 5, Source: SourceLinks, Refused: map[string]int64{}, Fates: map[frontier.Code]int64{frontier.Fetched: 15, frontier.SiteDead: 5}}
	one.Audit = Audit{Verdict: Violated, Requests: 1, Violations: 1, UnprovenLines: 2, Checks: []audit.Check{{Rule: "a rule", Checked: 3, Violations: 1}}}
	one.Outputs = []Output{{"snapshot.json", 16, "D16E57"}}

	many := newWriter(t.Context(), "/crawls/many.crawl", nil, Options{Now: now}).Provenance
	many.Writer.Program = "permesso/V"
	many.Figures.HasPages = true
	many.Figures.Hosts, many.Figures.Types, many.Figures.Statuses = 20, names("type", 51), map[string]int64{"304": 1}
	many.Figures.TopHosts = topOf(names("host", 21))
	many.Settings = []Setting{{"purpose", "none", false, "none"}}
	many.Builds = map[string]processes.Build{"B": {Program: "permesso/V", OS: "linux", Arch: "amd64"}}
	for i := range 51 {
		many.Runs.add(Run{Began: now.Add(time.Duration(i) * time.Hour), Last: now, How: HowKilled, Clock: "tsc", Synchronised: "yes", Build: "B"})
		many.Overrides.add(Override{Setting: "delay", Value: strconv.Itoa(i)})
		many.Outputs = append(many.Outputs, Output{fmt.Sprintf("warc/%02d.warc.gz", i), 2, "D16E57"})
	}
	many.Runs.All += 2
	many.Robots, many.Purge = Robots{Copies: 2, Sites: 0}, &Purge{URLs: 2, Last: now}
	many.Audit = Audit{Verdict: NotAudited, Why: "it was not asked for"}
	many.Absences.Source, many.Absences.SkippedLinks = SourceLastRun, map[string]int64{"nofollow": 2}
	many.Previous = &Previous{Dir: "before.crawl"}

	var is strings.Builder
	for _, p := range []*Provenance{nothing, one, many} {
		facts := p.facts()
		for _, name := range slices.Sorted(maps.Keys(facts)) {
			fmt.Fprintf(&is, "## %s: %s\n\n%s\n", p.Name, name, facts[name])
		}
	}
	goldenFile(t, "facts.md", is.String())
}

// goldenFile compares a text with the golden file of this name.
func goldenFile(t *testing.T, name, is string) {
	t.Helper()
	golden := filepath.Join("testdata", "golden", name)
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), is); diff != "" {
		t.Error(diff)
	}
}

// The facts from crawl.log and pages.jsonl equal the golden file. The log has lines of each
// kind. Some runs are known from the log, some from the state, and some from both.
func TestGoldenLog(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2000, 1, 2, 3, 4, seconds, 0, time.UTC) }
	run := func(seconds int, notes ...string) crawllog.Line {
		return crawllog.Line{Time: at(seconds), Size: -1, URL: crawllog.RunURL, Annotations: notes}
	}
	request := func(seconds, status int, size int64, url, hops, kind string, notes ...string) crawllog.Line {
		return crawllog.Line{Time: at(seconds), Start: at(seconds), Status: status, Size: size, URL: url, Hops: hops, Type: kind, Annotations: notes}
	}
	var log []byte
	for _, l := range []crawllog.Line{
		run(2, "begin:clean", "allows:delay=1s", "site:http://a.example", "reason:by%20mail"),
		request(1, 200, 10, "http://a.example/robots.txt", "P", "text/plain", "error:reset"),
		request(3, 200, 20, "http://a.example/", "", "text/html"),
		request(4, 299, 30, "https://a.example/", "L", ""),
		request(5, 304, -1, "http://b.example/", "L", "text/plain", "kept:text/html"),
		request(5, 304, -1, "http://b.example/0", "L", "text/plain"),
		request(6, 404, 40, "http://b.example/1", "L", "text/html"),
		request(7, 200, 50, "http://b.example/2", "L", "text/html", "error:body%20cut"),
		request(8, -2, -1, "http://c.example/", "L", "", "error:connect"),
		request(9, 300, 1, "http://c.example/1", "L", "text/html"),
		request(9, 199, 1, "mailto:x", "L", "text/html"),
		{Time: at(10), Status: -9998, Size: -1, URL: "http://d.example/"},
		run(11, "order:slow", "of:a.example", "what:3s", "why:they%20asked"),
		run(12, "changed:delay:1s->2%2C5s", "changed:limit:none->7", "lost:5", "allows:limit=7"),
		run(20, "begin:clean", "lost:6"),
		run(30, "begin:unclean", "lost:some"),
		request(31, 200, 1, "http://a.example/3", "L", "text/html"),
		run(40, "begin:clean"),
		request(39, 200, 1, "http://a.example/4", "L", "text/html"), // earlier than the line before, because the clock was set back
	} {
		log = l.Append(log)
	}
	log = append(log, "odd\n2000"...)
	dir := t.TempDir()
	pages := strings.Join([]string{
		`{"url":"http://a.example/","change":"new","charset":"utf-8","truncated":"length","noindex":true,"usage":[{"use":"search","granted":true},{"use":"ai-train"}],"license":["http://a.example/l"],"tdmpolicy":["http://a.example/l","http://a.example/p"]}`,
		`{"url":"http://a.example/1","change":"new","noarchive":true,"refused":"use","charset":"latin1","usage":[{"use":"search","granted":true}]}`, `{}`, `odd`,
	}, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), []byte(pages), 0o644); err != nil {
		t.Fatal(err)
	}
	no, yes := false, true
	process := func(seconds int, end crawler.End, clock string, synchronised *bool, build string) processes.Process {
		p := processes.Process{Began: at(seconds), End: string(end), Zone: "UTC", Offset: seconds, Clock: clock, Synchronised: synchronised, Build: build}
		if end != "" {
			p.Ended = p.Began.Add(time.Second)
		}
		return p
	}
	builds := map[string]processes.Build{"b1": {Program: "one"}, "b2": {Program: "two"}, "b3": {Program: "three"}}
	var is strings.Builder
	for _, of := range []struct {
		processes []processes.Process
		before    int
		unclean   bool
	}{
		{nil, 0, true},
		{[]processes.Process{process(1, crawler.EndLimit, "tsc", &yes, "b1"), process(2, crawler.EndDone, "", nil, "b2"), process(20, "", "hpet", &no, "b0"), process(40, "", "", nil, "")}, 0, true},
		{[]processes.Process{process(20, "", "", nil, ""), process(21, "", "", nil, ""), process(41, crawler.EndDone, "", nil, ""), process(50, "", "", nil, "b1"), process(51, crawler.EndDone, "", nil, "")}, 9, true},
		{[]processes.Process{process(50, "", "", nil, "b1")}, 0, false},
		{[]processes.Process{process(50, "", "", nil, "b1")}, 0, true},
	} {
		w := newWriter(t.Context(), dir, nil, Options{Now: at(0), Temp: t.TempDir()})
		r := &logReader{Provenance: w.Provenance, ctx: w.ctx, hosts: newHostCounts(w.newOrder(w.Temp))}
		if err := crawllog.Sift(bytes.NewReader(log), r.line, r.other); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.hosts.figures(&w.Figures), r.hosts.close(), w.readPages()); err != nil {
			t.Fatal(err)
		}
		w.join(r, &processes.History{Processes: of.processes, Builds: builds, Forgotten: of.before}, of.unclean)
		var reported any = struct {
			Runs   Many[Run]
			Killed int64
			Builds map[string]processes.Build
		}{w.Runs, w.Killed, w.Builds}
		if of.processes == nil {
			w.Name, w.Writer = "log", processes.Build{}
			reported = w.Provenance
		}
		text, err := json.MarshalIndent(reported, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&is, "%s\n", text)
	}
	goldenFile(t, "log.txt", is.String())
}

// Nodes of a crawl begin at the same time. Each process belongs to the line with its time, also if
// two lines have the same, and a node was killed before its process was recorded.
func TestRunsThatBeginTogether(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ms := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	w := newWriter(t.Context(), t.TempDir(), nil, Options{})
	r := &logReader{Provenance: w.Provenance, all: 4}
	for _, n := range []int{1, 2, 3, 3} {
		r.runs = append(r.runs, logRun{begun: ms(n), last: ms(900)})
	}
	var h processes.History
	for i, n := range []int{1, 3, 3} { // the second node was killed before it was recorded
		h.Processes = append(h.Processes, processes.Process{Began: ms(n).Add(time.Duration(i) * time.Microsecond), Ended: ms(1000 + i), End: "done"})
	}
	w.join(r, &h, false)
	var is []string
	for _, run := range w.Runs.List {
		is = append(is, fmt.Sprint(run.Began.Sub(at).Milliseconds(), " ", run.How, " ", max(0, run.Ended.Sub(at).Milliseconds())))
	}
	if want := []string{"1 done 1000", "2 unknown 0", "3 done 1001", "3 done 1002"}; !slices.Equal(is, want) {
		t.Errorf("%q, want %q", is, want)
	}
}

// A setting that this version does not know is listed without a default. A setting that the
// version of the crawl did not know is listed with its default.
func TestSettingsOfOtherVersions(t *testing.T) {
	w := newWriter(t.Context(), t.TempDir(), nil, Options{})
	w.asked = map[string]string{"delay": "2s", "gone": "x"}
	w.readSettings()
	is := map[string]Setting{}
	for _, s := range w.Settings {
		is[s.Name] = s
		if s.Given != (s.Name == "delay" || s.Name == "gone") || !s.Given && s.Value != s.Usual {
			t.Errorf("%+v", s)
		}
	}
	if is["delay"] != (Setting{"delay", "2s", true, "1s"}) || is["gone"] != (Setting{"gone", "x", true, Unknown}) || is["limit"] != (Setting{"limit", "0", false, "0"}) {
		t.Errorf("%+v", w.Settings)
	}
}

// An earlier provenance.json is used only if all of it can be read and there was no purge
// since.
func TestAnEarlierProvenanceIsReadWhole(t *testing.T) {
	const text = `{"outputs": [{"name": "warc/a", "bytes": 1, "sha256": "x"}]}`
	for name, c := range map[string]struct {
		text  string
		purge *Purge
		want  int
	}{"whole": {text, nil, 1}, "cut": {text[:len(text)-1], nil, 0}, "purged": {text, &Purge{}, 0}, "of another type": {text[:len(text)-1] + `, "name": 1}`, nil, 0}} {
		w := newWriter(t.Context(), t.TempDir(), nil, Options{})
		if got := w.earlier(); len(got) != 0 {
			t.Errorf("without a file: %v", got)
		}
		if err := os.WriteFile(filepath.Join(w.dir, File), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if w.Purge = c.purge; len(w.earlier()) != c.want {
			t.Errorf("%s: %v", name, w.earlier())
		}
	}
}

// shown returns at most mostText characters of a text.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"": "(empty)", " \t": "(empty)", "a\tb\nc": "`a b c`", "`e\u0301\x00": "`\\u{60}e\\u{301}\\u{0}`",
		strings.Repeat("a", 200): "`" + strings.Repeat("a", 200) + "`", strings.Repeat("a", 201): "`" + strings.Repeat("a", 200) + "…`",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

// A list has at most mostListed items, and the number of all items.
func TestListsAreBounded(t *testing.T) {
	var m Many[int]
	counts := map[string]int64{}
	for i := range 3 * mostNames {
		m.add(i)
		count(counts, strconv.Itoa(i))
	}
	if m.All != 3*mostNames || len(m.List) != mostListed || m.List[7] != 7 {
		t.Errorf("%d of %d", len(m.List), m.All)
	}
	terms := map[string]int64{}
	for range 2 {
		for i := range mostLicenses + 1 {
			tallyFirst(terms, strconv.Itoa(i), mostLicenses)
		}
	}
	if len(terms) != mostLicenses || terms["0"] != 2 || terms[strconv.Itoa(mostLicenses-1)] != 2 {
		t.Errorf("%d places of terms", len(terms))
	}
	if len(counts) != mostNames+1 || counts[others] != 2*mostNames {
		t.Errorf("%d names, %d others", len(counts), counts[others])
	}
}

// Filling in a datasheet keeps all text outside of its marks. Filling it in again changes
// nothing.
func FuzzDatasheet(f *testing.F) {
	f.Add(string(emptySheet))
	f.Add("<!-- facts: counts -->\r\nx\r\n<!-- /facts -->\r\nmine")
	f.Add("<!-- facts: other -->\nkept\n<!-- /facts -->\n<!-- facts: counts -->\n<!-- /facts -->")
	facts := map[string]string{"counts": "| a | 1 |\n", "hosts": "none\n"}
	f.Fuzz(func(t *testing.T, old string) {
		once, err := fillSheet([]byte(old), facts)
		if err != nil {
			return
		}
		twice, err := fillSheet(once, facts)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, and that %q: %v", old, once, twice, err)
		}
		known := false
		rest := once
		for line := range bytes.Lines([]byte(old)) {
			if m := beginFacts.FindSubmatch(bytes.TrimSuffix(line, []byte("\n"))); m != nil {
				known = facts[string(m[1])] != ""
			} else if endFacts.Match(bytes.TrimSuffix(line, []byte("\n"))) {
				known = false
			} else if known {
				continue
			}
			i := bytes.Index(rest, line)
			if i < 0 {
				t.Fatalf("%q lost %q: %q", old, line, once)
			}
			rest = rest[i+len(line):]
		}
	})
}
