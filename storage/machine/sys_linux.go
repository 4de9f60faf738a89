package machine

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves disk space for f. A write to a mapped part of f without disk space would crash
// the process if the disk is full.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return nil
	}
	return err
}
