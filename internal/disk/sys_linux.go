package disk

import (
	"os"
	"syscall"
)

// syncData makes the device write the data of f, and of its metadata only what is needed to
// read f again.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
