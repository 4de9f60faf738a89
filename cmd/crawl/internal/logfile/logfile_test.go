package logfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A log file that was moved away, or removed, is created again: no line is lost, and no signal
// is needed.
func TestALogFileIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	w, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.file.Close()
	write := func(line string) {
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Error(n, err)
		}
	}
	write("one\n")
	write("two\n")
	if runtime.GOOS != "windows" { // there an open file cannot be moved
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		write("three\n")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write("four\n")
		if err := os.Rename(filepath.Dir(path), filepath.Dir(path)+".moved"); err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(filepath.Dir(path)+".moved", "log")
		write("five\n")
		old, _ := os.ReadFile(path + ".1")
		now, _ := os.ReadFile(path)
		if string(old) != "one\ntwo\n" || string(now) != "four\nfive\n" {
			t.Errorf("%q, then %q", old, now)
		}
	}
}
