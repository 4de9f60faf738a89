package disk

import (
	"os"
	"syscall"
)

// syncData has the device write what is in f, and no more of what is known about
// f than is needed to read it again.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
