package outfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TempDir removes the directory of a killed process. It does not remove the directory of a
// running process, or other files with similar names.
func TestATemporaryDirectoryOfAKillIsRemoved(t *testing.T) {
	parent := t.TempDir()
	killed, _, err := TempDir(parent, "referred-")
	if err != nil {
		t.Fatal(err)
	}
	// The system releases the lock of a killed process, and the files stay. So replace the
	// locked file by one without a lock.
	if err := os.Remove(filepath.Join(killed, lockName)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(killed, lockName), "")
	write(t, filepath.Join(killed, "large"), "text")
	if err := os.Mkdir(filepath.Join(parent, "referred-mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, remove, err := TempDir(parent, "referred-")
	if err != nil {
		t.Fatal(err)
	}
	second, remove2, err := TempDir(parent, "referred-")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{killed: false, first: true, second: true, filepath.Join(parent, "referred-mine"): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if err := remove2(); err != nil {
		t.Error(err)
	}
	if left := names(t, parent); len(left) != 1 || left[0] != "referred-mine" {
		t.Errorf("left %q", left)
	}
}
