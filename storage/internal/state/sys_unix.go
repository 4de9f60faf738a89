//go:build unix

package state

import (
	"os"
	"syscall"
)

// mapAhead is how many addresses the state file is given from the start, in
// bytes: they cost nothing where there are enough of them.
func mapAhead() int {
	ahead := int64(16 << 30)
	if int64(int(ahead)) != ahead { // 32 bits
		return 0
	}
	return int(ahead)
}

// locked reports whether another process holds the lock that bbolt takes on f.
// If none does, none gets it until f is closed.
func locked(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// unlock gives up the lock that bbolt took on f: while f is mapped to memory, to
// close it does not.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
