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
