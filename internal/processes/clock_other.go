//go:build !linux

package processes

// machineClock returns zero values, because it is implemented on Linux only.
func machineClock() (source string, synchronised *bool) { return "", nil }
