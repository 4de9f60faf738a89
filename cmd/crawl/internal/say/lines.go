package say

import (
	"fmt"
	"io"
)

// MaxProblems is the maximum number of problems that a command prints. It counts the others,
// too.
const MaxProblems = 100

// A Lines prints lines, each after a label. After the first error it prints nothing.
type Lines struct {
	W     io.Writer
	Width int   // columns of the terminal that W writes to; 0 if it is not a terminal
	Err   error // the first error of W
}

// Line prints a line, broken between words if it is wider than the terminal. The text may
// have line ends.
func (l *Lines) Line(label, format string, args ...any) {
	if l.Err == nil {
		text := Printable(fmt.Sprintf("%-12s %s", label, fmt.Sprintf(format, args...)))
		_, l.Err = fmt.Fprintln(l.W, Wrap(text, 13, l.Width))
	}
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
