//go:build unix

package fetch

import (
	"errors"
	"syscall"
)

// TooManyOpen reports whether an error says that this process, or this machine,
// has as many files and connections open as it may.
func TooManyOpen(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
