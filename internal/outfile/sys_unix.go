//go:build unix

package outfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file to say that this process writes it. got is false if another process has
// locked it. Lock fails if the file system has no locks.
func Lock(f *os.File) (got bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Release unlocks and closes a file that Lock has locked. Closing the file would not be enough,
// because a child process that is just being started has the lock, too, until it runs its
// program.
func Release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// remove removes an open file.
func remove(f *os.File) { _ = os.Remove(f.Name()) }
