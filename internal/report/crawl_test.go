package report_test

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
)

var testIdentity = crawler.Identity{Token: "reportbot", Contact: "https://example.org/reportbot"}

// crawled crawls a web that has everything that a report shows. It returns the directory, the
// report and the summary of the crawl.
func crawled(t *testing.T) (dir string, r *report.Report, sum crawler.Summary) {
	dir = t.TempDir() + "/news.crawl"
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\nCrawl-delay: 2\n").
			Page("/", `<title>Home</title><a href=/b>1</a><a href=/b>2</a><a href=/c>3</a><a href=/d>4</a><a href=/no/1>5</a><a href=/no/2>6</a><a href=/gone>7</a><a href=/moved>8</a><a href=/broken>9</a><a href=/busy>10</a>`).
			Page("/b", `<title>B</title><a href=/gone>7</a><a href=/#top>home</a>`).
			Page("/c", `<title>Twice</title>the same`).Page("/d", `<title>Twice</title>the same`).
			Redirect("/moved", "/e").Page("/e", `<title>E</title><a href=/gone>7</a>`).
			Status("/gone", http.StatusNotFound).Status("/broken", http.StatusInternalServerError).
			Flaky("/busy", "<title>Busy</title>", "30", http.StatusServiceUnavailable)
		w.Site("http://b.example").Robots("").Latency(300*time.Millisecond).Page("/", `<title>Other</title>`)
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputPages, crawler.OutputLinks}}, Budget: crawler.Budget{Patience: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return nil })); err != nil {
			t.Fatal(err)
		}
		sum = c.Summary()
		if r, err = report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	})
	return dir, r, sum
}

// The numbers in a report equal those in the crawl's own summary.
func TestAReportHasTheFiguresOfItsCrawl(t *testing.T) {
	_, r, sum := crawled(t)
	status := map[int]int{}
	for _, c := range r.Status {
		code, _ := strconv.Atoi(c.Name)
		status[code] = int(c.N)
	}
	var failed map[string]int
	for _, c := range r.Failures {
		failed = map[string]int{c.Name: int(c.N)}
	}
	for name, pair := range map[string][2]any{
		"requests":      {int(r.Requests), sum.Requests},
		"for robots":    {int(r.RobotsRequests), sum.Robots},
		"pages":         {int(r.Pages), sum.Pages},
		"bytes":         {r.Bytes, sum.Bytes},
		"sites":         {int(r.Sites), sum.Sites},
		"answers":       {status, sum.Status},
		"errors":        {failed, sum.Errors},
		"early":         {int(r.Polite.Early), sum.Frontier.Polite.Early},
		"token":         {r.Token, testIdentity.Token},
		"runs":          {r.Runs, 1},
		"killed":        {r.Killed, 0},
		"running":       {r.Running, false},
		"name":          {r.Name, "news.crawl"},
		"format":        {r.Format, report.Format},
		"other lines":   {int(r.Others), 0},
		"unknown":       {int(r.Polite.Unknown), 0},
		"links":         {r.HasLinks, true},
		"left":          {int(r.Left.All), 0},
		"outcomes":      {r.Outcomes, []report.Outcome{{Fate: frontier.Fetched, URLs: int64(sum.Fetched)}, {Fate: frontier.RobotsDisallowed, URLs: 2}, {Fate: frontier.Failed, URLs: 1}}},
		"urls":          {int(r.URLs), sum.Fetched + 3},
		"had a pause":   {int(r.Polite.Judged), sum.Requests - 2},
		"retry-after":   {int(r.Polite.RetryAfter), 1},
		"least margin":  {r.Polite.Least > -3e-6 && r.Polite.LeastLine > 0, true},
		"redirects all": {int(r.Redirect.All), 1},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: the report says %v, the crawl %v", name, pair[0], pair[1])
		}
	}
}

