//go:build !linux

package processes

// machineClock is implemented on Linux only.
func machineClock() (source string, synchronised *bool) { return "", nil }
