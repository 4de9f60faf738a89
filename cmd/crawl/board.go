package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// A board is a block of lines at the end of a terminal's text, which is drawn again and
// again in its place. Other output goes above it.
type board struct {
	w     io.Writer
	width func() int // width of the terminal, in characters

	mu    sync.Mutex // guards drawn and the terminal, so that no other line is inside the block
	drawn []int      // lengths of the lines on the terminal
}

// Write erases the block and writes p. The next draw puts the block below it.
func (b *board) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if up := b.erase(); up != "" {
		if _, err := io.WriteString(b.w, up); err != nil {
			return 0, err
		}
	}
	return b.w.Write(p)
}

// draw replaces the block by lines, in one write, so that it is never half visible.
func (b *board) draw(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.erase()
	for _, line := range lines {
		text += line + "\n"
		b.drawn = append(b.drawn, utf8.RuneCountInString(line))
	}
	_, _ = io.WriteString(b.w, text)
}

// erase returns the control sequences that erase the block: one line up for each row that
// it takes now, then clear everything below (ECMA-48, CPL and ED).
func (b *board) erase() string {
	if len(b.drawn) == 0 {
		return ""
	}
	rows, width := 0, max(b.width(), 1)
	for _, n := range b.drawn {
		rows += max(1, (n+width-1)/width) // the window may be narrower now
	}
	b.drawn = b.drawn[:0]
	return fmt.Sprintf("\x1b[%dF\x1b[J", rows)
}

// boardFor returns a board at the end of w, or nil if w is not a terminal that can be drawn
// on.
func boardFor(w io.Writer) *board {
	file, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || !isTerminal(file) || term == "dumb" || !escapes(file) {
		return nil
	}
	return &board{w: w, width: func() int { return widthOf(file) }}
}

// wrap breaks a line between words if it is wider than width, which is 0 if there is no
// terminal. It indents the lines after the first.
func wrap(line string, indent, width int) string {
	if width <= indent {
		return line
	}
	var b strings.Builder
	at, blanks := 0, 0 // blanks: between the last word and the next one, not written at the end of a line
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

// fit cuts a line to a width, and removes what could control a terminal.
func fit(line string, width int) string {
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
