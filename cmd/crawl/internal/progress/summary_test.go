package progress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// Up to ten sites with remaining URLs are listed, each with what it waits for.
func TestTheSummaryListsWhoIsWaitedFor(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	site := func(name string, change func(*frontier.SiteStatus)) frontier.SiteStatus {
		st := frontier.SiteStatus{Site: frontier.Site("http://" + name), Queued: 2, Due: now.Add(90 * time.Second), By: frontier.BackOffClock}
		change(&st)
		return st
	}
	dead := func(detail string) func(*frontier.SiteStatus) {
		return func(st *frontier.SiteStatus) { st.Given = frontier.Fate{Code: frontier.SiteDead, Detail: detail} }
	}
	again := func(name string, queued int) frontier.SiteStatus {
		return site(name, func(st *frontier.SiteStatus) { st.Queued, st.Again, st.By = queued, 3, frontier.AgainClock })
	}
	private := dead("10.0.0.1, which is not a public address")
	for name, c := range map[string]struct {
		waiting []frontier.SiteStatus
		want    string
	}{
		"a clock": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) {})}, "http://a.test  2 URLs  due in 1m30s (back-off)\n"},
		"due":     {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) { st.Due = now; st.Queued = 1 })}, "http://a.test  1 URL  due\n"},
		"a budget": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) { st.Over = true })},
			"http://a.test  2 URLs  its budget is spent\nbudgets: --max-host-pages, --max-host-bytes, --max-host-time\n"},
		"given up":        {[]frontier.SiteStatus{site("a.test", dead("connect: refused"))}, "http://a.test  2 URLs  no answer (connect: refused): given up in this run\n"},
		"no detail":       {[]frontier.SiteStatus{site("a.test", dead(""))}, "http://a.test  2 URLs  no answer: given up in this run\n"},
		"one private":     {[]frontier.SiteStatus{site("a.test", private)}, "http://a.test  2 URLs  no answer (10.0.0.1, which is not a public address): given up in this run; --allow-private permits it\n"},
		"two, and one":    {[]frontier.SiteStatus{site("a.test", private), site("b.test", dead("")), site("c.test", private)}, "http://a.test and 1 more site without a public address: 4 URLs, given up in this run; --allow-private permits it\nhttp://b.test  2 URLs  no answer: given up in this run\n"},
		"fetched again":   {[]frontier.SiteStatus{again("a.test", 0)}, ""},
		"and queued, too": {[]frontier.SiteStatus{again("a.test", 1)}, "http://a.test  1 URL and 3 to be fetched again  due in 1m30s (again)\n"},
		"one private, one fetched again": {[]frontier.SiteStatus{again("a.test", 0), site("b.test", private)},
			"http://b.test  2 URLs  no answer (10.0.0.1, which is not a public address): given up in this run; --allow-private permits it\n"},
		"fetched again no more": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) {
			st.Queued, st.Again, st.Excluded, st.ExcludedAs = 0, 1, "asked to", "a.test"
		})},
			"http://a.test  1 URL to be fetched again  excluded (asked to), until crawl run --lift a.test\n"},
	} {
		var out bytes.Buffer
		waitingLines(&say.Lines{W: &out}, crawler.Summary{Waiting: c.waiting}, false, now)
		if got := strings.ReplaceAll(out.String(), strings.Repeat(" ", 13), ""); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
	for n, want := range map[int]string{10: "http://9.test  2 URLs", 11: "and 1 more site", 12: "and 2 more sites"} {
		var s crawler.Summary
		for i := range n {
			s.Waiting = append(s.Waiting, site(fmt.Sprint(i, ".test"), func(*frontier.SiteStatus) {}))
		}
		var out bytes.Buffer
		waitingLines(&say.Lines{W: &out}, s, false, now)
		all := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if last := strings.TrimSpace(all[len(all)-1]); len(all) != min(n, 11) || !strings.HasPrefix(last, want) {
			t.Errorf("%d sites: %d lines, the last is %q", n, len(all), last)
		}
	}
}

