package looks

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The width of a text is that on a terminal, for text in any script.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "漢字": 4, "e\u0301t\u00e9": 3, "ü.example": 9, "👩‍👩‍👧": 2, "█░…": 3, "\x1b[1;31mred\x1b[m": 3, "a\u00a0b": 3,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
}

// A text that is cut has the width, and no half of a character.
func TestFit(t *testing.T) {
	text := Text{{Strong, "漢字"}, {Plain, " and "}, {Bad, "e\u0301t\u00e9\nx\ty"}}
	for width, want := range []string{"", "…", "…", "漢…", "漢…", "漢字…", "漢字 …", "漢字 a…", "漢字 an…", "漢字 and…", "漢字 and …", "漢字 and e\u0301…", "漢字 and e\u0301t…", "漢字 and e\u0301t\u00e9…", "漢字 and e\u0301t\u00e9 …", "漢字 and e\u0301t\u00e9 x…", "漢字 and e\u0301t\u00e9 x y"} {
		got := text.Fit(width)
		if got.String() != want || got.Width() > width {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	if got, want := text.Fit(8).Painted(true), "\x1b[1m漢字\x1b[m an…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// No text can control the terminal, only its style can.
func TestNoTextControlsTheTerminal(t *testing.T) {
	hostile := Text{{Good, "a\x1b[2J\u202eb\u009b31m\x07"}, {Plain, "\x1b]0;x\x1b\\c\u200b"}}
	if got, want := hostile.Painted(true), "\x1b[32ma[2Jb31m\x1b[m]0;x\\c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := hostile.String(), "a[2Jb31m]0;x\\c"; got != want || hostile.Width() != len(want) {
		t.Errorf("%q (%d columns), want %q", got, hostile.Width(), want)
	}
}

// A bar is full only if everything is done.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		part, whole, width int
		want               string
	}{
		{0, 0, 4, "░░░░"}, {0, 9, 4, "░░░░"}, {1, 2, 4, "██░░"}, {999, 1000, 4, "███░"}, {9, 9, 4, "████"}, {12, 9, 4, "████"}, {-1, 9, 2, "░░"}, {1, 1, 0, ""}, {0, 1, -3, ""},
	} {
		if got := Bar(c.part, c.whole, c.width).String(); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.part, c.whole, got, c.want)
		}
	}
	if got := Sparkline([]float64{0, 1, 7, -1}); got != "▁▂█▁" || Sparkline(nil) != "" || Sparkline([]float64{0}) != "▁" {
		t.Error(got)
	}
}

// Random texts in all widths: a line is never wider than the terminal unless it is one word, no
// word is broken, no style is lost, and no line is empty.
func TestWrapBreaksBetweenWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "of", "three", "漢字", "http://a.example/path", strings.Repeat("w", 253), "e\u0301t\u00e9", Whole("8 URLs")}
	for range 3000 {
		var text Text
		var in []string
		for range 1 + random.IntN(12) {
			word := words[random.IntN(len(words))]
			style := []Style{Plain, Strong, Bad}[random.IntN(3)]
			in = append(in, string(style)+"/"+strings.ReplaceAll(word, whole, " "))
			if len(text) > 0 {
				text = append(text, Span{Plain, strings.Repeat(" ", 1+random.IntN(2))})
			}
			text = append(text, Span{style, word})
		}
		width, indent := random.IntN(90), random.IntN(14)
		var got []string
		for i, line := range text.Wrap(indent, width) {
			plain := line.String()
			if strings.TrimSpace(plain) == "" || strings.HasSuffix(plain, " ") {
				t.Fatalf("%d columns: line %d is %q", width, i, plain)
			}
			if width > indent && line.Width() > width && (len(wordsOf(line)) > 1 || strings.HasPrefix(plain, " ")) {
				t.Fatalf("%d columns: line %d is wider: %q", width, i, plain)
			}
			got = append(got, wordsOf(line)...)
		}
		if diff := cmp.Diff(in, got); diff != "" {
			t.Fatalf("%d columns, indent %d: (-want +got)\n%s", width, indent, diff)
		}
	}
}

// wordsOf returns the words of a line, each after its style.
func wordsOf(line Text) (all []string) {
	for _, s := range line {
		for _, word := range strings.Split(s.Text, " ") {
			if word != "" {
				all = append(all, string(s.Style)+"/"+strings.ReplaceAll(word, whole, " "))
			}
		}
	}
	return all
}

func TestTable(t *testing.T) {
	table := Table{
		Rows: [][]Text{
			{Line("http://a.example"), Line("7 URLs"), {{Wait, "waits"}, {Plain, " for a long time, and for longer"}}},
			{Line("http://漢字.example"), Line("12 URLs"), Line("due")},
			{Line("and 3 more sites")},
		},
		Labels: []string{"left", "", "also"}, Right: []int{1}, Indent: 6,
	}
	for width, want := range map[int][]string{
		0: {
			"left  http://a.example      7 URLs  waits for a long time, and for longer",
			"      http://漢字.example  12 URLs  due",
			"also  and 3 more sites",
		},
		60: {
			"left  http://a.example      7 URLs  waits for a long time,",
			"                                    and for longer",
			"      http://漢字.example  12 URLs  due",
			"also  and 3 more sites",
		},
		30: {
			"left  http://a.example",
			"        7 URLs, waits for a",
			"        long time, and for",
			"        longer",
			"      http://漢字.example",
			"        12 URLs, due",
			"also  and 3 more sites",
		},
	} {
		var got []string
		for _, line := range table.Lines(width) {
			got = append(got, line.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d columns (-want +got)\n%s", width, diff)
		}
	}
	table.Indent = 2
	if got := table.Lines(60); got[0].String() != "left" || !strings.HasPrefix(got[1].String(), "  http://a.example") {
		t.Errorf("a label wider than the indent: %q", got)
	}
	long := Table{Rows: [][]Text{{Line("http://" + strings.Repeat("w", 253)), Line("due")}, {Line("http://a.example"), Line("due")}}}
	for width, want := range map[int]string{0: "w  due\n", 80: "w\n                  due\n"} {
		var text strings.Builder
		for _, line := range long.Lines(width) {
			text.WriteString(line.String() + "\n")
		}
		if !strings.Contains(text.String(), want) || !strings.Contains(text.String(), "http://a.example  due\n") {
			t.Errorf("%d columns:\n%s", width, &text)
		}
	}
}

// In a table of one line for each row no line is wider than the terminal, for any width.
func TestATableOfOneLineForEachRowFits(t *testing.T) {
	table := Table{OneRow: true, Rows: [][]Text{
		{Line(strings.Repeat("漢", 90)), {{Wait, "waits"}, {Plain, " for " + strings.Repeat("long ", 50)}}}, {Line("a.example"), Line("due\nnow")},
	}}
	for table.Indent = range 15 {
		for width := range 130 {
			lines := table.Lines(width)
			if len(lines) != 2 {
				t.Fatalf("%d columns: %q", width, lines)
			}
			for _, line := range Painted(lines, true) {
				if Width(line) > width || strings.Contains(line, "\n") || strings.Count(line, "\x1b[35m") != len(regexp.MustCompile("w[a-z]*…?\x1b|…\x1b").FindAllString(line, -1)) {
					t.Fatalf("%d columns: %q", width, line)
				}
			}
		}
	}
}
