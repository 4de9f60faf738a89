//go:build !linux

package disk

import "os"

// syncData has the device write what is in f. On macOS that is F_FULLFSYNC,
// which empties the cache of the device, too, and is slow.
func syncData(f *os.File) error { return f.Sync() }
