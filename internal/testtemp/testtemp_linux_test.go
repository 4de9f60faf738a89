package testtemp

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The directory is in memory, is deleted at the end, and what a killed test has left is deleted
// by the next one, unless it is in use.
func TestTemporaryFilesInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	killed, used := filepath.Join(memory, name+"killed"), filepath.Join(memory, name+"used")
	err := errors.Join(os.MkdirAll(killed, 0o700), os.MkdirAll(used, 0o700))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.Remove(killed); os.Remove(used) })
	lock, err := os.Open(used)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	before := time.Now().Add(-time.Hour)
	if err := errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_EX), os.Chtimes(killed, before, before), os.Chtimes(used, before, before)); err != nil {
		t.Fatal(err)
	}
	remove, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("TMPDIR")
	if dir == "" {
		t.Skip("not enough room")
	}
	if filepath.Dir(dir) != memory {
		t.Errorf("temporary files are in %s", dir)
	}
	for path, want := range map[string]bool{killed: false, used: true, dir: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
}
