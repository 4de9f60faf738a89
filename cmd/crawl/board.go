package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// A board is the end of a terminal's text: a block of lines that is drawn over
// and over in its place. What is written meanwhile stands above it.
type board struct {
	w     io.Writer
	width func() int // of the terminal, in characters

	mu    sync.Mutex // guards drawn, and the terminal: a line never stands inside the block
	drawn []int      // how long the lines are that stand there
}

// Write takes the block away; the next draw sets it under what is written.
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

// draw shows lines in the place of those that were drawn last. There is one
// write for all: nobody sees half of it.
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

// erase is what takes away the block: one line up for each row that it takes by
// now, and everything below is cleared (ECMA-48, CPL and ED).
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

// boardFor is a board at the end of w; nil where w is no terminal that can be
// drawn on.
func boardFor(w io.Writer) *board {
	file, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || !isTerminal(file) || term == "dumb" || !escapes(file) {
		return nil
	}
	return &board{w: w, width: func() int { return widthOf(file) }}
}

// wrap breaks a line between words where it is wider than a terminal, 0 if there
// is none; what follows is indented.
func wrap(line string, indent, width int) string {
	if width <= indent {
		return line
	}
	var b strings.Builder
	at, blanks := 0, 0 // blanks: between the last word and the next one; none stands at the end of a line
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

// fit cuts a line to a width, and what a terminal could take for a command.
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
