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

// remove removes an open file.
func remove(f *os.File) { _ = os.Remove(f.Name()) }
