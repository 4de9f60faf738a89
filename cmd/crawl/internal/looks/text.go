package looks

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// A Style is how a part of a text looks: the parameters of the control sequence SGR (ECMA-48,
// section 8.3.117). The words alone say everything: a terminal without colours shows the same
// words.
type Style string

// The styles use three of the sixteen colours that each terminal has. In the usual palettes
// yellow, cyan and blue have less contrast to a dark or to a light background than these.
const (
	Plain  Style = ""
	Strong Style = "1"    // bold
	Good   Style = "32"   // green
	Wait   Style = "35"   // magenta
	Bad    Style = "1;31" // bold red
)

// A Span is a part of a text with one style.
type Span struct {
	Style Style
	Text  string
}

// A Text is one line, or a paragraph that Wrap breaks into lines.
type Text []Span

// Line returns a text without a style.
func Line(text string) Text { return Text{{Plain, text}} }

// String returns the text without styles.
func (t Text) String() string { return t.Painted(false) }

// Painted returns the text as a terminal needs it, with control sequences for the styles if
// colours is true. It removes all other characters that could control the terminal.
func (t Text) Painted(colours bool) string {
	var b strings.Builder
	for _, s := range t {
		text := strings.ReplaceAll(Printable(s.Text), whole, " ")
		if !colours || s.Style == Plain || text == "" {
			b.WriteString(text)
			continue
		}
		b.WriteString("\x1b[" + string(s.Style) + "m" + text + "\x1b[m")
	}
	return b.String()
}

// whole is the blank at which a line is not broken (NO-BREAK SPACE). It is printed as a blank.
const whole = "\u00a0"

// Whole returns a text that is printed as it is, and that Wrap does not break at its blanks, such
// as a figure with its noun.
func Whole(text string) string { return strings.ReplaceAll(text, " ", whole) }

// Painted returns each of the lines as Text.Painted does.
func Painted(lines []Text, colours bool) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = line.Painted(colours)
	}
	return all
}

// Printable removes characters that could control a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if Steers(r) {
			return -1
		}
		return r
	}, s)
}

// Steers reports whether a terminal could read r as a control character, or as part of a
// control sequence.
func Steers(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// columns measures text. Control sequences take no column.
var columns = displaywidth.Options{ControlSequences: true}

// Width returns the number of columns that a string takes on a terminal.
func Width(s string) int { return columns.String(s) }

// Width returns the number of columns that the text takes.
func (t Text) Width() (n int) {
	for _, s := range t {
		n += Width(Printable(s.Text))
	}
	return n
}

// cut is what Fit puts at the end of a text that it has cut.
const cut = "…"

// Fit cuts the text to a width. Line ends and tabs become blanks.
func (t Text) Fit(width int) Text {
	flat := make(Text, 0, len(t))
	for _, s := range t {
		flat = append(flat, Span{s.Style, strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(s.Text))})
	}
	if flat.Width() <= width {
		return flat
	}
	room := width - Width(cut)
	if room < 0 {
		return nil
	}
	for i, s := range flat {
		if n := Width(s.Text); n <= room {
			room -= n
			continue
		}
		flat[i].Text = columns.TruncateString(s.Text, room, "") + cut
		return flat[:i+1]
	}
	return flat
}

// Padded returns the text with blanks at its end, or at its beginning if right is true, so that
// it takes at least width columns.
func (t Text) Padded(width int, right bool) Text {
	blanks := Span{Plain, strings.Repeat(" ", max(0, width-t.Width()))}
	switch {
	case blanks.Text == "":
		return t
	case right:
		return append(Text{blanks}, t...)
	}
	return append(t[:len(t):len(t)], blanks)
}
