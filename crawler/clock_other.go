//go:build !linux

package crawler

// machineClock knows nothing of other systems.
func machineClock() (source string, synchronised *bool) { return "", nil }
