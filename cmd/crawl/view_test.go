package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
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
	b := &terminal.Board{W: &out, Width: func() int { return width }}
	fmt.Fprintln(b, "begin")
	b.Draw([]string{"one", "two", strings.Repeat("x", 20)})
	b.Draw([]string{"three"})
	fmt.Fprintln(b, "a message")
	fmt.Fprintln(b, "another")
	b.Draw([]string{"four", "five"})
	if diff := cmp.Diff([]string{"begin", "a message", "another", "four", "five", ""}, screenAfter(t, out.String(), width)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.Draw(nil)
	b.Draw(nil)
	if diff := cmp.Diff([]string{"begin", "a message", "another", ""}, screenAfter(t, out.String(), width)); diff != "" {
		t.Errorf("taken away (-want +got)\n%s", diff)
	}
	// The window becomes narrower: the old lines take more rows.
	out.Reset()
	b.Draw([]string{strings.Repeat("x", 20), "y"})
	width = 8
	b.Draw([]string{"z"})
	if !strings.Contains(out.String(), "\x1b[4F\x1b[J") {
		t.Errorf("narrower: %q", out.String())
	}
	// And wider: the new line takes one row.
	out.Reset()
	width = 40
	b.Draw([]string{"w"})
	if !strings.HasPrefix(out.String(), "\x1b[1F\x1b[J") {
		t.Errorf("wider: %q", out.String())
	}
}
