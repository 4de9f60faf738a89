package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/robots"
)

// The text of a violation has the line, the numbers, and the rule in the words of robots.txt or
// of the crawl.
func TestWhatIsSaidOfViolations(t *testing.T) {
	w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{"otherbot"}}}
	w.run(0, "begin:clean")
	w.copy(36000, 200, "User-agent: *\nDisallow: /no*$\nCrawl-delay: 4 # please\nRequest-rate: 1/9\nVisit-time: 0405-0930\nVisit-time: 2200-0100\n")
	w.ask(36002, "/not", 429, "asked:2", "clock:retry-after")
	w.ask(36004, "/a", 200, "asked:9", "clock:request-rate")
	w.set(w.ask(36004.05, "/b", 200), "robots", "")
	w.run(36005, "begin:clean")
	w.ask(36006, "/c", 200, "asked:30.5", "clock:retry-after", "since:2026-05-04T10:00:02.000000Z")
	r := w.audit(t)
	var got []string
	for i := range r.Violations {
		got = append(got, r.Violations[i].String())
	}
	rate := "(robots.txt line 4: Request-rate: 1/9)"
	hours := "(robots.txt: Visit-time: 04:05-09:30 22:00-01:00)"
	want := []string{
		"3: disallowed: http://a.example/not is forbidden by the robots.txt of 2026-05-04T10:00:00.100000Z (line 2: Disallow: /no*$)",
		"3: gap: http://a.example/not began 1.9s after the end of line 2, http://a.example/robots.txt; required are 9s " + rate,
		"3: retry-after: http://a.example/not began 1.9s after the end of line 2, http://a.example/robots.txt; required are 2s (retry-after, as the line says: 2s)",
		"4: visit-time: http://a.example/a began at 10:00:04 UTC " + hours,
		"4: back-off: http://a.example/a began 1.9s after the end of line 3, http://a.example/not; required are 5s (a rest of 5s at least after 429)",
		"4: gap: http://a.example/a began 1.9s after the end of line 3, http://a.example/not; required are 9s " + rate,
		"5: no-robots: http://a.example/b no robots.txt was in force, by its line (RFC 9309, section 2.3.1)",
		"5: concurrent: http://a.example/b began 50ms before the end of line 4, http://a.example/a (one request at a time)",
		"7: visit-time: http://a.example/c began at 10:00:06 UTC " + hours,
		"7: gap: http://a.example/c began 1.85s after the end of line 5, http://a.example/b; required are 9s " + rate,
		"7: retry-after: http://a.example/c began 4s after what its pause is counted from; required are 30.5s (retry-after, as the line says: 30.5s)",
		`identity: requests were sent as "otherbot" (the crawl is that of "benchbot (+https://example.org/benchbot) permesso/` + crawler.Version + `")`,
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%d:\n%s", i, strings.Join(got, "\n"))
			break
		}
	}
	if p := r.Violations[1].Pause; p == nil || *p != (audit.Pause{Clock: "request-rate", Asked: 9, Kept: 1.9}) || !slices.Equal(r.Violations[1].Lines, []int64{3, 2}) {
		t.Errorf("%+v", r.Violations[1])
	}
	if r.Bytes != 5 || r.Requests != 5 || r.RobotsRequests != 1 || r.Sites != 1 || r.Copies != 1 || r.Runs != 2 {
		t.Errorf("%+v", r)
	}
}

// The text about a missed pause has two different lengths of time, even if they are nearly
// equal.
func TestWhatIsSaidOfAPauseHasTwoLengths(t *testing.T) {
	for _, short := range []time.Duration{4 * time.Microsecond, 100 * time.Microsecond, time.Millisecond, time.Second} {
		w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}}
		w.run(0, "begin:clean")
		w.copy(1, 200, "User-agent: *\nCrawl-delay: 2.25\n")
		w.move(w.ask(3.5, "/1", 200), w.end(1).Add(2250*time.Millisecond-short))
		r := w.audit(t)
		if r.Violated != 1 {
			t.Fatalf("%v too early: %+v", short, r.Violations)
		}
		kept, asked, _ := strings.Cut(r.Violations[0].Text, " after ")
		_, asked, _ = strings.Cut(asked, "required are ")
		if kept = strings.TrimPrefix(kept, "began "); kept == asked || asked != "2.25s" {
			t.Errorf("%v too early: %s", short, r.Violations[0].Text)
		}
	}
}
