package outfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file to say that this process writes it. It locks one byte at the largest
// possible offset. got is false if another process has locked it.
func Lock(f *os.File) (got bool, err error) {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Release unlocks and closes a file that Lock has locked. Closing the file would not unlock it
// at once.
func Release(f *os.File) error {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	return errors.Join(windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at), f.Close())
}

// remove removes an open file, which Windows cannot remove before it is closed.
func remove(f *os.File) {
	f.Close()
	_ = os.Remove(f.Name())
}
