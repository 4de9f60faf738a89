package terminal

import (
	"os"

	"golang.org/x/term"
)

// WidthOf returns how many characters fit in a line of the terminal f. If the terminal does
// not say, it returns 80.
func WidthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// heightOf returns how many lines the terminal f has. If the terminal does not say, it returns
// 24.
func heightOf(f *os.File) int {
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil || height <= 0 {
		return 24
	}
	return height
}

// Colours reports whether w is a terminal that shows colours, and the user wants them: NO_COLOR
// (no-color.org) is not set, or empty.
func Colours(w any) bool {
	return Is(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && escapes(w.(*os.File))
}

// Width returns how many characters fit in a line of the terminal w. If w is not a
// terminal, it returns 0.
func Width(w any) int {
	if !Is(w) {
		return 0
	}
	return WidthOf(w.(*os.File))
}

// Is reports whether f is a file that is a terminal.
func Is(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
