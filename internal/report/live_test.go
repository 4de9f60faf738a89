package report_test

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
	"golang.org/x/net/html"
)

// A Live that was given all lines of a log has the same tables as the report of the crawl.
func TestALiveReportHasTheFiguresOfTheReport(t *testing.T) {
	dir, want, _ := crawled(t)
	raw, err := os.ReadFile(filepath.Join(dir, "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	live := report.NewLive("news.crawl")
	for line := range bytes.Lines(raw) {
		live.Line(bytes.TrimSuffix(line, []byte("\n")))
	}
	status, err := crawler.ReadStatus(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := live.Report(&status)
	for i := range want.Series.Points { // ignore Found, because a running crawl does not know it
		want.Series.Points[i].Found, want.Series.Points[i].Ended = 0, 0
	}
	for i := range want.Slowest.Rows {
		want.Slowest.Rows[i].Title = ""
	}
	outcomes := slices.DeleteFunc(want.Outcomes, func(o report.Outcome) bool { return o.Fate == frontier.Fetched })
	for name, pair := range map[string][2]any{
		"sites":    {got.SiteRows, want.SiteRows},
		"rules":    {got.Rules, want.Rules},
		"troubles": {got.Troubles, want.Troubles},
		"rates":    {got.Rates, want.Rates},
		"delays":   {got.Delays, want.Delays},
		"series":   {got.Series, want.Series},
		"types":    {got.Types, want.Types},
		"slowest":  {got.Slowest, want.Slowest},
		"outcomes": {got.Outcomes, outcomes},
		"polite":   {got.Polite.Judged, want.Polite.Judged},
		"requests": {got.Requests, want.Requests},
	} {
		if d := cmp.Diff(pair[1], pair[0]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got.Requests == 0 || len(got.Delays) == 0 || got.Rules.Rows[0].Refused == 0 {
		t.Errorf("%+v", got.Report)
	}
}

// parts returns the parts of a report as the IDs of their elements, as one text, and as a
// parsed tree.
func parts(t *testing.T, p report.Parts, err error) (ids []string, raw string, tree *html.Node) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat([]report.Part{p.Polite}, p.Plots, p.Tables)
	if p.Changes != nil {
		all = append(all, *p.Changes)
	}
	for _, one := range all {
		ids, raw = append(ids, one.ID), raw+string(one.HTML)
	}
	if tree, err = html.Parse(strings.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	return ids, raw, tree
}

// looks make a link of each URL, site and fate.
var looks = report.NewLooks(func(kind, text string) string {
	if kind == report.URLs && !strings.HasPrefix(text, "http") {
		return ""
	}
	return kind + "?" + template.URLQueryEscaper(text)
})

// inert fails the test if an element of a tree could load something, run a script, or link to
// another page.
func inert(t *testing.T, tree *html.Node) {
	t.Helper()
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains(strings.Fields("script img iframe object embed link style form"), n.Data) {
			t.Errorf("there is an element %s", n.Data)
		}
		for _, a := range n.Attr {
			known := slices.ContainsFunc([]string{"#", "urls?", "site?", "fate?"}, func(p string) bool { return strings.HasPrefix(a.Val, p) })
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "style"}, a.Key) || a.Key == "href" && !known {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
}

// Texts from sites are shown only as text in the parts of a report, within the caller's links.
func TestWhatSitesSayIsTextInPartsOfAReport(t *testing.T) {
	p, err := looks.Parts(hostileReport(t))
	ids, raw, tree := parts(t, p, err)
	inert(t, tree)
	if len(ids) != 1+10+7+1 || len(p.Warnings) == 0 {
		t.Errorf("parts %q, warnings %q", ids, p.Warnings)
	}
	for _, want := range []string{`<a href="urls?http%3A%2F%2Fa.test%2F`, `<a href="site?http%3A%2F%2Fa.test">http://a.test</a>`, `<a href="fate?`, "&lt;script&gt;alert(1)&lt;/script&gt;"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the parts do not have %s", want)
		}
	}
}

// Texts from sites are shown only as text in the parts of a Live report. It shows no line
// numbers, because they are not known.
func TestWhatSitesSayIsTextInALiveReport(t *testing.T) {
	live := report.NewLive("x")
	field := strings.ReplaceAll(hostile, " ", "")
	url := "http://a.test/?" + field
	for i := range 3 {
		live.Line([]byte(strings.TrimSuffix(logged(2*i+1, []string{"200", "404", "-3"}[i], url, url, field, ",asked:1.000000,clock:"+strings.ReplaceAll(field, ",", "")), "\n")))
	}
	live.Line([]byte("2026-05-04T10:00:09.000Z -9998 - " + url + " L - unknown #000 - - - rule:7"))
	live.Line([]byte(field))
	status := crawler.Status{Time: time.Date(2026, 5, 4, 10, 0, 10, 0, time.UTC), Name: hostile}
	status.Crawl.Known, status.Crawl.Done = 9, 4
	status.Left = map[frontier.Code]int{frontier.Queued: 5}
	status.Sites.LongestFirst = []crawler.StatusSite{{Site: "http://b.test", Queued: 5, Seconds: 70, By: frontier.CrawlDelayClock}}
	live.Status(&status)
	p, err := looks.Recent(live.Report(&status))
	ids, raw, tree := parts(t, p, err)
	inert(t, tree)
	if len(ids) != 1+11+5 {
		t.Errorf("parts %q", ids)
	}
	for _, want := range []string{"forbidden by line 7 of robots.txt", "b.test", "crawl-delay", "70 s", "Slowest sites", "Latest errors", "&lt;script&gt;"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the parts do not have %s", want)
		}
	}
	if strings.Contains(raw, "line of crawl.log") {
		t.Error("they have numbers of lines")
	}
}

// A Live forgets sites beyond its limit. It shows the latest lines, the newest first.
func TestALiveIsBounded(t *testing.T) {
	live := report.NewLive("x")
	var status crawler.Status
	for i := range 20_100 {
		live.Line([]byte(strings.TrimSuffix(logged(i%60, "200", fmt.Sprintf("http://h%d.test/", i), "-", "text/html", ""), "\n")))
	}
	for i := range 1000 {
		status.Time = time.Date(2026, 5, 4, 10, 0, i, 0, time.UTC)
		status.Crawl.Known, status.Crawl.Done = 100+i, i
		live.Status(&status)
	}
	r := live.Report(&status)
	if r.SiteRows.All != 20_000 || len(r.SiteRows.Rows) != 50 || r.Requests != 20_100 {
		t.Errorf("%d sites, %d of them shown; %d requests", r.SiteRows.All, len(r.SiteRows.Rows), r.Requests)
	}
	p, err := looks.Recent(r)
	_, raw, tree := parts(t, p, err)
	latest := all(tree, "section")[0]
	rows := all(latest, "tbody")[0]
	if n := len(all(rows, "tr")); n != 25 || !strings.Contains(text(all(rows, "tr")[0]), "http://h20099.test/") || !strings.Contains(text(all(rows, "tr")[24]), "http://h20075.test/") {
		t.Errorf("%d rows, from %q to %q", n, text(all(rows, "tr")[0]), text(all(rows, "tr")[n-1]))
	}
	if !strings.Contains(raw, "Found: from 100 to 1\u202f099 URLs. Ended: from 0 to 999.") {
		t.Error("the frontier is not what it was")
	}
	if len(raw) > 400_000 {
		t.Errorf("the parts have %d bytes", len(raw))
	}
}

// Later lines do not change a report that a Live has returned.
func TestALiveReportStaysAsItIs(t *testing.T) {
	live := report.NewLive("x")
	line := func(i int, url string) {
		live.Line([]byte(strings.TrimSuffix(logged(i, "200", url, "-", "text/html", ",asked:1.000000,clock:own"), "\n")))
	}
	status := crawler.Status{Time: time.Date(2026, 5, 4, 10, 0, 3, 0, time.UTC)}
	status.Crawl.Known = 7
	live.Status(&status)
	line(1, "http://a.test/1")
	line(3, "http://a.test/2")
	r := live.Report(&status)
	render := func(r *report.Recent) string {
		p, err := looks.Recent(r)
		_, raw, _ := parts(t, p, err)
		return raw
	}
	was := render(r)
	for i := range 50 {
		line(4+i, "http://b.test/")
		live.Status(&status)
	}
	if render(r) != was {
		t.Error("it has changed")
	}
	if render(live.Report(&status)) == was {
		t.Error("later reports are the same")
	}
}
