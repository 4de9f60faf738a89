//go:build unix

package state

import (
	"os"
	"syscall"
)

// mapAhead returns how many bytes of address space are reserved for the state file from the
// start. They cost nothing on 64-bit systems.
func mapAhead() int {
	ahead := int64(16 << 30)
	if int64(int(ahead)) != ahead { // on systems where an int has 32 bits
		return 0
	}
	return int(ahead)
}

// locked reports whether another process holds the lock that bbolt takes on f. If locked
// returns false, no other process gets the lock until f is closed.
func locked(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// unlock releases the lock that bbolt took on f. Closing f does not release it while f is
// mapped.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
