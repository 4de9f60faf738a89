package temp

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
	// A kill leaves no file, although it runs no code of the process.
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
	if f, err := Create(t.TempDir()+"/nowhere", "sort"); f != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", f, err)
	}
}

// Create makes a file with a unique name in the given directory. Only this user can read it.
func TestWhereAFileIs(t *testing.T) {
	names := map[string]bool{}
	for range 3 {
		for dir, want := range map[string]string{"": filepath.Clean(os.TempDir()), t.TempDir(): ""} {
			if want == "" {
				want = dir
			}
			f, err := Create(dir, "kind")
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Base(f.Name())
			if filepath.Dir(f.Name()) != want || !strings.HasPrefix(base, "kind-") || !strings.HasSuffix(base, ".tmp") || names[base] {
				t.Errorf("%s in %q, want it in %s", f.Name(), dir, want)
			}
			names[base] = true
			if info, err := f.Stat(); err != nil || info.Mode() != 0o600 && runtime.GOOS != "windows" {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
