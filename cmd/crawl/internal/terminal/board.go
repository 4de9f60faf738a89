package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// A Board is a block of lines below the other text of a terminal. It is drawn again and
// again in its place. Other output goes above it.
type Board struct {
	W     io.Writer
	Width func() int // width of the terminal, in characters

	mu    sync.Mutex // guards drawn and the terminal, so that no other line is inside the block
	drawn []int      // lengths of the lines on the terminal
}

// Write erases the block and writes p. The next draw puts the block below it.
func (b *Board) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if up := b.erase(); up != "" {
		if _, err := io.WriteString(b.W, up); err != nil {
			return 0, err
		}
	}
	return b.W.Write(p)
}

// Draw replaces the lines of the block. It does so in one write, so that the block is never
// half visible.
func (b *Board) Draw(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.erase()
	for _, line := range lines {
		text += line + "\n"
		b.drawn = append(b.drawn, utf8.RuneCountInString(line))
	}
	_, _ = io.WriteString(b.W, text)
}

// erase returns the control sequences that erase the block: one line up for each row that
// the block takes now, then clear everything below (ECMA-48, CPL and ED).
func (b *Board) erase() string {
	if len(b.drawn) == 0 {
		return ""
	}
	rows, width := 0, max(b.Width(), 1)
	for _, n := range b.drawn {
		rows += max(1, (n+width-1)/width) // the window may be narrower now
	}
	b.drawn = b.drawn[:0]
	return fmt.Sprintf("\x1b[%dF\x1b[J", rows)
}

// BoardFor returns a board at the end of w. If w is not a terminal that can be drawn on, it
// returns nil.
func BoardFor(w io.Writer) *Board {
	file, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || !Is(file) || term == "dumb" || !escapes(file) {
		return nil
	}
	return &Board{W: w, Width: func() int { return WidthOf(file) }}
}
