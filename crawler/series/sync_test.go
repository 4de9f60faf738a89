package series

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

// Each file of a snapshot is on disk before the snapshot has its name, and a disk that
// fails leaves none.
func TestASnapshotIsSyncedBeforeItHasItsName(t *testing.T) {
	job := Job{File: []byte("a: b"), Options: &crawler.Options{Seeds: []string{"http://a.example/"}}}
	at := Moment{Now: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)}
	var synced []string
	s := Series{Dir: t.TempDir()}
	s.sync = func(f *os.File) error {
		if raw, err := os.ReadFile(f.Name()); err != nil || len(raw) == 0 {
			t.Errorf("%s is synced before it is written: %v", f.Name(), err)
		}
		if all, err := s.Snapshots(); err != nil || len(all) > 0 {
			t.Errorf("%s is synced after its snapshot has its name: %v", f.Name(), err)
		}
		synced = append(synced, filepath.Base(f.Name()))
		return f.Sync()
	}
	r, err := s.Begin(job, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(synced)
	if want := []string{JobFile, SeedsFile, FactsFile}; !slices.Equal(synced, slices.Sorted(slices.Values(want))) {
		t.Errorf("synced are %v, want %v", synced, want)
	}
	for _, name := range synced {
		failing := errors.New("the disk fails")
		s := Series{Dir: t.TempDir(), sync: func(f *os.File) error {
			if filepath.Base(f.Name()) == name {
				return failing
			}
			return f.Sync()
		}}
		if _, err := s.Begin(job, at); !errors.Is(err, failing) {
			t.Errorf("%s: %v", name, err)
		}
		if all, err := s.Snapshots(); err != nil || len(all) > 0 {
			t.Errorf("%s cannot be synced: %v, %v", name, all, err)
		}
	}
}
