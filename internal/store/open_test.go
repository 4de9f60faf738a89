package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"go.etcd.io/bbolt"
)

// If the disk was full when a crawl was created, Open creates it again when there is room.
func TestAStateFileThatWasNeverWhole(t *testing.T) {
	for size := 0; size < 4*os.Getpagesize(); size += os.Getpagesize() / 2 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, StateFile), bytes.Repeat([]byte{0}, size), 0o644); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if _, err := (Check{}).Verify(t.Context(), dir); err == nil || errors.As(err, &damaged) {
			t.Errorf("%d bytes: Verify says %v", size, err)
		}
		if err := open(t, dir).Close(); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		verified(t, dir)
	}
}

// Open takes a state file without buckets for a new crawl, but only if there are no outputs
// beside it.
func TestAStateWithoutBucketsTakesNoOutputs(t *testing.T) {
	dir := t.TempDir()
	b, err := bbolt.Open(filepath.Join(dir, StateFile), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	pages := filepath.Join(dir, PagesFile)
	if err := os.WriteFile(pages, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := Open(dir, Options{}); !errors.As(err, &damaged) || damaged.Path != pages {
		t.Errorf("%v, want a *DamagedError of %s", err, pages)
	}
	if raw, err := os.ReadFile(pages); err != nil || len(raw) != 3 {
		t.Errorf("%q, %v", raw, err)
	}
	if err := os.Remove(pages); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Error(err)
	}
}

// If outputs are beside an empty state file, Open and Verify report that the state was lost.
func TestOutputsWithoutTheirStateAreNotVerified(t *testing.T) {
	for size, want := range map[int]string{-1: PagesFile, 0: PagesFile, 1: StateFile, 4096: StateFile} {
		dir := t.TempDir()
		err := os.WriteFile(filepath.Join(dir, PagesFile), []byte("{}\n"), 0o644)
		if size >= 0 {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, StateFile), make([]byte, size), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if _, err := Verify(t.Context(), dir, func(err error) { t.Errorf("%d bytes: %v", size, err) }); !errors.As(err, &damaged) || damaged.Path != filepath.Join(dir, want) {
			t.Errorf("a state of %d bytes: %v, want a *DamagedError of %s", size, err, want)
		}
		if err := os.Remove(filepath.Join(dir, PagesFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir, nil); !errors.Is(err, ErrNoCrawl) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a state of %d bytes alone: %v", size, err)
		}
	}
}

// If Open cannot create a crawl in a directory, its error says why.
func TestACrawlWantsADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, StateFile), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "x"), taken} {
		if db, err := Open(dir, Options{}); err == nil || db != nil || !strings.Contains(err.Error(), filepath.Dir(dir)) {
			t.Errorf("%s: %v, %v", dir, db, err)
		}
	}
	deep := filepath.Join(t.TempDir(), "a", "b")
	db := open(t, deep)
	if db.Dir() != deep {
		t.Errorf("the directory is %s, want %s", db.Dir(), deep)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Hasten makes calls return that wait for room.
func TestHastenLetsGoWhoWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := state.Usual
		l.Queue = 1
		var stuck atomic.Bool
		gone := make(chan struct{})
		db, err := Open(t.TempDir(), Options{NoPages: true, Gather: -1, limits: &l, disk: disk.Disk{Before: func(string) error {
			if stuck.Load() {
				<-gone
			}
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Log().Write(&crawllog.Line{URL: "http://a.example/"}); err != nil { // so that the commit has something to sync
			t.Fatal(err)
		}
		stuck.Store(true)
		var given atomic.Int64
		const workers = 6
		for range workers {
			go func() { // the goroutine ends after Hasten
				if err := db.Submit(frontier.Completion{}); err != nil {
					t.Error(err)
				}
				given.Add(1)
			}()
		}
		synctest.Wait()
		if n := given.Load(); n == workers {
			t.Errorf("%d have found room for one", n)
		}
		db.Hasten()
		synctest.Wait()
		if n := given.Load(); n != workers {
			t.Errorf("%d of %d were let go", n, workers)
		}
		stuck.Store(false)
		close(gone)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
