//go:build !linux

package machine

import "os"

// allocate does nothing. Windows reserves the disk space of a file when its length is set;
// on other systems the file may have holes, and a write to one faults if the disk is full.
func allocate(*os.File, int64) error { return nil }
