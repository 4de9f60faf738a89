package disk

import (
	"os"
	"syscall"
)

// syncData makes the device write the data of f, and only the metadata that is needed to
// read it again.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
