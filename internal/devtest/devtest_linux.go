// Package devtest makes devices for tests.
package devtest

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Device returns the path of a new character device: "null", "zero" or "full", as in /dev. It
// skips the test if devices cannot be made. Tests use it instead of the devices in /dev,
// because the tested code may replace the file at a path that it writes to.
func Device(t testing.TB, name string) string {
	t.Helper()
	minor, ok := map[string]int{"null": 3, "zero": 5, "full": 7}[name]
	if !ok {
		t.Fatalf("unknown device %s", name)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
		t.Skipf("making a device needs root: %v", err)
	}
	// Opening fails if the file system is mounted without devices.
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("the new device cannot be opened: %v", err)
	}
	syscall.Close(fd)
	return path
}