// The tables have the pages that link to a broken URL, the targets of redirects, and the pages
// with the same body. A page that links twice counts once. A link to a fragment counts for the
// page.
func TestTheTablesOfAReportNameTheirPages(t *testing.T) {
	_, r, _ := crawled(t)
	broken := map[string]report.Failure{}
	for _, f := range r.Errors.Rows {
		broken[f.URL] = f
	}
	gone := broken["http://a.example/gone"]
	if want := []string{"http://a.example/", "http://a.example/b", "http://a.example/e"}; gone.Status != 404 || gone.Linked != 3 || gone.Tries != 1 || !reflect.DeepEqual(gone.From, want) {
		t.Errorf("gone: %+v", gone)
	}
	if again := broken["http://a.example/broken"]; again.Status != 500 || again.Tries != 3 || again.Via != "http://a.example/" {
		t.Errorf("broken: %+v", again)
	}
	if len(broken) != 2 || r.Errors.All != 2 || r.Errors.Rows[0].URL != gone.URL {
		t.Errorf("errors: %+v", r.Errors)
	}
	if want := []report.Redirect{{URL: "http://a.example/moved", Status: 302, To: "http://a.example/e", Linked: 1}}; !reflect.DeepEqual(r.Redirect.Rows, want) {
		t.Errorf("redirects: %+v", r.Redirect.Rows)
	}
	linked := map[string]report.Linked{}
	for _, l := range r.Linked.Rows {
		linked[l.URL] = l
	}
	if b, home := linked["http://a.example/b"], linked["http://a.example/"]; b.Pages != 1 || b.Title != "B" || home.Pages != 1 || home.Fate != frontier.Fetched {
		t.Errorf("linked: %+v, %+v", b, home)
	}
	if len(r.Same.Rows) != 1 || r.Same.Rows[0].Pages != 2 || r.Same.Rows[0].Title != "Twice" || r.Repeated != 1 {
		t.Errorf("duplicates: %+v, %d", r.Same, r.Repeated)
	}
	if len(r.Slowest.Rows) == 0 || r.Slowest.Rows[0].Seconds < 0.3 || r.Slowest.Rows[0].Seconds < r.Slowest.Rows[1].Seconds {
		t.Errorf("slowest: %+v", r.Slowest.Rows)
	}
	if len(r.Largest.Rows) == 0 || r.Largest.Rows[0].URL != "http://a.example/" || r.Largest.Rows[0].Title != "Home" {
		t.Errorf("largest: %+v", r.Largest.Rows)
	}
}

// The tables of sites have their pauses, answers and rules. The series over time has each
// request in its step.
func TestAReportTellsSitesAndTime(t *testing.T) {
	_, r, _ := crawled(t)
	a, b := r.SiteRows.Rows[0], r.SiteRows.Rows[1]
	if a.Site != "http://a.example" || a.Asked != 2 || a.Clock != "crawl-delay" || a.Robots != "200" {
		t.Errorf("a: %+v", a)
	}
	if b.Median < 0.3*11/12 || b.Median > 0.3*13/12 || b.Requests != 2 || b.Pages != 1 {
		t.Errorf("b: %+v", b)
	}
	if rules := r.Rules.Rows[0]; rules.Site != a.Site || rules.Refused != 2 || rules.Asked != a.Requests-1 {
		t.Errorf("rules: %+v", rules)
	}
	want := []report.Count{{Name: "rest", N: 1}, {Name: "5xx", N: 3}, {Name: "4xx", N: 1}}
	if got := r.Troubles.Rows[0]; !reflect.DeepEqual(got.Classes, want) || got.All != 5 || r.Troubles.All != 1 {
		t.Errorf("troubles: %+v", r.Troubles)
	}
	var sum report.Point
	for _, p := range r.Series.Points {
		sum.Requests += p.Requests
		sum.Pages += p.Pages
		sum.Bytes += p.Bytes
		sum.Found += p.Found
		sum.Ended += p.Ended
		sum.Refused += p.Refused
		sum.Answers[5] += p.Answers[5]
	}
	if sum.Requests != r.Requests || sum.Pages != r.Pages || sum.Bytes != r.Bytes || sum.Found != r.URLs || sum.Ended != r.URLs || sum.Refused != 2 || sum.Answers[5] != 4 {
		t.Errorf("over time %+v, in all %d requests, %d URLs", sum, r.Requests, r.URLs)
	}
	if len(r.Series.Points) > 120 || r.Series.Points[0].Found < 2 {
		t.Errorf("%d steps, %+v", len(r.Series.Points), r.Series.Points[0])
	}
	n := int64(0)
	for _, d := range r.Delays {
		if n += d.Requests; d.Kept < d.Asked-3e-6 || d.Early != 0 {
			t.Errorf("a dot below the line: %+v", d)
		}
	}
	if n != r.Polite.Judged {
		t.Errorf("%d requests have dots, %d had to keep a pause", n, r.Polite.Judged)
	}
}
