package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// What is left is listed by site, ten of them, each with what it waits for.
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
		"a clock": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) {})}, "http://a.test: 2 URLs, due in 1m30s (back-off)\n"},
		"due":     {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) { st.Due = now; st.Queued = 1 })}, "http://a.test: 1 URL, due\n"},
		"a budget": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) { st.Over = true })},
			"http://a.test: 2 URLs, its budget is spent (--max-host-pages, --max-host-bytes, --max-host-time)\n"},
		"given up":        {[]frontier.SiteStatus{site("a.test", dead("connect: refused"))}, "http://a.test: 2 URLs, site dead (connect: refused): given up in this run\n"},
		"no detail":       {[]frontier.SiteStatus{site("a.test", dead(""))}, "http://a.test: 2 URLs, site dead: given up in this run\n"},
		"one private":     {[]frontier.SiteStatus{site("a.test", private)}, "http://a.test: 2 URLs, site dead (10.0.0.1, which is not a public address): given up in this run; --allow-private permits it\n"},
		"two, and one":    {[]frontier.SiteStatus{site("a.test", private), site("b.test", dead("")), site("c.test", private)}, "http://a.test and 1 more site without a public address: 4 URLs, given up in this run; --allow-private permits it\nhttp://b.test: 2 URLs, site dead: given up in this run\n"},
		"fetched again":   {[]frontier.SiteStatus{again("a.test", 0)}, ""},
		"and queued, too": {[]frontier.SiteStatus{again("a.test", 1)}, "http://a.test: 1 URL and 3 to be fetched again, due in 1m30s (again)\n"},
		"one private, one fetched again": {[]frontier.SiteStatus{again("a.test", 0), site("b.test", private)},
			"http://b.test: 2 URLs, site dead (10.0.0.1, which is not a public address): given up in this run; --allow-private permits it\n"},
		"fetched again no more": {[]frontier.SiteStatus{site("a.test", func(st *frontier.SiteStatus) { st.Queued, st.Again, st.Excluded = 0, 1, "asked to" })},
			"http://a.test: 1 URL to be fetched again, excluded (asked to); --lift a.test asks again\n"},
	} {
		var out bytes.Buffer
		p := &program{out: &out}
		p.waiting(&say.Lines{W: &out}, crawler.Summary{Waiting: c.waiting}, now)
		if got := strings.ReplaceAll(out.String(), strings.Repeat(" ", 13), ""); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
	for n, want := range map[int]string{10: "http://9.test: 2 URLs", 11: "and 1 more site", 12: "and 2 more sites"} {
		var s crawler.Summary
		for i := range n {
			s.Waiting = append(s.Waiting, site(fmt.Sprint(i, ".test"), func(*frontier.SiteStatus) {}))
		}
		var out bytes.Buffer
		(&program{out: &out}).waiting(&say.Lines{W: &out}, s, now)
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
	s.Left, s.NextAgain = map[crawler.Reason]int{crawler.SkipQueued: 2}, next
	s.Waiting = []frontier.SiteStatus{{Site: "http://a.test", Again: 3, Due: next, By: frontier.AgainClock}}
	v := &view{stats: s.Stats, since: time.Minute, now: now}
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
	told := map[string]string{
		"summary":   text(func(w *say.Lines) { (&program{}).waiting(w, s, now) }),
		"by then":   text(func(w *say.Lines) { (&program{}).waiting(w, s, next) }),
		"object":    object(summaryJSON(s, "a.crawl")),
		"board":     strings.Join(v.block(80), "\n"),
		"line":      v.line(200),
		"logfmt":    v.logfmt(),
		"status":    text(func(w *say.Lines) { statusLines(w, status) }),
		"of status": object(status),
	}
	var of bytes.Buffer
	e := &events{w: &of}
	e.progress(v)
	e.ended(s)
	e.last(10)
	told["events"] = of.String()
	for output, wants := range map[string][]string{
		"summary":   {"left         2 URLs queued\nagain        3 URLs are to be fetched again, the next at 2030-01-09T03:04:05Z\n"},
		"by then":   {"again        3 URLs are to be fetched again, the next is due\n"},
		"object":    {`"queued":2,"again":3,"next_again":"2030-01-09T03:04:05Z"`, `{"site":"http://a.test","queued":0,"again":3,`, `"by":"again"`},
		"board":     {"1m0s  5 pages, 2 left, 3 to be fetched again\n", "a.test: next visit 168h0m0s"},
		"line":      {"2 left, 3 to be fetched again; a.test: next visit 168h0m0s"},
		"logfmt":    {"queued=2 busy=0 again=3 waiting=168h0m0s for=http://a.test asked-by=again"},
		"status":    {"4 of 6 URLs known by now (66%)", "waits for    next visit: 1 site with 3 URLs to be fetched again, the first for 168h0m0s", "slowest      http://a.test: 10s between two requests, 3 URLs to be fetched again\n", "again        3 URLs are to be fetched again, the next at 2030-01-09T03:04:05Z\n"},
		"of status": {`"done":1,"queued":2,"again":3,"known":6,"next_again":"2030-01-09T`},
		"events":    {`"queued":2,"again":3,"busy":0`, `"clock":"again"`, `"queued":2,"again":3,"early_requests":0`},
	} {
		for _, want := range wants {
			if !strings.Contains(told[output], want) {
				t.Errorf("%s does not say\n%s:\n%s", output, want, told[output])
			}
		}
	}
	for n, want := range map[int]string{0: "", 1: "1 URL is to be fetched again", 2: "2 URLs are to be fetched again"} {
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
	raw, err := json.Marshal(summaryJSON(s, "a.crawl"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"waiting":[{"site":"http://a.test","queued":1,"due":"2030-01-02T02:04:05Z","by":"robots"},` +
		`{"site":"http://b.test","queued":2,"given_up":"site dead"},{"site":"http://c.test","queued":3,"budget_spent":true}]`
	if !strings.Contains(string(raw), want) {
		t.Errorf("%s\nwant %s", raw, want)
	}
}

// A full is a writer that fails after some lines.
type full struct{ lines int }

var errFull = errors.New("no room")

func (f *full) Write(p []byte) (int, error) {
	if f.lines--; f.lines < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// An error of an output, such as a closed pipe or a full disk, is reported wherever it
// occurs.
func TestAnOutputThatFailsIsSaid(t *testing.T) {
	hostile(t)
	for _, args := range [][]string{
		{"version"}, {"robots", "test", "--agent", "testbot", "--file", "robots.txt", "/x", "/y"}, {"robots", "test", "--json", "--agent", "testbot", "--file", "robots.txt", "/x", "/y"},
		{"robots", "test", "--cases", "cases.jsonl"}, {"robots", "test", "--json", "--cases", "cases.jsonl"}, {"robots", "test", "--cases", "lacking.jsonl"},
		{"robots", "lint", "robots.txt"}, {"robots", "lint", "--json", "robots.txt"}, {"robots", "lint", "good.txt"}, {"index", "a.crawl"}, {"export", "a.crawl", "--format", "jsonl"},
		{"export", "a.crawl", "--format", "csv"}, {"export", "a.crawl", "--format", "cdxj"},
	} {
		if args[len(args)-1] == "good.txt" {
			if err := os.WriteFile("good.txt", []byte("User-agent: *\nDisallow: /x\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		said := "no end"
		for after := 0; ; after++ {
			var b bytes.Buffer
			out := &full{after}
			code := run(args, nil, out, &b)
			if out.lines >= 0 { // nothing failed
				break
			}
			if said = b.String(); code != exit.Fatal || !strings.Contains(said, "crawl: ") || !strings.Contains(said, errFull.Error()) {
				t.Errorf("crawl %q after %d lines: exit %d\n%s", args, after, code, said)
			}
		}
		if said == "no end" {
			t.Errorf("crawl %q writes nothing", args)
		}
	}
}

// Host names that do not resolve are counted once each, whatever the number of their sites
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
		if got := ending(s); got != "nothing could be fetched: "+want.text {
			t.Errorf("with %s: %q, want %q", want.site, got, want.text)
		}
	}
}
