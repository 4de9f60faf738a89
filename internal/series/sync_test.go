package series

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
)

// Each file of a snapshot is on disk before the snapshot gets its name, and the names are on
// disk before Begin returns. If the disk fails, no incomplete snapshot is left.
func TestASnapshotIsSyncedBeforeItHasItsName(t *testing.T) {
	job := Job{File: []byte("a: b"), Options: &crawler.Options{Seeds: []string{"http://a.example/"}}}
	at := Moment{Now: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)}
	var synced []string
	s := Series{Dir: filepath.Join(t.TempDir(), "weekly")}
	s.syncing = func(path string) error {
		if raw, err := os.ReadFile(path); err == nil && len(raw) == 0 {
			t.Errorf("%s is synced before it is written", path)
		}
		all, err := s.Snapshots()
		synced = append(synced, fmt.Sprintf("%s, %d snapshots, %v", filepath.Base(path), len(all), err))
		return nil
	}
	r, err := s.Begin(job, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(synced[:3])
	if diff := cmp.Diff([]string{
		"job.yaml, 0 snapshots, <nil>", "seeds.txt, 0 snapshots, <nil>", "snapshot.json, 0 snapshots, <nil>",
		"20261123T030000Z.crawl.new, 0 snapshots, <nil>", "weekly, 1 snapshots, <nil>",
	}, synced); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{JobFile, SeedsFile, FactsFile, "20261123T030000Z.crawl.new", "weekly"} {
		s := failingAt(t, name)
		if _, err := s.Begin(job, at); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", name, err)
		}
		if all, err := s.Snapshots(); err != nil || len(all) > 0 != (name == "weekly") {
			t.Errorf("%s cannot be synced: %v, %v", name, all, err)
		}
		if err := s.Free(); err != nil {
			t.Errorf("%s cannot be synced: %v", name, err)
		}
	}
}

var errDisk = errors.New("the disk fails")

// failingAt returns a series that cannot sync the file or directory with this name.
func failingAt(t *testing.T, name string) Series {
	return Series{Dir: filepath.Join(t.TempDir(), "weekly"), syncing: func(path string) error {
		if filepath.Base(path) == name {
			return errDisk
		}
		return nil
	}}
}

// If Begin fails and cannot undo what it has done, it returns both errors.
func TestABeginningThatCannotBeUndone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no open file is removed")
	}
	s := Series{Dir: filepath.Join(t.TempDir(), "weekly")}
	s.syncing = func(string) error { return errors.Join(errDisk, os.RemoveAll(filepath.Join(s.Dir, LockFile))) }
	_, err := s.Begin(Job{Options: &crawler.Options{}}, Moment{Now: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)})
	if !errors.Is(err, errDisk) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// If a missed run cannot be synced, NoteMissed fails.
func TestMissedRunsAreSynced(t *testing.T) {
	for _, name := range []string{MissedFile, "weekly"} {
		s := failingAt(t, name)
		if err := os.Mkdir(s.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := s.NoteSince(time.Now()); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// named returns true only for the path of the locked file. It returns false for the path of
// another file, for a missing path, and after the file was closed.
func TestALockHasItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, LockFile), filepath.Join(dir, "other")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &lock{file: f}
	if !l.named(path) || l.named(other) || l.named(filepath.Join(dir, "missing")) {
		t.Errorf("%v, and that of another file %v, and of none %v", l.named(path), l.named(other), l.named(filepath.Join(dir, "missing")))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if l.named(path) {
		t.Error("a file that is closed has its name")
	}
}

// The names of the reasons for missed runs never change.
func TestReasonsOfMissedRunsKeepTheirNames(t *testing.T) {
	t.Parallel()
	if got := [...]string{WhyOff, WhyOverlap, WhyFailed}; got != [...]string{"off", "overlap", "failed"} {
		t.Errorf("%q", got)
	}
}
