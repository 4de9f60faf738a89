package diff_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/permesso-crawler/permesso/internal/diff"
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

// Compare closes all files and sorters, also if it fails.
func TestFilesOfAComparisonAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	for _, dirs := range changed(t) {
		for n, calls := 1, 1; n <= calls+1; n++ {
			calls = 0
			open := 0
			o := diff.Options{}
			o.Hook(func() error {
				if calls++; calls == n {
					return errors.New("no disk")
				}
				return nil
			}, same)
			o.Count(&open)
			before := openFiles(t)
			_, err := diff.Compare(t.Context(), dirs[0], dirs[1], o)
			if after := openFiles(t); after != before || open != 0 {
				t.Errorf("call %d, %v: %d files and %d sorts are open, and %d files before", n, err, after, open, before)
			}
		}
		path := filepath.Join(dirs[1], store.StateFile)
		spoil(t, dirs[1], 2*4096, 1<<15)
		before := openFiles(t)
		if _, err := diff.Compare(t.Context(), dirs[0], dirs[1], diff.Options{}); err == nil {
			t.Errorf("%s is not damaged", path)
		}
		if after := openFiles(t); after != before {
			t.Errorf("damaged: %d files are open, and %d before", after, before)
		}
	}
}
