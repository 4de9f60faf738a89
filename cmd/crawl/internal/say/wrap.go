package say

import (
	"strings"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
)

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

// Wrapped is like looks.Wrap, but removes the blanks at the end of each line, and also puts a line
// end after the last line.
func Wrapped(line string, indent, width int) string {
	var text strings.Builder
	for part := range strings.Lines(looks.Wrap(line, indent, width)) {
		text.WriteString(strings.TrimRight(part, " \n") + "\n")
	}
	return text.String()
}