// URLs to be fetched again are printed with the time of the first, in the same words in
// each output about a crawl.
func TestWhatIsToBeFetchedAgainIsToldApart(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	next := now.Add(7 * 24 * time.Hour).In(time.FixedZone("", 3600))
	var s crawler.Summary
	s.Pages, s.Frontier = 5, frontier.Stats{Entries: 2, Again: 3, NextDue: next, NextSite: "http://a.test", NextBy: frontier.AgainClock}
	s.Left, s.NextAgain = map[frontier.Code]int{frontier.Queued: 2}, next
	s.Waiting = []frontier.SiteStatus{{Site: "http://a.test", Again: 3, Due: next, By: frontier.AgainClock}}
	v := &View{Stats: s.Stats, Since: time.Minute, Now: now}
	status := crawler.Status{Time: now, Crawl: crawler.StatusCrawl{Done: 1, Queued: 2, Again: 3, Known: 6, NextAgain: next}}
	status.Sites = crawler.StatusSites{Clocks: map[frontier.Clock]crawler.StatusClock{frontier.AgainClock: {Sites: 1, Again: 3, First: next, Last: next}},
		Slowest: &crawler.StatusSite{Site: "http://a.test", Again: 3, Pause: 10}}
	text := func(tell func(w *say.Lines)) string {
		var out bytes.Buffer
		tell(&say.Lines{W: &out})
		return out.String()
	}
	object := func(of any) string {
		raw, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	outputs := map[string]string{
		"summary":   text(func(w *say.Lines) { waitingLines(w, s, false, now) }),
		"by then":   text(func(w *say.Lines) { waitingLines(w, s, false, next) }),
		"object":    object(SummaryJSON(s, "a.crawl")),
		"board":     fmt.Sprint(v.Block(80)),
		"line":      v.Line(200),
		"logfmt":    v.Logfmt(),
		"status":    text(func(w *say.Lines) { StatusLines(w, status) }),
		"of status": object(status),
	}
	var of bytes.Buffer
	e := &Events{W: &of}
	e.Progress(v)
	e.Ended(s)
	e.Last(10)
	outputs["events"] = of.String()
	for output, wants := range map[string][]string{
		"summary":   {"left         2 URLs queued, to be requested in turn\nagain        3 URLs to be fetched again, the next at 2030-01-09T03:04:05Z\n"},
		"by then":   {"again        3 URLs to be fetched again, the next is due\n"},
		"object":    {`"queued":2,"again":3,"next_again":"2030-01-09T03:04:05Z"`, `{"site":"http://a.test","queued":0,"again":3,`, `"clock":"again"`},
		"board":     {"URLs         3 of 5 known, 2 left, 3 to be fetched again ", "a.test  waits until 2030-01-09T03:04:05Z: next visit"},
		"line":      {"2 left, 3 to be fetched again; a.test: next visit 168h0m0s"},
		"logfmt":    {"queued=2 busy=0 again=3 waiting=168h0m0s for=http://a.test asked-by=again"},
		"status":    {"4 of 6 URLs known by now (66%)", "waits for    next visit: 1 site with 3 URLs to be fetched again, the first for 168h0m0s", "slowest      http://a.test: 10s between two requests, 3 URLs to be fetched again\n", "again        3 URLs to be fetched again, the next at 2030-01-09T03:04:05Z\n"},
		"of status": {`"done":1,"queued":2,"again":3,"entered":6,"next_again":"2030-01-09T`},
		"events":    {`"queued":2,"again":3,"busy":0`, `"clock":"again"`, `"queued":2,"again":3,"early_requests":0`},
	} {
		for _, want := range wants {
			if !strings.Contains(outputs[output], want) {
				t.Errorf("%s does not say\n%s:\n%s", output, want, outputs[output])
			}
		}
	}
	for n, want := range map[int]string{0: "", 1: "1 URL to be fetched again", 2: "2 URLs to be fetched again"} {
		if got := againInWords(n, time.Time{}, now); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// For each site one field says, for programs, why it is not crawled.
func TestTheObjectTellsWhyASiteIsNotAsked(t *testing.T) {
	due := time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	s := crawler.Summary{End: crawler.EndPatience, Waiting: []frontier.SiteStatus{
		{Site: "http://a.test", Queued: 1, Due: due, By: frontier.RobotsClock},
		{Site: "http://b.test", Queued: 2, Given: frontier.Fate{Code: frontier.SiteDead, Detail: "connect"}},
		{Site: "http://c.test", Queued: 3, Over: true},
	}}
	raw, err := json.Marshal(SummaryJSON(s, "a.crawl"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"waiting":[{"site":"http://a.test","queued":1,"due":"2030-01-02T02:04:05Z","clock":"robots"},` +
		`{"site":"http://b.test","queued":2,"given_up":"dead"},{"site":"http://c.test","queued":3,"budget_spent":true}]`
	if !strings.Contains(string(raw), want) {
		t.Errorf("%s\nwant %s", raw, want)
	}
}

// Host names that do not resolve are counted once each, for any number of their sites
// and requests.
func TestHostNamesThatDoNotResolveAreCountedOnce(t *testing.T) {
	var s crawler.Summary
	s.End, s.Errors = crawler.EndUnasked, map[string]int{"dns": 7}
	for _, want := range []struct{ site, detail, text string }{
		{"http://other.test", "connect", "host names do not resolve"},
		{"http://a.test", "dns", "1 host name does not resolve"},
		{"https://a.test", "dns", "1 host name does not resolve"},
		{"http://a.test:8080", "dns", "1 host name does not resolve"},
		{"http://b.test", "dns", "2 host names do not resolve"},
	} {
		s.Waiting = append(s.Waiting, frontier.SiteStatus{Site: frontier.Site(want.site), Queued: 1, Given: frontier.Fate{Code: frontier.SiteDead, Detail: want.detail}})
		if got := ending(s, SameCommand); got != "nothing could be fetched: "+want.text {
			t.Errorf("with %s: %q, want %q", want.site, got, want.text)
		}
	}
}

// Each way in which a crawl ends has its exit code, and its text in the summary.
func TestEachEndHasItsExitCode(t *testing.T) {
	fetched, before, none := crawler.Summary{}, crawler.Summary{}, crawler.Summary{}
	fetched.Fetched, before.Frontier.Spent.Pages = 1, 1
	for end, c := range map[crawler.End]struct {
		code, empty int // empty: if nothing could be fetched
		words       string
	}{
		crawler.EndDone:     {exit.Done, exit.Nothing, "done: nothing is left"},
		crawler.EndUnasked:  {exit.Done, exit.Nothing, "done; all URLs that are left are of sites that were given up, were excluded, or have spent their budget"},
		crawler.EndLimit:    {exit.Done, exit.Nothing, "done: --limit or --max-bytes is reached; a larger one continues the crawl"},
		crawler.EndPatience: {exit.Later, exit.Later, "no URL that is left is due within the patience; the same command goes on"},
		crawler.EndTime:     {exit.Later, exit.Later, "stopped: the time is up; the same command goes on"},
		crawler.EndStopped:  {exit.Later, exit.Later, "stopped; the same command goes on"},
		crawler.EndBroken:   {exit.Forced, exit.Forced, "stopped at once; the same command goes on"},
	} {
		for _, s := range []struct {
			crawler.Summary
			code int
		}{{fetched, c.code}, {before, c.code}, {none, c.empty}} {
			s.End = end
			err := exit.OfRun(s.Summary)
			words := c.words
			if s.Fetched == 0 && s.Frontier.Spent.Pages == 0 && (end == crawler.EndDone || end == crawler.EndUnasked) {
				words = "nothing could be fetched"
			}
			if exit.Code(err) != s.code || ending(s.Summary, SameCommand) != words {
				t.Errorf("%s, %d fetched: exit %d, want %d: %q", end, s.Fetched, exit.Code(err), s.code, ending(s.Summary, SameCommand))
			}
			// The summary has everything, except why nothing could be fetched.
			if err != nil && (err.Error() != "") != (s.code == exit.Nothing) {
				t.Errorf("%s: says %q", end, err)
			}
		}
	}
}

// The summary of a snapshot that is over does not say that a command continues it.
func TestTheEndOfASnapshotIsOver(t *testing.T) {
	for _, end := range []crawler.End{crawler.EndDone, crawler.EndUnasked, crawler.EndLimit, crawler.EndPatience, crawler.EndTime} {
		s := crawler.Summary{End: end}
		s.Fetched = 1
		text := ending(s, SnapshotOver)
		if strings.Contains(text, "goes on") || strings.Contains(text, "continues") || strings.Contains(text, ";") != strings.Contains(text, SnapshotOver) && end != crawler.EndUnasked {
			t.Errorf("%s: %q", end, text)
		}
	}
	s := crawler.Summary{End: crawler.EndPatience, Left: map[frontier.Code]int{frontier.Waiting: 2}, Waiting: []frontier.SiteStatus{{Site: "http://a.test", Queued: 2, Due: time.Now().Add(time.Hour)}}}
	s.Pages, s.Sites, s.Requests, s.Frontier.Entries = 1, 1, 1, 2
	for again, want := range map[string][]string{
		SameCommand:  {"1 page of 1 site, no request early; 2 URLs wait\n", "http://a.test  2 URLs  due in 1h0m0s ()\n"},
		SnapshotOver: {"1 page of 1 site, no request early; 2 URLs left\n", "http://a.test  2 URLs\n"},
	} {
		var out bytes.Buffer
		if err := Summary(&say.Lines{W: &out}, s, t.TempDir(), again); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q is not in\n%s", text, &out)
			}
		}
	}
}

// At the limit of a crawl, the summary does not say when a site is due.
func TestAtALimitNoSiteIsDue(t *testing.T) {
	now := time.Now()
	st := frontier.SiteStatus{Site: "http://a.test", Queued: 1, Due: now.Add(time.Minute)}
	for ended, want := range map[bool]string{true: "", false: "due in 1m0s ()"} {
		if got := plain(why(st, ended, now)); got != want {
			t.Errorf("%v: %q, want %q", ended, got, want)
		}
	}
	st.Over = true
	if got := plain(why(st, true, now)); got != "its budget is spent" {
		t.Errorf("%q", got)
	}
}

func plain(t looks.Text) (text string) {
	for _, s := range t {
		text += s.Text
	}
	return text
}

// Both summaries have what is odd about a crawl.
func TestSummariesTellWhatIsOdd(t *testing.T) {
	var out bytes.Buffer
	s := crawler.Summary{End: crawler.EndDone, Repeats: []crawler.Repeat{{Under: "http://a.test/cycle/", Pages: 498}},
		Traps: []crawler.Trap{{Site: "http://a.test", Pattern: "the path repeats /a", URLs: 7}}}
	s.Cut = 1
	s.Sitemaps = crawler.SitemapCounts{Named: 7, Read: 6, Failed: 1, URLs: 3, Empty: 5, FirstEmpty: []crawler.EmptySitemap{
		{URL: "http://a.test/empty.xml", Reason: "lists no URL"}, {URL: "http://a.test/page.xml", Reason: "is no sitemap"},
	}}
	if err := Summary(&say.Lines{W: &out}, s, "a.crawl", ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"trap         7 links of http://a.test: the path repeats /a\n",
		"one body     498 pages under http://a.test/cycle/: a space without an end?\n", "links        of 1 page the first 20000 were taken\n",
		"sitemaps     7 named, 6 read, 1 failed; 3 URLs listed\nsitemap      http://a.test/empty.xml lists no URL\n" +
			"sitemap      http://a.test/page.xml is no sitemap\nsitemap      answers that list nothing: 3 more\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := say.Object(&out, SummaryJSON(s, "a.crawl")); err != nil {
		t.Fatal(err)
	}
	var said struct {
		Cut int `json:"pages_with_links_cut"`
		One []struct {
			Under string
			Pages int
		} `json:"one_body"`
		Traps []struct {
			Site, Pattern string
			Links         int
		}
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said.Cut != 1 || len(said.One) != 1 || said.One[0].Pages != 498 ||
		len(said.Traps) != 1 || said.Traps[0].Links != 7 || said.Traps[0].Site != "http://a.test" || said.Traps[0].Pattern != "the path repeats /a" {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	if want := `"sitemaps":{"named":7,"read":6,"failed":1,"urls":3,"empty":5,"first_empty":[{"url":"http://a.test/empty.xml","reason":"lists no URL"},` +
		`{"url":"http://a.test/page.xml","reason":"is no sitemap"}]}`; !strings.Contains(out.String(), want) {
		t.Errorf("want %s in %s", want, out.String())
	}
}

// A summary has a row of sitemaps only if some were named or read.
func TestSummaryWithoutSitemaps(t *testing.T) {
	for row, n := range map[string]crawler.SitemapCounts{
		"": {}, "1 named, 0 read, 0 failed; 0 URLs listed": {Named: 1}, "0 named, 1 read, 0 failed; 1 URL listed": {Read: 1, URLs: 1},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			s := crawler.Summary{End: crawler.EndDone}
			s.Sitemaps = n
			err := Summary(&say.Lines{W: &out}, s, "a.crawl", "")
			if asJSON {
				out.Reset()
				err = say.Object(&out, SummaryJSON(s, "a.crawl"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(out.String(), "sitemap"); said != (row != "") || !asJSON && !strings.Contains(out.String(), row) {
				t.Errorf("%+v:\n%s", n, out.String())
			}
		}
	}
}

// The summary begins with what came of the run, in one sentence.
func TestTheVerdictOfARun(t *testing.T) {
	run := func(change func(*crawler.Summary)) crawler.Summary {
		s := crawler.Summary{End: crawler.EndDone, Sites: 7}
		s.Pages, s.Fetched, s.Requests = 50, 53, 62
		s.Frontier.Spent.Pages = 50
		change(&s)
		return s
	}
	left := func(of map[frontier.Code]int) func(*crawler.Summary) {
		return func(s *crawler.Summary) {
			s.Left = of
			s.Frontier.Entries = say.Sum(of)
		}
	}
	for want, s := range map[string]crawler.Summary{
		"50 pages of 7 sites, no request early; nothing is left": run(func(*crawler.Summary) {}),
		"1 page of 1 site, no request early; nothing is left": run(func(s *crawler.Summary) {
			s.Pages, s.Sites, s.Frontier.Spent.Pages = 1, 1, 1
		}),
		"50 pages of 7 sites in this run, 1 request early; nothing is left":         run(func(s *crawler.Summary) { s.Frontier.Polite.Early, s.Frontier.Spent.Pages = 1, 60 }),
		"0 pages of 7 sites in this run; nothing is left":                           run(func(s *crawler.Summary) { s.Pages, s.Fetched, s.Requests = 0, 0, 0 }),
		"50 pages of 7 sites, no request early; 1 URL waits":                        run(left(map[frontier.Code]int{frontier.Waiting: 1})),
		"50 pages of 7 sites, no request early; 8 URLs wait":                        run(left(map[frontier.Code]int{frontier.Waiting: 1, frontier.Queued: 2, frontier.LimitReached: 5})),
		"50 pages of 7 sites, no request early; 8 URLs left, 1 of them waiting":     run(left(map[frontier.Code]int{frontier.Waiting: 1, frontier.BudgetSpent: 7})),
		"50 pages of 7 sites, no request early; 3 URLs left":                        run(left(map[frontier.Code]int{frontier.SiteDead: 1, frontier.Excluded: 2})),
		"50 pages of 7 sites, no request early; 3 URLs to be fetched again":         run(func(s *crawler.Summary) { s.Frontier.Again = 3 }),
		"50 pages of 7 sites, no request early; 2 URLs wait, 3 to be fetched again": run(func(s *crawler.Summary) { left(map[frontier.Code]int{frontier.Queued: 2})(s); s.Frontier.Again = 3 }),
		"nothing could be fetched: 2 not connected": run(func(s *crawler.Summary) {
			s.End, s.Pages, s.Fetched, s.Frontier.Spent.Pages, s.Errors = crawler.EndUnasked, 0, 0, 0, map[string]int{"connect": 2}
		}),
	} {
		var out bytes.Buffer
		if err := Summary(&say.Lines{W: &out}, s, "a.crawl", ""); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n\nended        "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The summary ends with commands that a shell understands, and paths that are short.
func TestWhatToDoNextHasShortPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("a b.crawl/warc", 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"./x.crawl":                         "next         crawl report x.crawl  makes one page with pictures\n",
		filepath.Join(here, "x.crawl"):      "next         crawl report x.crawl  makes one page with pictures\n",
		filepath.Join(here, "a b.crawl"):    "next         crawl report 'a b.crawl'  makes one page with pictures\n             crawl audit 'a b.crawl'   checks each pause and each rule\nfiles        a b.crawl/warc            what the servers sent\n",
		"/nonexistent/x":                    "next         crawl report /nonexistent/x  makes one page with pictures\n",
		"-x":                                "next         crawl report ./-x  makes one page with pictures\n",
		"e\x1b[2Jvil\n":                     "next         crawl report 'e[2Jvil '  makes one page with pictures\n",
		filepath.Join("..", "other", "b.x"): "next         crawl report ../other/b.x  makes one page with pictures\n",
	} {
		var out bytes.Buffer
		if err := Summary(&say.Lines{W: &out}, crawler.Summary{End: crawler.EndDone}, dir, ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q:\n%swant\n%s", dir, out.String(), want)
		}
	}
}
