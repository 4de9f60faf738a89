package main

import "strings"

// A block is a paragraph of a text, or indented lines, which are kept unchanged.
type block struct {
	lines []string
	as    bool // lines to keep unchanged
	below bool // without a blank line before it
}

// blocks returns the paragraphs of a text, in order.
func blocks(text string) (all []block) {
	begin := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		as := strings.HasPrefix(line, " ")
		switch {
		case line == "":
			begin = true
			continue
		case begin || all[len(all)-1].as != as:
			all = append(all, block{as: as, below: !begin})
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
		begin = false
	}
	return all
}

// wrapped returns a block for a terminal.
func (b block) wrapped(width int) string {
	if b.as {
		return strings.Join(b.lines, "\n") + "\n"
	}
	return wrapped(strings.Join(b.lines, " "), 0, width)
}

// wrapped returns the lines of wrap, without trailing blanks.
func wrapped(line string, indent, width int) string {
	var text strings.Builder
	for part := range strings.Lines(wrap(line, indent, width)) {
		text.WriteString(strings.TrimRight(part, " \n") + "\n")
	}
	return text.String()
}
