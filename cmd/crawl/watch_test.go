package main

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// watched returns what a crawl of ten pages, seven seconds apart, shows on a screen.
func watched(t *testing.T, show func(p *program, said *bytes.Buffer) screen) (out, said string) {
	t.Helper()
	// The goroutine that waits for signals must not belong to the bubble.
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt)
	defer signal.Stop(first)
	dir := filepath.Join(t.TempDir(), "a.crawl")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		site := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n").Latency(50 * time.Millisecond)
		links := `<a href="/no">x</a>`
		for i := range 9 {
			links += fmt.Sprintf(`<a href="/%d">x</a>`, i)
			site.Page(fmt.Sprintf("/%d", i), "x")
		}
		site.Page("/", links)
		var o, s bytes.Buffer
		p := &program{out: &o, err: &s, network: w}
		err := p.crawl(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: []string{"http://a.example/"},
			Dir: dir, Pace: crawler.Pace{Delay: 7 * time.Second}, Wire: crawler.Wire{Network: w},
		}, show(p, &s))
		if err != nil {
			t.Error(err)
		}
		out, said = o.String(), s.String()
	})
	return out, said
}

// Without a terminal there is a line for programs each half minute, and each of its words
// is a name and a figure.
func TestLinesForPrograms(t *testing.T) {
	_, said := watched(t, func(p *program, _ *bytes.Buffer) screen { return p.screen("plain", false) })
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "crawl: 1 seed as testbot into ") {
		t.Fatalf("%q", lines)
	}
	want := []string{
		`t=30s pages=4 rate=0.1/s bytes=\d+ requests=5 queued=6 busy=0 skipped-urls=1 waiting=[56]\.\ds for=http://a.example asked-by=own`,
		`t=1m0s pages=8 rate=0.1/s bytes=\d+ requests=9 queued=2 busy=0 skipped-urls=1 waiting=3\.\ds for=http://a.example asked-by=own`,
	}
	for i, line := range lines[1:] {
		if !regexp.MustCompile("^" + want[i] + "$").MatchString(line) {
			t.Errorf("%s\nwant %s", line, want[i])
		}
	}
}

// On a terminal that cannot be drawn on there is a line every two seconds, not wider than
// the terminal, with the site that is waited for.
func TestLinesForPeople(t *testing.T) {
	for _, width := range []int{80, 40} {
		_, said := watched(t, func(*program, *bytes.Buffer) screen {
			return screen{every: 2 * time.Second, width: func() int { return width }}
		})
		lines := strings.Split(strings.TrimSpace(said), "\n")
		lines = lines[slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "2.0s  ") }):]
		if len(lines) < 30 || len(lines) > 40 {
			t.Errorf("%d columns: %d lines", width, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("wider than %d columns: %s", width, line)
			}
		}
		want := regexp.MustCompile(`^16s  [23] pages, [78] left; a\.example: own pause [0-9.]+s$`)
		if width == 40 {
			want = regexp.MustCompile(`^16s  [23] pages, [78] left; a\.example: own \.\.\.$`)
		}
		if !slices.ContainsFunc(lines, want.MatchString) {
			t.Errorf("%d columns: no line is %s\n%s", width, want, said)
		}
	}
}

// A block stays in its place while the crawl runs, and is erased when it has ended.
func TestABlockIsDrawnAndTakenAway(t *testing.T) {
	for _, width := range []int{80, 40} {
		out, said := watched(t, func(p *program, said *bytes.Buffer) screen {
			b := &terminal.Board{W: said, Width: func() int { return width }}
			p.err = b
			return screen{every: 250 * time.Millisecond, board: b, json: true}
		})
		all := regexp.MustCompile("\x1b\\[[0-9]+F").FindAllStringIndex(said, -1)
		if len(all) < 200 || !strings.Contains(said[:all[0][0]], "\nURLs ") {
			t.Fatalf("%d columns: %d blocks, the first is %q", width, len(all), said[:all[0][0]])
		}
		last := all[len(all)-1][0]
		rows := screenAfter(t, said[:last], width)
		begin := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "running ") })
		if begin < 0 || len(rows)-begin != 8 {
			t.Fatalf("%d columns: the last block is %q", width, rows)
		}
		rows = rows[begin : len(rows)-1]
		for i, label := range []string{"running ", "pages ", "URLs ", "requests ", "kept out ", "sites ", "  "} {
			if !strings.HasPrefix(rows[i], label) || utf8.RuneCountInString(rows[i]) > width {
				t.Errorf("%d columns: the last block has %q, want %s", width, rows[i], label)
			}
		}
		if !strings.Contains(rows[0], " 1m") || !strings.HasSuffix(rows[0], "░  90%") || !strings.Contains(rows[1], " 9, 0.1/s ") || !strings.Contains(rows[1], "▁") ||
			!strings.HasSuffix(rows[2], " 10 of 11 known, 1 left") || !strings.Contains(rows[6], "a.example  waits ") {
			t.Errorf("%d columns: the last block is %q", width, rows)
		}
		after := screenAfter(t, said, width)
		if strings.Contains(strings.Join(after, "\n"), "left") || !strings.Contains(strings.Join(after, " "), "goes on") || after[len(after)-1] != "" {
			t.Errorf("%d columns: afterwards the terminal shows %q", width, after)
		}
		if !strings.HasPrefix(out, `{"end":"done",`) || strings.Count(out, "\n") != 1 {
			t.Errorf("the summary is %s", out)
		}
	}
}

