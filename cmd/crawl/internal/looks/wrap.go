package looks

import (
	"strings"
)

// Wrap breaks a line between words if it is wider than width, and indents the lines after the
// first. A width of 0 means that there is no terminal.
func Wrap(line string, indent, width int) string {
	var all []string
	for _, t := range Line(line).Wrap(indent, width) {
		all = append(all, t.String())
	}
	return strings.Join(all, "\n")
}

// Wrap breaks the text between words into lines of at most width columns, and indents the lines
// after the first. It never breaks a word: a word for which there is no room after the indent
// begins further to the left, on a line of its own. If a word is wider than the terminal, the
// terminal breaks it, and copies it whole. A width of at most indent means that nothing is
// broken, except at line ends in the text.
func (t Text) Wrap(indent, width int) []Text {
	w := wrapper{indent: indent, width: width}
	for _, s := range t {
		if width > indent {
			s.Text = strings.ReplaceAll(s.Text, "\t", " ")
		}
		for i, part := range strings.Split(s.Text, "\n") {
			if i > 0 {
				w.put()
				w.end(0)
			}
			for j, word := range strings.Split(part, " ") {
				if j > 0 {
					w.put()
					w.blanks++
				}
				if word = Printable(word); word != "" {
					w.word = append(w.word, Span{s.Style, word})
				}
			}
		}
	}
	w.put()
	w.end(0)
	return w.lines
}

// A wrapper collects words into lines.
type wrapper struct {
	indent, width int
	lines         []Text
	line          Text
	at            int  // width of line
	blanks        int  // number of blanks between line and word; not written at the end of a line
	word          Text // the spans of the next word
}

// put moves the word to the line, or to a new line if there is no room.
func (w *wrapper) put() {
	if len(w.word) == 0 {
		return
	}
	n := w.word.Width()
	if w.width > w.indent && w.at > 0 && w.at+w.blanks+n > w.width {
		indent := w.indent
		if n > w.width-indent {
			indent = min(2, max(0, w.width-n))
		}
		w.end(indent)
	}
	if w.width > w.indent && w.at == 0 {
		w.blanks = min(w.blanks, max(0, w.width-n))
	}
	style := Plain
	if last := len(w.line) - 1; last >= 0 && w.line[last].Style == w.word[0].Style {
		style = w.word[0].Style
	}
	w.add(Span{style, strings.Repeat(" ", w.blanks)})
	for _, s := range w.word {
		w.add(s)
	}
	w.word, w.blanks = nil, 0
}

// add adds a span to the line.
func (w *wrapper) add(s Span) {
	if s.Text == "" {
		return
	}
	w.at += Width(s.Text)
	if last := len(w.line) - 1; last >= 0 && w.line[last].Style == s.Style {
		w.line[last].Text += s.Text
		return
	}
	w.line = append(w.line, s)
}

// end ends the line, and begins the next one with an indent.
func (w *wrapper) end(indent int) {
	w.lines = append(w.lines, w.line)
	w.line, w.at, w.blanks = nil, 0, 0
	w.add(Span{Plain, strings.Repeat(" ", indent)})
}
