package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// If the committer fails, its error is returned to the callers that wait for room, and to every
// later caller.
func TestWhoeverWaitsForRoomIsToldWhyThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := state.Usual
		l.Queue = 1
		var stuck atomic.Bool
		dies := make(chan struct{})
		broken := errors.New("the disk is gone")
		db, err := Open(t.TempDir(), Options{NoPages: true, Gather: -1, limits: &l, disk: disk.Disk{Before: func(string) error {
			if stuck.Load() {
				<-dies
				return broken
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
		var told, safe atomic.Int64
		const workers = 6
		for range workers {
			go func() { // the goroutine ends when Submit returns the committer's error
				for range 100 {
					if err := db.Submit(frontier.Completion{}); err != nil {
						if errors.Is(err, broken) {
							told.Add(1)
						}
						return
					}
					safe.Add(1)
				}
			}()
		}
		synctest.Wait()
		if told.Load() > 0 || safe.Load() == 0 {
			t.Errorf("%d got the error, %d submitted, before the failure", told.Load(), safe.Load())
		}
		close(dies)
		synctest.Wait()
		if told.Load() != workers {
			t.Errorf("%d of %d got the error", told.Load(), workers)
		}
		if err := db.Submit(frontier.Completion{}); !errors.Is(err, broken) {
			t.Errorf("Submit: %v", err)
		}
		if g := <-db.Grown(); !errors.Is(g.Err, broken) {
			t.Errorf("%+v", g)
		}
		if err := db.Close(); !errors.Is(err, broken) {
			t.Errorf("Close: %v", err)
		}
	})
}

// No function reports a state file with another layout as damaged.
func TestAnotherLayoutIsNoDamage(t *testing.T) {
	for _, relative := range []int{-1, 1} {
		dir := filled(t)
		layout, err := setVersion(dir, relative)
		if err != nil {
			t.Fatal(err)
		}
		_, openErr := Open(dir, Options{})
		_, verifyErr := Check{}.Verify(t.Context(), dir)
		_, indexErr := MakeIndex(t.Context(), dir, nil)
		for what, err := range map[string]error{"Open": openErr, "Verify": verifyErr, "MakeIndex": indexErr} {
			var version *VersionError
			var damaged *DamagedError
			if !errors.As(err, &version) || version.Have != layout || errors.As(err, &damaged) {
				t.Errorf("%s of layout %d: %v", what, layout, err)
			}
		}
	}
}

// No function reports an error of the file system as damage.
func TestAFileThatCannotBeOpenedIsNoDamage(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, StateFile)
	if err := errors.Join(os.Remove(path), os.Symlink(StateFile, path)); err != nil {
		t.Skip(err)
	}
	_, err := OpenReader(dir)
	var damaged *DamagedError
	if err == nil || errors.As(err, &damaged) {
		t.Errorf("OpenReader: %v", err)
	}
}

// If making an index fails, no part of it is left.
func TestAnIndexThatFailsLeavesNothing(t *testing.T) {
	dir := filled(t)
	// Make a directory with the name of the file, so that the file cannot be made.
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, IndexFile+newSuffix, "x"), 0o755), os.Mkdir(filepath.Join(dir, ArchiveDir), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeIndex(t.Context(), dir, nil); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, indexPart+newSuffix)); err == nil {
		t.Error("a new index.part is there")
	}
}
