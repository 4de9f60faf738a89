//go:build unix

package fetch

import (
	"errors"
	"syscall"
)

// TooManyOpen reports whether err says that this process, or this machine, has reached its
// limit of open files and connections.
func TooManyOpen(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
