package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/spf13/cobra"
)

// views returns views of a crawl that has just begun, one in progress, one that waits, and
// one with hostile names.
func views() map[string]*view {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	all := map[string]*view{"begun": {now: now}}
	v := &view{now: now, since: 252 * time.Second, rates: []float64{0, 1, 5, 12, 14, 13.5, 7}}
	v.stats.Pages, v.stats.Requests, v.stats.Bytes = 2861, 2990, 697_900_000
	v.stats.Status = map[int]int{200: 2861, 301: 40, 404: 7}
	v.stats.Errors = map[string]int{"stale": 1}
	v.stats.SkippedURLs = map[crawler.Reason]int{crawler.SkipRobots: 1}
	v.stats.SkippedLinks = map[crawler.Reason]int{crawler.SkipScope: 19176, crawler.SkipNoFollow: 12}
	v.stats.Frontier = frontier.Stats{Entries: 58, Sites: 12, Out: 3}
	all["busy"] = v
	waiting := *v
	waiting.stats.Frontier = frontier.Stats{Entries: 58, Sites: 12, NextDue: now.Add(36 * time.Second), NextSite: "https://docs.example", NextBy: frontier.BackOffClock}
	all["waiting"] = &waiting
	slow := *v
	slow.old, slow.asked = "https://silent.example", 7*time.Second
	all["slow"] = &slow
	hostile := *v
	hostile.slow = &frontier.SiteStatus{Site: "http://\x1b[2Ja\u202eb\r\n\u009b31m.example", Due: now.Add(1500 * time.Millisecond), By: frontier.OwnClock}
	all["hostile"] = &hostile
	return all
}

func TestBlock(t *testing.T) {
	var got strings.Builder
	all := views()
	for _, width := range []int{200, 80, 40, 20} {
		for _, name := range []string{"begun", "busy", "waiting", "slow", "hostile"} {
			fmt.Fprintf(&got, "%s, %d columns\n", name, width)
			for _, line := range all[name].block(width) {
				fmt.Fprintf(&got, "|%-*s|\n", width, line)
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: %d of %d columns: %s", name, n, width, line)
				}
			}
			fmt.Fprintf(&got, "as a line\n|%-*s|\n\n", width, all[name].line(width))
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

// A view is text that fits, for any width of the terminal and any name of a site.
func TestViewsAreTextThatFits(t *testing.T) {
	for name, v := range views() {
		for width := range 100 {
			for _, line := range append(v.block(width), v.line(width)) {
				if n := utf8.RuneCountInString(line); n > width || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && (r < '▁' || r > '█') }) {
					t.Fatalf("%s, %d columns: %q", name, width, line)
				}
			}
		}
		if line := v.logfmt(); strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// screenAfter returns the lines of a terminal after text, as far as a board needs one:
// text, line ends, CPL and ED.
func screenAfter(t *testing.T, text string, width int) []string {
	t.Helper()
	rows := []string{""}
	for text != "" {
		var up int
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			rows, text = rows[:len(rows)-1], text[3:]
			rows = append(rows, "")
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dF", &up); err != nil || up >= len(rows) {
				t.Fatalf("%d rows, and %q", len(rows), text)
			}
			rows = rows[:len(rows)-up]
			_, text, _ = strings.Cut(text, "F")
		case text[0] == '\n':
			rows, text = append(rows, ""), text[1:]
		default:
			if utf8.RuneCountInString(rows[len(rows)-1]) == width {
				rows = append(rows, "")
			}
			_, n := utf8.DecodeRuneInString(text)
			rows[len(rows)-1] += text[:n]
			text = text[n:]
		}
	}
	return rows
}

