//go:build unix

package machine

import (
	"os"
	"syscall"
)

// mapFile maps the first size bytes of f into memory that other processes share.
func mapFile(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmapFile(mem []byte) error { return syscall.Munmap(mem) }
