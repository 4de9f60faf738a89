package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	stampLayout = "20060102T150405Z" // ISO 8601, basic format, in UTC
	snapshotEnd = ".crawl"
)

// A Series is a directory of snapshots of one job.
type Series struct {
	Dir string

	syncing func(path string) error // called before each sync, in tests; an error of it makes the sync fail; nil: not called
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

// syncDir syncs a directory, so that a power cut does not lose names in it.
func (s Series) syncDir(path string) error {
	return s.sync(path, func() error { return store.SyncDir(path) })
}

// A Snapshot is one crawl of a series.
type Snapshot struct {
	Dir   string
	Start time.Time // time in the name of the snapshot, in UTC and whole seconds: the time of its run in the schedule, or when the run began
}

// ErrNoSeries is returned for a directory without snapshots.
var ErrNoSeries = errors.New("there is no snapshot in it")

// Open opens the series in a directory. It returns ErrNoSeries if the directory has no
// snapshot, or an error of the file system if the directory cannot be read.
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

// Snapshots returns the snapshots, beginning with the oldest. It ignores files, and directories
// with other names. A directory that does not exist has no snapshots.
func (s Series) Snapshots() ([]Snapshot, error) {
	entries, err := os.ReadDir(s.Dir) // the names are sorted, and so the times
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

// SnapshotName returns the name of the snapshot with the given Start. The name has whole
// seconds in UTC, so sorting the names sorts the times.
func SnapshotName(start time.Time) string {
	return start.UTC().Format(stampLayout) + snapshotEnd
}

// ParseSnapshotName returns the Start of the snapshot with the given name. ok is false if name
// is not a result of SnapshotName.
func ParseSnapshotName(name string) (start time.Time, ok bool) {
	stamp, found := strings.CutSuffix(name, snapshotEnd)
	start, err := time.Parse(stampLayout, stamp)
	return start, found && err == nil && SnapshotName(start) == name
}
