package outfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock marks a file as one that this process writes: one byte, at the very end of what a file
// can hold. It returns false if another process has marked it.
func lock(f *os.File) (got bool, err error) {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// remove removes a file that is open: a file that is open cannot be removed here.
func remove(f *os.File) {
	f.Close()
	_ = os.Remove(f.Name())
}
