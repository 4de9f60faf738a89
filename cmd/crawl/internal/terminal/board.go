package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
)

// A Board is a block of lines below the other text of a terminal. It is drawn again and
// again in its place. Other output goes above it.
type Board struct {
	W       io.Writer
	Width   func() int // width of the terminal, in columns
	Height  func() int // height of the terminal, in lines; nil: not known, and the block is not cut
	Colours bool       // whether the terminal shows colours

	mu    sync.Mutex // guards the fields below and the terminal, so that no other line is inside the block
	drawn []string   // the lines on the terminal
	open  bool       // what was written last has no line end: the rest of its line is still to come
}

// Each drawing is one write between these sequences. Terminals that know synchronized updates
// (DEC private mode 2026) show it at once; others ignore the sequence. While a line is drawn the
// terminal does not continue it on the next line (DECAWM), even if it finds a character wider
// than we do.
const (
	beginDraw = "\x1b[?2026h\x1b[?7l"
	endDraw   = "\x1b[?7h\x1b[?2026l"
)

// Write puts p above the block.
func (b *Board) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) > 0 {
		b.open = p[len(p)-1] != '\n'
	}
	if len(b.drawn) == 0 {
		return b.W.Write(p)
	}
	lines := b.drawn
	text := beginDraw + b.up() + "\x1b[J" + "\x1b[?7h" + string(p) + "\x1b[?7l"
	if !b.open {
		text += b.below(lines)
	}
	if _, err := io.WriteString(b.W, text+endDraw); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Draw replaces the lines of the block. It leaves out the last ones if the terminal has fewer
// lines. Each line replaces the one in its place, and then the rest is erased, so that nothing
// disappears for a moment.
func (b *Board) Draw(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Height != nil {
		lines = lines[:min(len(lines), max(b.Height()-1, 0))] // the cursor is on the line below
	}
	if b.open || len(lines)+len(b.drawn) == 0 {
		return
	}
	_, _ = io.WriteString(b.W, beginDraw+b.up()+b.below(lines)+endDraw)
}

// up returns the control sequence that moves to the first line of the block (ECMA-48, CPL): up
// one line for each row that the block takes now.
func (b *Board) up() string {
	rows, width := 0, max(b.Width(), 1)
	for _, line := range b.drawn {
		rows += max(1, (looks.Width(line)+width-1)/width) // the window may be narrower now
	}
	b.drawn = nil
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dF", rows)
}

// below returns what draws lines from the cursor on, and erases all that is below (ECMA-48, EL
// and ED).
func (b *Board) below(lines []string) string {
	var text strings.Builder
	width := b.Width()
	for _, line := range lines {
		if text.WriteString(line); looks.Width(line) < width { // after a full line the cursor is still on its last column, which would be erased
			text.WriteString("\x1b[K")
		}
		text.WriteString("\n")
	}
	b.drawn = append(b.drawn, lines...)
	return text.String() + "\x1b[J"
}

// BoardFor returns a board at the end of w. If w is not a terminal that can be drawn on, it
// returns nil.
func BoardFor(w io.Writer) *Board {
	file, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || !Is(file) || term == "dumb" || !escapes(file) {
		return nil
	}
	return &Board{W: w, Width: func() int { return WidthOf(file) }, Height: func() int { return heightOf(file) }, Colours: Colours(w)}
}
