package say

import (
	"fmt"
	"io"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
)

// MaxProblems is the maximum number of problems that a command prints. It counts the others,
// too.
const MaxProblems = 100

// A Lines prints lines, each after a label. After the first error it prints nothing.
type Lines struct {
	W       io.Writer
	Width   int   // columns of the terminal that W writes to; 0 if it is not a terminal
	Colours bool  // whether W is a terminal that shows colours
	Cut     bool  // cut lines that are wider than the terminal instead of breaking them
	Err     error // the first error of W
}

// Margin is the number of columns before the text of a line: its label, and blanks.
const Margin = 13

// Line prints a line, broken between words if it is wider than the terminal. The text may
// have line ends.
func (l *Lines) Line(label, format string, args ...any) {
	l.Row(looks.Span{Text: label}, looks.Line(fmt.Sprintf(format, args...)))
}

// Told is like Line, for text from a site or a file. It replaces line ends in the text.
func (l *Lines) Told(label, format string, args ...any) {
	l.Line(label, "%s", OneLine(fmt.Sprintf(format, args...)))
}

// Words prints counts in words, the largest first.
func (l *Lines) Words(label string, counts []Count, in func(string) string) {
	if len(counts) > 0 {
		l.Line(label, "%s", InList(counts, in))
	}
}

// Row is like Line, for a text with styles. On a narrow terminal the text is below its label.
func (l *Lines) Row(label looks.Span, text looks.Text) {
	if l.narrow() && !l.Cut {
		if label.Text != "" {
			l.Print(looks.Text{label}, 0)
		}
		l.Print(append(looks.Line("  "), text...), 2)
		return
	}
	line := append(looks.Text{label}.Padded(Margin-1, false), looks.Span{Text: " "})
	l.Print(append(line, text...), Margin)
}

// narrow reports whether the terminal has no room for labels beside the text.
func (l *Lines) narrow() bool { return l.Width > 0 && l.Width < 3*Margin }

// Indent returns the number of columns before the text of a row.
func (l *Lines) Indent() int {
	if l.narrow() {
		return 2
	}
	return Margin
}

// Verdict prints the sentence that a command begins with. A blank line follows it.
func (l *Lines) Verdict(text ...looks.Span) {
	l.Print(text, 2)
	l.Print(nil, 0)
}

// Table prints a table.
func (l *Lines) Table(t looks.Table) {
	t.OneRow = t.OneRow || l.Cut
	l.put(t.Lines(l.Width))
}

// Print prints a text, broken between words. Lines after the first are indented.
func (l *Lines) Print(text looks.Text, indent int) {
	if l.Cut {
		l.put([]looks.Text{text.Fit(l.Width)})
		return
	}
	l.put(text.Wrap(indent, l.Width))
}

func (l *Lines) put(lines []looks.Text) {
	for _, line := range lines {
		if l.Err == nil {
			_, l.Err = fmt.Fprintln(l.W, line.Painted(l.Colours))
		}
	}
}
