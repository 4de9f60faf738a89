package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/robots"
)

// If the User-Agents differ only in the version of the program, the identity is the same.
func TestAnotherVersionIsNoOtherIdentity(t *testing.T) {
	e := &evidence{agents: []string{testIdentity.UserAgent() + ".7", testIdentity.UserAgent()}}
	if r := e.audit(t); !r.Clean() {
		t.Errorf("%+v", r.Violations)
	}
	e.agents = append(e.agents, strings.ReplaceAll(testIdentity.UserAgent(), "benchbot", "otherbot"))
	if r := e.audit(t); r.Violated != 1 || r.Violations[0].Code != audit.Identity {
		t.Errorf("%+v", r.Violations)
	}
}

// The margin of a clock is the margin of the request that was closest to being early.
func TestMarginsAreThoseOfTheClosest(t *testing.T) {
	w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}}
	w.run(0, "begin:clean")
	w.copy(1, 200, "User-agent: *\nCrawl-delay: 2\n")
	w.ask(3.5, "/1", 200, "asked:2", "clock:crawl-delay")
	w.ask(5.7, "/2", 200)
	w.ask(9, "/3", 200)
	got := ""
	for _, m := range w.audit(t).Margins {
		got += fmt.Sprintf("%s %d %.3f %d; ", m.Clock, m.Requests, m.Least, m.Line)
	}
	if want := "crawl-delay 3 0.100 4; own 3 1.100 4; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A request for a tdmrep.json or a license document is not counted as a request for robots.txt.
func TestRequestsAboutUseAreCountedApart(t *testing.T) {
	w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}}
	w.run(0, "begin:clean")
	w.copy(1, 200, "User-agent: *\nDisallow: /no\n")
	w.hop(3, "http://a.example/.well-known/tdmrep.json", "10.0.0.1")
	w.set(2, "for", "use")
	w.ask(5, "/", 200)
	if r := w.audit(t); !r.Clean() || r.Requests != 3 || r.RobotsRequests != 1 || r.UseRequests != 1 {
		t.Errorf("%+v", r)
	}
}