func TestABoardStaysInItsPlace(t *testing.T) {
	var out bytes.Buffer
	width := 20
	b := &board{w: &out, width: func() int { return width }}
	fmt.Fprintln(b, "begin")
	b.draw([]string{"one", "two", strings.Repeat("x", 20)})
	b.draw([]string{"three"})
	fmt.Fprintln(b, "a message")
	fmt.Fprintln(b, "another")
	b.draw([]string{"four", "five"})
	if diff := cmp.Diff([]string{"begin", "a message", "another", "four", "five", ""}, screenAfter(t, out.String(), width)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.draw(nil)
	b.draw(nil)
	if diff := cmp.Diff([]string{"begin", "a message", "another", ""}, screenAfter(t, out.String(), width)); diff != "" {
		t.Errorf("taken away (-want +got)\n%s", diff)
	}
	// The window becomes narrower: the old lines take more rows.
	out.Reset()
	b.draw([]string{strings.Repeat("x", 20), "y"})
	width = 8
	b.draw([]string{"z"})
	if !strings.Contains(out.String(), "\x1b[4F\x1b[J") {
		t.Errorf("narrower: %q", out.String())
	}
	// And wider: the new line takes one row.
	out.Reset()
	width = 40
	b.draw([]string{"w"})
	if !strings.HasPrefix(out.String(), "\x1b[1F\x1b[J") {
		t.Errorf("wider: %q", out.String())
	}
}

func TestWrap(t *testing.T) {
	const line = "label        one two three-and-four five"
	for width, want := range map[int]string{
		0: line, 80: line, len(line): line, 10: line,
		24: "label        one two\n             three-and-four\n             five",
		20: "label        one two\n             three-and-four\n             five", // a line may be full: no blank follows it
		5:  line,
	} {
		if got := wrap(line, 13, width); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// Each reason and each stage has words, also in the singular.
func TestEveryReasonHasWords(t *testing.T) {
	for _, r := range []crawler.Reason{crawler.SkipOptOut, crawler.SkipUse, crawler.SkipExcluded, crawler.SkipRobots, crawler.SkipFailed, crawler.SkipNarrowed, crawler.SkipSiteDead, crawler.SkipRobotsUnreachable, crawler.SkipBudget, crawler.SkipLimit, crawler.SkipWaits, crawler.SkipQueued} {
		if urlWords[r] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	for _, r := range []crawler.Reason{crawler.SkipScope, crawler.SkipDepth, crawler.SkipFilter, crawler.SkipNoFollow, crawler.SkipOptOut, crawler.SkipRedirects, crawler.SkipHook, crawler.SkipTrap} {
		if linkWords[r] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	for _, s := range allStages(t) {
		if stageInWords(s) == s {
			t.Errorf("%s has no words", s)
		}
	}
	counts := inOrder(map[crawler.Reason]int{crawler.SkipScope: 1, crawler.SkipNoFollow: 7, "new": 7})
	var got []string
	for _, c := range counts {
		got = append(got, c.words(linksInWords))
	}
	if want := []string{"7 links new", "7 links marked nofollow", "1 link out of scope"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// allStages returns the stages that the source of package fetch declares.
func allStages(t *testing.T) (all []string) {
	source, err := os.ReadFile("../../fetch/failure.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\tStage\w+ +Stage = "([^"]+)"`).FindAllSubmatch(source, -1) {
		all = append(all, string(m[1]))
	}
	if len(all) < 20 || !slices.Contains(all, string(fetch.StageCalm)) {
		t.Fatalf("stages %q", all)
	}
	return all
}

func TestDidYouMean(t *testing.T) {
	known := []string{"--delay", "--depth", "--domain-delay", "--max-host-pages", "--dir"}
	for name, want := range map[string]string{
		"--delya": "--delay", "--Delay": "--delay", "--dely": "--delay", "--max-host-page": "--max-host-pages", "--max": "--max-host-pages",
		"--user-agent": "", "--x": "", "--dirs": "--dir",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got := didYouMean(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := flagError(&cobra.Command{Use: "crawl"}, errors.New("odd")).Error(); got != "odd: crawl --help lists the flags" {
		t.Error(got)
	}
}

// Words for counts are right for one, too.
func TestWordsFitOne(t *testing.T) {
	plural := regexp.MustCompile(`\b(are|were|have)\b|^1 \w+s\b|^1 kept `)
	see := func(of string, in func(string) string) {
		if words := (count{of, 1}).words(in); plural.MatchString(words) {
			t.Errorf("%s: %q", of, words)
		}
	}
	for stage := range stageWords {
		see(string(stage), stageInWords)
	}
	for reason := range urlWords {
		see(string(reason), urlsInWords)
	}
	for reason := range linkWords {
		see(string(reason), linksInWords)
	}
}
