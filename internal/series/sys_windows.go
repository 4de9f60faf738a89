package series

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock on f until it is closed, or reports that another process, or
// another file of this one, has it.
func tryLock(f *os.File) (taken bool, err error) {
	err = lockLast(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// waitLock takes the lock on f until it is closed, once nobody else has it.
func waitLock(f *os.File) error { return lockLast(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockLast locks one byte, at the very end of what a file can hold: nobody is kept from
// reading what stands in it.
func lockLast(f *os.File, how uint32) error {
	var at windows.Overlapped
	at.Offset, at.OffsetHigh = math.MaxUint32, math.MaxUint32
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
}