// With --progress none nothing is shown.
func TestNothingIsShown(t *testing.T) {
	out, said := watched(t, func(p *program, _ *bytes.Buffer) screen { return p.screen("none", true) })
	if said != "" || strings.Count(out, "\n") != 1 {
		t.Errorf("said %q, summary %q", said, out)
	}
}

// screenAfter returns the lines of a terminal after text, as far as the program needs one.
func screenAfter(t *testing.T, text string, width int) []string {
	t.Helper()
	s := screenOf{t: t, width: width, wraps: true, rows: [][]string{nil}}
	s.write(text)
	var rows []string
	for _, row := range s.rows {
		rows = append(rows, strings.TrimRight(strings.Join(row, ""), " "))
	}
	return rows
}

// A screenOf is a terminal of unlimited height: text, line ends, and the sequences CPL, ED, EL,
// SGR and the modes DECAWM and 2026. As on a real one, the cursor stays on the last column
// after a full line, until the next character.
type screenOf struct {
	t     *testing.T
	width int
	wraps bool       // DECAWM
	rows  [][]string // a grapheme for each column; "" after a wide one
	y, x  int
}

var sequence = regexp.MustCompile("^\x1b\\[(\\??[0-9;]*)([A-Za-z])")

func (s *screenOf) write(text string) {
	for text != "" {
		m := sequence.FindStringSubmatch(text)
		if m == nil {
			if text[0] == '\x1b' {
				s.t.Fatalf("unknown sequence %q", text[:min(len(text), 20)])
			}
			r, n := utf8.DecodeRuneInString(text)
			s.put(r)
			text = text[n:]
			continue
		}
		text = text[len(m[0]):]
		switch row := s.rows[s.y]; m[2] + m[1] {
		case "J":
			s.rows = s.rows[:s.y+1]
			fallthrough
		case "K":
			s.rows[s.y] = row[:min(len(row), min(s.x, s.width-1))]
		case "h?7", "l?7":
			s.wraps = m[2] == "h"
		case "h?2026", "l?2026":
		default:
			n, err := strconv.Atoi(m[1])
			switch {
			case m[2] == "m":
			case m[2] != "F" || err != nil || n > s.y:
				s.t.Fatalf("%d rows, and %q", len(s.rows), m[0])
			default:
				s.y, s.x = s.y-n, 0
			}
		}
	}
}

func (s *screenOf) put(r rune) {
	if r == '\n' {
		s.y, s.x = s.y+1, 0
		if s.y == len(s.rows) {
			s.rows = append(s.rows, nil)
		}
		return
	}
	n := looks.Width(string(r))
	if s.x+n > s.width {
		if !s.wraps {
			s.x = s.width - n
		} else {
			s.put('\n')
		}
	}
	for len(s.rows[s.y]) < s.x+n {
		s.rows[s.y] = append(s.rows[s.y], " ")
	}
	s.rows[s.y][s.x] = string(r)
	if n == 2 {
		s.rows[s.y][s.x+1] = ""
	}
	s.x += n
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
	if !strings.Contains(out.String(), "\x1b[4Fz\x1b[K\n\x1b[J") {
		t.Errorf("narrower: %q", out.String())
	}
	// And wider: the new line takes one row.
	out.Reset()
	width = 40
	b.Draw([]string{"w"})
	if !strings.Contains(out.String(), "\x1b[1Fw\x1b[K\n\x1b[J") {
		t.Errorf("wider: %q", out.String())
	}
}

// writes counts how often something was written.
type writes struct {
	bytes.Buffer
	n int
}

func (w *writes) Write(p []byte) (int, error) {
	w.n++
	return w.Buffer.Write(p)
}

// Each drawing, and each message above the block, is one write, after which the block is there.
// The block is never higher than the window, and a full line keeps its last character. While a
// message has no line end, no block is drawn into its line.
func TestABoardIsDrawnInOneWrite(t *testing.T) {
	var out writes
	height := 4
	b := &terminal.Board{W: &out, Width: func() int { return 10 }, Height: func() int { return height }}
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() { b.Draw([]string{"one", "\x1b[32m漢字漢字漢\x1b[m", "0123456789", "four", "five"}) }, "one|漢字漢字漢|0123456789|"},
		{func() { fmt.Fprintln(b, "a message") }, "a message|one|漢字漢字漢|0123456789|"},
		{func() { height = 2 }, ""},
		{func() { b.Draw([]string{"two", "three"}) }, "a message|two|"},
		{func() { height = 1 }, ""},
		{func() { b.Draw([]string{"none"}) }, "a message|"},
		{func() { height = 24 }, ""},
		{func() { b.Draw([]string{"again"}) }, "a message|again|"},
		{func() { fmt.Fprint(b, "half") }, "a message|half"},
		{func() { b.Draw([]string{"not now"}) }, "a message|half"},
		{func() { fmt.Fprint(b, " a line\n") }, "a message|half a lin|e|"},
		{func() { b.Draw([]string{"now"}) }, "a message|half a lin|e|now|"},
		{func() { b.Draw(nil) }, "a message|half a lin|e|"},
	} {
		out.n = 0
		step.do()
		if step.want == "" {
			continue
		}
		if got := strings.Join(screenAfter(t, out.String(), 10), "|"); got != step.want || out.n > 1 {
			t.Errorf("step %d: %d writes, and the terminal shows %q, want %q", i, out.n, got, step.want)
		}
	}
}
