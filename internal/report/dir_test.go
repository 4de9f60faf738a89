package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

func reportOf(t *testing.T, log string) *report.Report {
	t.Helper()
	r, err := report.Dir(t.Context(), written(t, map[string]string{store.LogFile: log}), report.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const own = ",asked:1.000000,clock:own"

// A request that began too early is counted, and its dot is below the line. If the start of its
// pause was lost in a kill, the request is counted separately.
func TestARequestThatCameTooEarlyIsTold(t *testing.T) {
	r := reportOf(t, logged(1, "200", "http://a.test/1", "-", "text/html", "")+
		logged(3, "200", "http://a.test/2", "-", "text/html", own)+
		logged(3, "200", "http://a.test/3", "-", "text/html", own+",since:2026-05-04T10:00:02.500000Z")+
		"2026-05-04T10:00:04.000Z 0 - permesso:run - - unknown #000 - - - begin:unclean\n"+
		"2026-05-04T10:00:05.000Z 0 - permesso:run - - unknown #000 - - - begin:unclean\n"+
		logged(6, "200", "http://a.test/4", "-", "text/html", own)+
		logged(9, "200", "http://a.test/5", "-", "text/html", ",asked:2.000000,clock:retry-after"))
	p := r.Polite
	if p.Judged != 3 || p.Early != 1 || p.Unknown != 1 || p.RetryAfter != 1 || p.Least != -0.5 || p.LeastLine != 3 || p.LeastClock != "own" || p.Margin() != -0.5 {
		t.Errorf("%+v", p)
	}
	if r.Runs != 2 || r.Killed != 1 {
		t.Errorf("%d runs, %d killed", r.Runs, r.Killed)
	}
	below := 0
	for _, d := range r.Delays {
		if d.Early > 0 {
			below++
			if d.Kept >= d.Asked || d.Line != 3 {
				t.Errorf("%+v", d)
			}
		}
	}
	raw, _ := pageOf(t, r)
	for _, want := range []string{`class="dot bad"`, "1 of 3 requests came before the pause was over.", `<div class="bad"><dt>early request</dt><dd>1</dd></div>`, "Runs that did not end by themselves: 1."} {
		if !strings.Contains(raw, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if below != 1 {
		t.Errorf("%d dots below the line", below)
	}
}

// If all requests kept their pauses, the page says so.
func TestRequestsThatKeptTheirPausesAreTold(t *testing.T) {
	t.Parallel()
	raw, _ := pageOf(t, reportOf(t, logged(1, "200", "http://a.test/1", "-", "text/html", "")+logged(3, "200", "http://a.test/2", "-", "text/html", own)+
		logged(6, "200", "http://a.test/3", "-", "text/html", own)))
	for _, want := range []string{
		"Each of 2 requests that had to keep a pause has kept it.", "The closest one kept 900 ms more than required (own, line 2 of crawl.log).",
		"No request had to wait for a Retry-After that was the longest of all pauses.", "0 of the requests were for robots.txt.",
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
}

// A URL from a sitemap counts as found when the robots.txt was fetched for the first time, even
// if it was requested much later.
func TestAURLThatRobotsTxtLeadsToIsKnownSinceItCame(t *testing.T) {
	t.Parallel()
	robots := func(second int) string {
		return strings.Replace(logged(second, "200", "http://a.test/robots.txt", "http://a.test/", "text/plain", ""), " L ", " P ", 1)
	}
	r := reportOf(t, "2026-05-04T10:00:00.000Z 0 - permesso:run - - unknown #000 - - - begin:clean\n"+
		robots(10)+robots(30)+logged(40, "200", "http://a.test/listed", "http://a.test/robots.txt", "text/html", ""))
	var found []float64
	for i, p := range r.Series.Points {
		if p.Found > 0 {
			found = append(found, float64(i)*r.Series.Step)
		}
	}
	if len(found) != 1 || found[0] < 9 || found[0] > 11 {
		t.Errorf("URLs were found after %v seconds", found)
	}
}

// Lines that cannot be read are counted and listed. The report of the other lines is made.
func TestLinesThatAreNoneAreToldAndNotFatal(t *testing.T) {
	good := logged(1, "200", "http://a.test/1", "-", "text/html", "")
	r := reportOf(t, "\n"+good+"foreign\n"+strings.Repeat("x", 9<<20)+"\n"+
		strings.Replace(good, "took:0.1", "took:-0.1", 1)+strings.Replace(good, "http://a.test/1", "whois:a.test", 1)+
		strings.Repeat("\x00", 5000)+"\n"+strings.TrimSuffix(good, "\n"))
	if r.Requests != 1 || r.Lines != 1 || r.Others != 7 || len(r.Other) != 7 {
		t.Errorf("%d requests, %d lines, %d others: %+v", r.Requests, r.Lines, r.Others, r.Other)
	}
	for i, want := range []int64{1, 3, 4, 5, 6, 7, 8} {
		if r.Other[i].Line != want || r.Other[i].Why == "" {
			t.Errorf("other %d: %+v, want line %d", i, r.Other[i], want)
		}
	}
	raw, _ := pageOf(t, r)
	if !strings.Contains(raw, "Lines of crawl.log that could not be read, and are in none of the figures: 7 (line 1: ") {
		t.Error("the page does not say it")
	}
}

// The page of a crawl without requests says that there are none.
func TestACrawlWithoutAnyRequestHasAReport(t *testing.T) {
	for _, log := range []string{"", "2026-05-04T10:00:00.000Z 0 - permesso:run - - unknown #000 - - - begin:clean\n"} {
		r := reportOf(t, log)
		raw, tree := pageOf(t, r)
		for _, want := range []string{
			"No request had to keep a pause.", "No request had to keep a pause yet.", "No request was sent.", "No site got two requests.",
			"There were none.", "Nothing was answered.", "Nothing is left.", "Each URL that entered the crawl was answered.",
		} {
			if !strings.Contains(raw, want) {
				t.Errorf("the page does not have %s", want)
			}
		}
		if strings.Contains(raw, "Nothing has happened yet.") != (log == "") {
			t.Errorf("%q: whether anything has happened", log)
		}
		if r.Requests != 0 || strings.Contains(raw, "NaN") || strings.Contains(raw, "Inf") || len(all(tree, "figure")) != 11 {
			t.Errorf("%q: %+v", log, r)
		}
	}
}

// The report of a running crawl is made from its log alone, and the crawl continues.
func TestACrawlThatRunsIsToldByItsLog(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log := logged(1, "200", "http://a.test/1", "-", "text/html", "")
	if err := os.WriteFile(filepath.Join(dir, store.LogFile), []byte(log+"2026-05-04T10:0"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := report.Dir(t.Context(), dir, report.Options{})
	if err != nil || !r.Running || r.Requests != 1 || r.Others != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	raw, _ := pageOf(t, r)
	for _, want := range []string{"This is of a crawl that runs", "The crawl runs: its queue is not known from outside."} {
		if !strings.Contains(raw, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// Dir fails for a directory without a crawl or without a log.
func TestWhatIsNoCrawlHasNoReport(t *testing.T) {
	if _, err := report.Dir(t.Context(), t.TempDir(), report.Options{}); !errors.Is(err, store.ErrNoCrawl) {
		t.Errorf("no crawl: %v", err)
	}
	dir := written(t, nil)
	if err := os.Remove(filepath.Join(dir, store.LogFile)); err != nil {
		t.Fatal(err)
	}
	var damaged *store.DamagedError
	if _, err := report.Dir(t.Context(), dir, report.Options{}); !errors.As(err, &damaged) {
		t.Errorf("no log: %v", err)
	}
	garbled := written(t, nil)
	if err := os.WriteFile(filepath.Join(garbled, store.StateFile), make([]byte, 32<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Dir(t.Context(), garbled, report.Options{}); !errors.As(err, &damaged) {
		t.Errorf("garbled: %v", err)
	}
}

// The remaining URLs are listed by site, with the least time that is needed to request them.
func TestWhatIsLeftIsToldByItsTime(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	dir := queued(t, now)
	r, err := report.Dir(t.Context(), dir, report.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if r.Left.All != 2 || r.Left.Rows[0].Site != "http://slow.test" || r.Left.Rows[0].Queued != 2 || r.Left.Rows[0].Seconds != 30+2*7 || r.Left.Rows[0].Fate != frontier.Waiting ||
		r.Left.Rows[1].Seconds != 0 || r.Left.Rows[1].Fate != frontier.SiteDead {
		t.Errorf("%+v", r.Left)
	}
	if len(r.Outcomes) != 2 || r.Outcomes[0].Fate != frontier.Waiting || r.Outcomes[0].URLs != 2 || r.Outcomes[1].Fate != frontier.SiteDead || r.URLs != 3 {
		t.Errorf("%+v, %d URLs", r.Outcomes, r.URLs)
	}
}

// URLs that wait to be fetched again do not count as remaining. They are counted separately,
// and count with their last result.
func TestWhatIsToBeFetchedAgainIsNotLeft(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	next := now.Add(time.Hour)
	dir := visited(t, now, next)
	r, err := report.Dir(t.Context(), dir, report.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if r.Again != 1 || !r.NextAgain.Equal(next) || r.Left.All != 1 || r.Left.Rows[0].Queued != 1 || r.URLs != 2 {
		t.Errorf("%d again, the next %v; left %+v, %d URLs", r.Again, r.NextAgain, r.Left, r.URLs)
	}
	if len(r.Outcomes) != 2 || r.Outcomes[0].Fate != frontier.Fetched || r.Outcomes[0].URLs != 1 || r.Outcomes[1].URLs != 1 {
		t.Errorf("%+v", r.Outcomes)
	}
	var page, raw bytes.Buffer
	if err := errors.Join(r.WriteHTML(&page), json.NewEncoder(&raw).Encode(r)); err != nil {
		t.Fatal(err)
	}
	if want := "Beside that 1 URL waits to be fetched again, the next at 2026-05-04 13:00:00 UTC."; !strings.Contains(page.String(), want) {
		t.Errorf("the page does not say %q", want)
	}
	if want := `"again":1,`; !strings.Contains(raw.String(), want) || !strings.Contains(raw.String(), `"next_again":"2026-05-04T13:00:00Z"`) {
		t.Errorf("it is %s", raw.String())
	}
}

// A page that links to a URL and embeds it counts once, even if the page was fetched twice. The
// table of the most linked URLs counts only links that readers can follow.
func TestWhatAPageIsShownWithIsNoLinkThatReadersFollow(t *testing.T) {
	link := func(from, to, hop string) string {
		return `{"from":"http://a.test/` + from + `","to":"http://a.test/` + to + `","hop":"` + hop + `"}` + "\n"
	}
	r, err := report.Dir(t.Context(), written(t, map[string]string{
		store.LogFile: logged(1, "404", "http://a.test/i", "http://a.test/1", "image/png", ""),
		store.LinksFile: link("1", "i", "E") + link("1", "i", "L") + link("1", "i", "L") + link("1", "i#top", "E") +
			link("2", "i", "E") + link("2", "i", "E") + link("3", "i", "L") + link("3", "i", "E") + link("4", "i", "R") + link("5", "s", "E") +
			link("1", "i", "E") + link("3", "i", "L"), // the same links from second visits of the pages 1 and 3
	}), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors.Rows) != 1 || r.Errors.Rows[0].Linked != 3 || len(r.Errors.Rows[0].From) != 3 {
		t.Errorf("%+v", r.Errors.Rows)
	}
	if len(r.Linked.Rows) != 1 || r.Linked.Rows[0].Pages != 2 {
		t.Errorf("%+v", r.Linked.Rows)
	}
}

// The log may lose 3 microseconds by rounding. A request that is 4 microseconds early is too
// early.
func TestRoundingIsNotTooEarly(t *testing.T) {
	for asked, early := range map[string]int64{"1.900000": 0, "1.900003": 0, "1.900004": 1} {
		r := reportOf(t, logged(1, "200", "http://a.test/1", "-", "text/html", "")+logged(3, "200", "http://a.test/2", "-", "text/html", ",clock:own,asked:"+asked))
		if r.Polite.Early != early || r.Polite.Judged != 1 || early == 0 && r.Polite.Margin() != 0 {
			t.Errorf("asked %s: %+v", asked, r.Polite)
		}
	}
}

// If a URL was requested several times, its last line decides its result.
func TestAURLStandsAsItsLastLineSays(t *testing.T) {
	for status, want := range map[string]string{
		"200": "fetched", "404": "fetched", "304": "fetched", "408": "failed", "421": "failed", "425": "failed", "429": "failed", "500": "failed", "599": "failed",
		"-3": "failed", "-9998": "refused", "-5002": "use", "-5001": "optout", "-5000": "scope",
	} {
		r := reportOf(t, logged(1, "500", "http://a.test/1", "-", "text/html", "")+logged(3, status, "http://a.test/1", "-", "text/html", ""))
		if len(r.Outcomes) != 1 || r.Outcomes[0].Fate.String() != want || r.Outcomes[0].URLs != 1 {
			t.Errorf("%s: %+v, want %s", status, r.Outcomes, want)
		}
	}
}
