package looks

import (
	"slices"
	"strings"
)

// Bar returns a bar of the given width that is filled in proportion to part of whole. It is full
// only if part is whole.
func Bar(part, whole, width int) Text {
	width = max(width, 0)
	full := 0
	if whole > 0 {
		full = min(max(int(float64(part)/float64(whole)*float64(width)), 0), width)
	}
	if full == width && part < whole {
		full = max(0, width-1)
	}
	return Text{{Good, strings.Repeat("█", full)}, {Plain, strings.Repeat("░", width-full)}}
}

// Sparkline draws each figure as a block character. The largest figure is a full block.
func Sparkline(figures []float64) string {
	if len(figures) == 0 {
		return ""
	}
	most := slices.Max(figures)
	var b strings.Builder
	for _, n := range figures {
		level := 0
		if most > 0 {
			level = int(n / most * 7)
		}
		b.WriteRune('▁' + rune(min(max(level, 0), 7)))
	}
	return b.String()
}
