package temp

import (
	"io"
	"os"
	"runtime"
	"testing"
)

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, "sort")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "lines"); err != nil {
		t.Error(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
	if raw, err := io.ReadAll(f); err != nil || string(raw) != "lines" {
		t.Errorf("read %q, %v", raw, err)
	}
	// A kill, which runs no code of ours, leaves nothing either.
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("there are %v while it is used, %v", left, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestADirectoryThatIsNotThere(t *testing.T) {
	if f, err := Create(t.TempDir()+"/nowhere", "sort"); err == nil {
		f.Close()
		t.Error("no error")
	}
}
