//go:build !linux

package disk

import "os"

// syncData makes the device write f. On macOS this uses F_FULLFSYNC, which also empties the
// cache of the device, and is slow.
func syncData(f *os.File) error { return f.Sync() }
