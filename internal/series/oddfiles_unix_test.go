//go:build unix

package series_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Check names each file that is not as it was written, and no other file, for any kind of file.
// It does not wait for the writer of a named pipe.
func TestCheckOfASnapshotWithOddFiles(t *testing.T) {
	odd := map[string]struct {
		make func(path string) error
		want string
	}{
		"a pipe":            {func(path string) error { return syscall.Mkfifo(path, 0o644) }, "no regular file"},
		"a directory":       {func(path string) error { return os.Mkdir(path, 0o755) }, "no regular file"},
		"a link to nothing": {func(path string) error { return os.Symlink("nowhere", path) }, "no such file"},
		"nothing":           {func(string) error { return nil }, "no such file"},
		"another text":      {func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }, ""},
	}
	whole := filepath.Join(t.TempDir(), "weekly")
	dir := filepath.Base(begin(t, series.Series{Dir: whole}, jobOf("one", "http://a.example/"), series.Moment{Now: monday}).Dir)
	for name, odd := range odd {
		for _, file := range []string{series.FactsFile, series.JobFile, series.SeedsFile} {
			s := filepath.Join(t.TempDir(), "weekly")
			path := filepath.Join(s, dir, file)
			if err := errors.Join(os.CopyFS(s, os.DirFS(whole)), os.Remove(path), odd.make(path)); err != nil {
				t.Fatal(err)
			}
			wrong := series.Snapshot{Dir: filepath.Join(s, dir)}.Check()
			if file == series.FactsFile && odd.want == "no such file" {
				if wrong != nil { // without this file, the crawl is one that Begin has not made
					t.Errorf("%s in the place of %s: %v", name, file, wrong)
				}
				continue
			}
			var again *store.DamagedError
			if len(wrong) != 1 || wrong[0].Path != path || !strings.Contains(wrong[0].Error(), odd.want) || errors.As(wrong[0].Err, &again) {
				t.Errorf("%s in the place of %s: %v", name, file, wrong)
			}
		}
	}
}
