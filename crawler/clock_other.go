//go:build !linux

package crawler

// machineClock is implemented on Linux only.
func machineClock() (source string, synchronised *bool) { return "", nil }
