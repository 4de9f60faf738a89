package say

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a line between words if it is wider than width. It indents the lines after
// the first. A width of 0 means that there is no terminal.
func Wrap(line string, indent, width int) string {
	if width <= indent {
		return line
	}
	var b strings.Builder
	at, blanks := 0, 0 // blanks: number of blanks between the last word and the next one; not written at the end of a line
	for i, word := range strings.Split(line, " ") {
		if i > 0 {
			blanks++
		}
		n := utf8.RuneCountInString(word)
		switch {
		case n == 0:
			continue
		case at > 0 && at+blanks > indent && at+blanks+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(strings.Repeat(" ", blanks))
			at += blanks
		}
		b.WriteString(word)
		at, blanks = at+n, 0
	}
	return b.String()
}

// Fit cuts a line to a width. It removes characters that could control a terminal.
func Fit(line string, width int) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f, '▁' <= r && r <= '█':
			return r
		}
		return '?'
	}, line)
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)[:max(width, 0)]
	if width > 3 {
		copy(runes[width-3:], []rune("..."))
	}
	return string(runes)
}

// A Block is a paragraph of a text, or indented lines, which are kept unchanged.
type Block struct {
	Lines []string
	AsIs  bool // lines to keep unchanged
	Below bool // without a blank line before it
}

// Blocks returns the paragraphs of a text, in order.
func Blocks(text string) (all []Block) {
	begin := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		as := strings.HasPrefix(line, " ")
		switch {
		case line == "":
			begin = true
			continue
		case begin || all[len(all)-1].AsIs != as:
			all = append(all, Block{AsIs: as, Below: !begin})
		}
		last := &all[len(all)-1]
		last.Lines = append(last.Lines, line)
		begin = false
	}
	return all
}

// Wrapped returns the text of a block, broken into lines of at most width columns.
func (b Block) Wrapped(width int) string {
	if b.AsIs {
		return strings.Join(b.Lines, "\n") + "\n"
	}
	return Wrapped(strings.Join(b.Lines, " "), 0, width)
}

// Wrapped is like Wrap, but removes the blanks at the end of each line, and also puts a line
// end after the last line.
func Wrapped(line string, indent, width int) string {
	var text strings.Builder
	for part := range strings.Lines(Wrap(line, indent, width)) {
		text.WriteString(strings.TrimRight(part, " \n") + "\n")
	}
	return text.String()
}
