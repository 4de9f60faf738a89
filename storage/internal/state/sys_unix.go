//go:build unix

package state

import (
	"os"
	"syscall"
)

// mapAhead returns how many bytes of address space the state file gets from the start: they
// cost nothing on 64-bit systems.
func mapAhead() int {
	ahead := int64(16 << 30)
	if int64(int(ahead)) != ahead { // 32 bits
		return 0
	}
	return int(ahead)
}

// locked reports whether another process holds the lock that bbolt takes on f. If it
// returns false, no process gets the lock until f is closed.
func locked(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// unlock releases the lock that bbolt took on f: while f is mapped, closing it does not.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
