//go:build unix

package terminal

import (
	"os"
)

// escapes reports whether the terminal f understands control sequences.
func escapes(*os.File) bool { return true }
