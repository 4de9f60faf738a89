package terminal

import (
	"os"

	"golang.org/x/term"
)

// WidthOf returns how many characters fit in a line of the terminal f: 80 if it does not say.
func WidthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// Width returns how many characters fit in a line of the terminal that w is, or 0 if w is
// not a terminal.
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
