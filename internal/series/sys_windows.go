package series

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks f until it is closed. taken is false if another process, or another open file
// of this process, holds the lock.
func tryLock(f *os.File) (taken bool, err error) {
	err = lockLast(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// waitLock waits until it can lock f. The lock is held until f is closed.
func waitLock(f *os.File) error { return lockLast(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockLast locks one byte at the largest possible offset, so that others can still read the
// content of the file.
func lockLast(f *os.File, how uint32) error {
	var at windows.Overlapped
	at.Offset, at.OffsetHigh = math.MaxUint32, math.MaxUint32
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
}
