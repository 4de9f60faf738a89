//go:build unix

package series

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks f until it is closed. taken is false if another process, or another open file
// of this process, holds the lock.
func tryLock(f *os.File) (taken bool, err error) {
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case err != nil:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return true, nil
}

// waitLock waits until it can lock f. The lock is held until f is closed.
func waitLock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
