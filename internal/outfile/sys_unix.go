//go:build unix

package outfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file to show that this process writes it. It returns false if another process
// has locked it, and an error if the file system has no locks.
func Lock(f *os.File) (got bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Release unlocks and closes a file that Lock has locked. Closing it would not be enough: a child
// process that is started at that moment has the lock, too, until it runs its program.
func Release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// remove removes an open file.
func remove(f *os.File) { _ = os.Remove(f.Name()) }
