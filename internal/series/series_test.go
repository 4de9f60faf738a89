package series_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/series"
)

func TestSnapshotsAreReadFromTheirNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"20261127T030000Z.crawl", "20261120T030000Z.crawl", "20261120T0300Z.crawl", "20261320T030000Z.crawl", "job.crawl", "old"}
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "20261204T030000Z.crawl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := series.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Snapshots()
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v: two of the names are of snapshots", got, err)
	}
	for i, day := range []int{20, 27} {
		if want := time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC); !got[i].Start.Equal(want) || got[i].Dir != filepath.Join(dir, series.SnapshotName(want)) {
			t.Errorf("snapshot %d is %v, want that of %v", i, got[i], want)
		}
	}
}

func TestADirectoryWithoutSnapshotsIsNoSeries(t *testing.T) {
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "missing")} {
		if _, err := series.Open(dir); !errors.Is(err, series.ErrNoSeries) {
			t.Errorf("%s: %v, want ErrNoSeries", dir, err)
		}
	}
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := series.Open(file); err == nil || errors.Is(err, series.ErrNoSeries) {
		t.Errorf("a file: %v", err)
	}
}

func FuzzParseSnapshotName(f *testing.F) {
	f.Add("20261120T030000Z.crawl")
	f.Add("20261120T030060Z.crawl")
	f.Add("20261120T030000,5Z.crawl")
	f.Fuzz(func(t *testing.T, name string) {
		if start, ok := series.ParseSnapshotName(name); ok && series.SnapshotName(start) != name {
			t.Errorf("%q is read as %v, whose name is %q", name, start, series.SnapshotName(start))
		}
	})
}
