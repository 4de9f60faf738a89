package crawllog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// If a line cannot be written, no later line is written, even if there is room again: it would
// follow an incomplete line. Sync fails, so the request of the failed line is not acknowledged.
func TestNothingIsWrittenBehindALineThatFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.log")
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	line := &Line{Time: time.Unix(0, 0), Size: -1, URL: RunURL}
	if err := errors.Join(w.Write(line), w.Sync((*os.File).Sync)); err != nil {
		t.Fatal(err)
	}
	before := w.Size()
	good, err := os.Open(path) // a file opened for reading, to which no line can be written
	if err != nil {
		t.Fatal(err)
	}
	w.file, good = good, w.file
	failed := w.Write(line)
	if failed == nil {
		t.Fatal("a line was written to a file that cannot be written to")
	}
	w.file, good = good, w.file
	if err := w.Write(line); !errors.Is(err, failed) {
		t.Errorf("Write afterwards: %v", err)
	}
	synced := false
	if err := w.Sync(func(*os.File) error { synced = true; return nil }); !errors.Is(err, failed) || synced {
		t.Errorf("Sync afterwards: %v, it was synced: %t", err, synced)
	}
	if err := w.Close(); !errors.Is(err, failed) {
		t.Errorf("Close: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != before || good.Close() != nil {
		t.Errorf("%v, %v", info, err)
	}
}
