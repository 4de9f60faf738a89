//go:build unix

package storage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What stands where files of a crawl should, and never ends or begins, is told of, and
// nobody waits for it.
func TestWhatIsNoFileIsNotReadAsThePast(t *testing.T) {
	const url = "http://a.example/x"
	for name, put := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		for _, kind := range []string{"index", "archive"} {
			dir := t.TempDir()
			snapshot(t, dir, "", answered(url, day(1), 200, nil, long))
			path := filepath.Join(dir, IndexFile)
			if kind == "archive" {
				files, err := ArchiveFiles(dir)
				if err != nil || len(files) != 1 {
					t.Fatal(files, err)
				}
				path = files[0]
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if c, err := lookedUp(t, dir, url); c != nil || err == nil || !strings.Contains(err.Error(), path+": is no regular file") {
				t.Errorf("%s for the %s: %+v, %v", name, kind, c, err)
			}
		}
	}
}
