package state

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// mapAhead returns 0, because on Windows a file becomes as long as its mapping.
func mapAhead() int { return 0 }

// locked reports whether another process holds the lock that bbolt takes on f. This is a lock
// of one byte, at the largest possible offset.
func locked(f *os.File) bool {
	var at windows.Overlapped
	at.Offset, at.OffsetHigh = math.MaxUint32, math.MaxUint32
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if err == nil {
		// closing f would also release the lock, but not at once
		err = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
	}
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// unlock releases the lock that bbolt took on f.
func unlock(f *os.File) error {
	var at windows.Overlapped
	at.Offset, at.OffsetHigh = math.MaxUint32, math.MaxUint32
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
