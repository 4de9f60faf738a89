package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/storage"
)

const (
	stampLayout = "20060102T150405Z" // ISO 8601, basic format, in UTC
	snapshotEnd = ".crawl"
)

// A Series is a directory of snapshots of one job.
type Series struct {
	Dir string

	syncing func(path string) error // in tests, called before each sync, which fails with its error; nil: none
}

// sync syncs a file or a directory.
func (s Series) sync(path string, sync func() error) error {
	if s.syncing != nil {
		if err := s.syncing(path); err != nil {
			return err
		}
	}
	return sync()
}

// syncDir makes sure that the names in a directory outlast a power cut.
func (s Series) syncDir(path string) error {
	return s.sync(path, func() error { return storage.SyncDir(path) })
}

// A Snapshot is one crawl of a series.
type Snapshot struct {
	Dir   string
	Start time.Time // of its run, in UTC and whole seconds: its name
}

// ErrNoSeries is of a directory that has no snapshot.
var ErrNoSeries = errors.New("there is no snapshot in it")

// Open finds the series in a directory. The error is ErrNoSeries where the directory
// has no snapshot, and one of the system where it cannot be read.
func Open(dir string) (Series, error) {
	s := Series{Dir: dir}
	snapshots, err := s.Snapshots()
	if err != nil {
		return s, err
	}
	if len(snapshots) == 0 {
		return s, fmt.Errorf("%s: %w", dir, ErrNoSeries)
	}
	return s, nil
}

// Snapshots lists the snapshots, the oldest first. What has no name of a snapshot is
// left out, and so is a file of such a name. A directory that does not exist yet has
// none.
func (s Series) Snapshots() ([]Snapshot, error) {
	entries, err := os.ReadDir(s.Dir) // by name, which is by time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Snapshot
	for _, e := range entries {
		if start, ok := ParseSnapshotName(e.Name()); ok && e.IsDir() {
			all = append(all, Snapshot{Dir: filepath.Join(s.Dir, e.Name()), Start: start})
		}
	}
	return all, nil
}

// SnapshotName is the name of the snapshot of a run that began at start: whole seconds,
// in UTC, so that names sort as times do.
func SnapshotName(start time.Time) string {
	return start.UTC().Format(stampLayout) + snapshotEnd
}

// ParseSnapshotName is when the run of a snapshot of this name began; ok is false for
// any name that SnapshotName does not make.
func ParseSnapshotName(name string) (start time.Time, ok bool) {
	stamp, found := strings.CutSuffix(name, snapshotEnd)
	start, err := time.Parse(stampLayout, stamp)
	return start, found && err == nil && SnapshotName(start) == name
}
