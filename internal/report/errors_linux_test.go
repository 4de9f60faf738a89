package report_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count files in: ", err)
	}
	return len(all)
}

// Dir closes all files that it opens, also if it fails.
func TestFilesOfAReportAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	dirs, now := reported(t)
	long := written(t, nil)
	longLog(t, filepath.Join(long, store.LogFile), 40_000) // long enough to be sorted with temporary files
	for _, dir := range append(dirs, long) {
		for n, calls := 1, 1; n <= calls+1; n += 1 + calls/10 {
			calls = 0
			o := report.Options{Now: now}
			o.Hook(func() error {
				if calls++; calls == n {
					return errors.New("no disk")
				}
				return nil
			}, same)
			before := openFiles(t)
			_, err := report.Dir(t.Context(), dir, o)
			if after := openFiles(t); after != before {
				t.Errorf("%s, %v: %d files are open, and %d before", dir, err, after, before)
			}
		}
	}
}

// If the working directory was removed, the relative path of a crawl cannot be resolved, and Dir
// fails.
func TestAReportWithoutAWorkingDirectory(t *testing.T) {
	dir := written(t, nil)
	here := filepath.Join(filepath.Dir(dir), "gone")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	if err := os.Remove(here); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Dir(t.Context(), filepath.Join("..", filepath.Base(dir)), report.Options{}); !errors.Is(err, syscall.ENOENT) || errors.Is(err, store.ErrNoCrawl) {
		t.Error(err)
	}
}
