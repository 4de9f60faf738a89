package progress

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// views returns views of a crawl that has just begun, one in progress, one that waits, and
// one with hostile names.
func views() map[string]*View {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	all := map[string]*View{"begun": {Now: now}}
	v := &View{Now: now, Since: 252 * time.Second, rates: []float64{0, 1, 5, 12, 14, 13.5, 7}}
	v.Stats.Pages, v.Stats.Requests, v.Stats.Bytes = 2861, 2990, 697_900_000
	v.Stats.Status = map[int]int{200: 2861, 301: 40, 404: 7}
	v.Stats.Errors = map[string]int{"stale": 1}
	v.Stats.SkippedURLs = map[frontier.Code]int{frontier.RobotsDisallowed: 1}
	v.Stats.SkippedLinks = map[frontier.Code]int{frontier.OutOfScope: 19176, frontier.NoFollow: 12}
	v.Stats.Frontier = frontier.Stats{Done: 2910, Entries: 58, Sites: 12, Out: 3}
	all["busy"] = v
	waiting := *v
	waiting.Stats.Frontier = frontier.Stats{Entries: 58, Sites: 12, NextDue: now.Add(36 * time.Second), NextSite: "https://docs.example", NextBy: frontier.BackOffClock}
	all["waiting"] = &waiting
	slow := *v
	slow.old, slow.asked = "https://silent.example", 7*time.Second
	all["slow"] = &slow
	away := *v
	away.Stats.Outage = now.Add(-72 * time.Second)
	all["away"] = &away
	hostile := *v
	hostile.slow = &frontier.SiteStatus{Site: "http://\x1b[2Ja\u202eb\r\n\u009b31m.example", Due: now.Add(1500 * time.Millisecond), By: frontier.OwnClock}
	all["hostile"] = &hostile
	listed := *v
	listed.state, listed.read = crawler.StatePaused, now.Add(-time.Second)
	listed.old, listed.asked = "https://silent.example", 7*time.Second
	listed.sites = crawler.StatusSites{
		Waiting: 3, GivenUp: 4, Spent: 1,
		AskingSites: []crawler.StatusSite{{Site: "http://answered.example", Seconds: 20}, {Site: "https://silent.example", Seconds: 6}, {Site: "http://quick.example", Seconds: 0.3}},
		WaitingSites: []crawler.StatusSite{
			{Site: "http://" + frontier.Site(strings.Repeat("long.", 49)) + "example", Due: now.Add(300 * time.Hour), By: frontier.AgainClock},
			{Site: "http://slow.example", Due: now.Add(-time.Millisecond), By: frontier.CrawlDelayClock, Pause: 60},
			{Site: "http://xn--fiqs8s.example", Due: now.Add(50 * time.Second), By: frontier.RobotsClock},
			{Site: "http://fourth.example", Due: now.Add(40 * time.Second), By: frontier.RobotsClock},
		},
		GivenUpSites: []crawler.StatusSite{
			{Site: "http://dead.example", Queued: 5, Given: frontier.SiteDead, Detail: "connect: \x1b]0;x\a\x1b[2Jrefused 漢字\nnext"},
			{Site: "http://shut.example", Queued: 3, Given: frontier.RobotsUnreachable},
		},
	}
	all["listed"] = &listed
	return all
}

func TestBlock(t *testing.T) {
	var got strings.Builder
	all := views()
	for _, width := range []int{200, 80, 40, 20} {
		for _, name := range []string{"begun", "busy", "waiting", "slow", "hostile", "listed"} {
			fmt.Fprintf(&got, "%s, %d columns\n", name, width)
			for _, line := range all[name].Block(width) {
				fmt.Fprintf(&got, "|%s|\n", line.Padded(width, false))
				if n := line.Width(); n > width {
					t.Errorf("%s: %d of %d columns: %s", name, n, width, line)
				}
			}
			fmt.Fprintf(&got, "as a line\n|%-*s|\n\n", width, all[name].Line(width))
		}
	}
	const golden = "testdata/block.txt"
	if os.Getenv("PERMESSO_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("PERMESSO_UPDATE=1 writes %s (-want +got)\n%s", golden, diff)
	}
}

// style matches the control sequences of styles.
var style = regexp.MustCompile("\x1b\\[[0-9;]*m")

// A view is text that fits, for any width of the terminal and any name of a site.
func TestViewsAreTextThatFits(t *testing.T) {
	for name, v := range views() {
		for width := range 130 {
			for _, text := range append(v.Block(width), looks.Line(v.Line(width))) {
				line := text.Painted(true)
				if n := text.Width(); n > width || looks.Width(line) != n || strings.ContainsFunc(style.ReplaceAllString(line, ""), looks.Steers) || strings.Contains(line, "\n") {
					t.Fatalf("%s, %d columns: %q", name, width, line)
				}
			}
			if line := v.Line(width); utf8.RuneCountInString(line) > width || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && (r < '▁' || r > '█') }) {
				t.Fatalf("%s, %d columns: %q", name, width, line)
			}
		}
		if line := v.Logfmt(); strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// All views of a node say for how long its database has not answered.
func TestAnOutageIsShown(t *testing.T) {
	v, s := views()["away"], crawler.Status{State: crawler.StateRunning}
	s.Time, s.Outage = v.Now, v.Stats.Outage
	var status, block strings.Builder
	StatusLines(&say.Lines{W: &status}, s)
	for _, line := range v.Block(100) {
		block.WriteString(line.String() + "\n")
	}
	if ended := (crawler.Status{State: crawler.StateEnded, Time: s.Time, Outage: s.Outage}); Outage(ended) != "" {
		t.Errorf("of an ended run: %s", Outage(ended))
	}
	for text, want := range map[string]string{
		v.Line(200): "; the database has not answered for 1m12s", v.Logfmt(): " outage=1m12s",
		block.String(): "database     has not answered for 1m12s\n", status.String(): "database     has not answered for 1m12s; this node tries again\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not have %q", text, want)
		}
	}
}

// A view names the site that is waited for, and the clock.
func TestWaitingNamesTheWish(t *testing.T) {
	for by, want := range map[string]string{"own": "a.test:81: own pause 3.0s", "robots": "a.test:81: robots.txt 3.0s", "back-off": "a.test:81: back-off 3.0s"} {
		if got := waiting("http://a.test:81", 3*time.Second, frontier.Clock(by)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := say.Fit("abc", -1); got != "" {
		t.Errorf("a terminal without columns shows %q", got)
	}
}
