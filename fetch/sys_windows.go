package fetch

import (
	"errors"

	"golang.org/x/sys/windows"
)

// TooManyOpen reports whether an error says that this process has as many files
// and connections open as it may.
func TooManyOpen(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) || errors.Is(err, windows.WSAEMFILE) || errors.Is(err, windows.WSAENOBUFS)
}
