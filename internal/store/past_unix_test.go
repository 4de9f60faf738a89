//go:build unix

package store

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/internal/devtest"
)

// If a named pipe, a directory or an endless device is in place of a file of a crawl, the
// functions return an error and do not block.
func TestWhatIsNoFileIsNotReadAsThePast(t *testing.T) {
	const url = "http://a.example/x"
	for name, put := range map[string]func(t *testing.T, path string) error{
		"a pipe":      func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o644) },
		"a directory": func(_ *testing.T, path string) error { return os.Mkdir(path, 0o755) },
		"a device":    func(t *testing.T, path string) error { return os.Symlink(devtest.Device(t, "zero"), path) },
	} {
		for _, kind := range []string{"index", "archive"} {
			t.Run(name+" for the "+kind, func(t *testing.T) {
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
				if err := put(t, path); err != nil {
					t.Fatal(err)
				}
				if c, err := lookedUp(t, dir, url); c != nil || err == nil || !strings.Contains(err.Error(), path+": is no regular file") {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
	}
}
