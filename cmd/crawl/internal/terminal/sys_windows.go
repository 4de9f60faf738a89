package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// escapes reports whether the terminal f understands control sequences. A console
// understands them only after this is switched on.
func escapes(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
