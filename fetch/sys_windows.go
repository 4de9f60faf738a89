package fetch

import (
	"errors"

	"golang.org/x/sys/windows"
)

// TooManyOpen reports whether err says that this process has reached its limit of open files
// and connections.
func TooManyOpen(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) || errors.Is(err, windows.WSAEMFILE) || errors.Is(err, windows.WSAENOBUFS)
}
