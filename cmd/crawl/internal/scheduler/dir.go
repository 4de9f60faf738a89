package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Dir is a series of crawls in a directory. It implements Series.
type Dir struct {
	series.Series
	Job func() (*schedule.Schedule, error) // reads the job file

	over  series.Snapshot // the last snapshot that was found to be over; no run changes it any more
	ended time.Time
	dead  error // why the newest snapshot (crawl) of the series cannot be continued

	missed missed
}

// missed is a summary of the file that records the missed runs of a series. The file may be
// long, so it is read again only if it has changed.
type missed struct {
	of          fs.FileInfo
	last, since time.Time
}

// Schedule implements Series.
func (d *Dir) Schedule() (*schedule.Schedule, error) { return d.Job() }

// Dead implements Series.
func (d *Dir) Dead() error { return d.dead }

// Ran implements Series. If the newest snapshot is damaged, or has a layout that cannot be
// read, it counts as ended, and Dead returns why. If its state cannot be read for another
// reason, it counts as not ended, so that its next run reports what is wrong.
func (d *Dir) Ran(now time.Time, child bool) (ran schedule.Ran, busy error, err error) {
	ran, busy, err = d.Known(child)
	if err == nil && ran.Last.IsZero() && ran.Since.IsZero() {
		err = d.NoteSince(now)
		ran.Since = now
	}
	return ran, busy, err
}

// Known is like Ran but changes no file.
func (d *Dir) Known(child bool) (ran schedule.Ran, busy error, err error) {
	if _, err := os.Stat(d.Dir); err != nil {
		return ran, nil, fmt.Errorf("the directory of the series cannot be read: %w", err)
	}
	snapshots, err := d.Snapshots()
	if err != nil {
		return ran, nil, err
	}
	if err := d.readMissed(); err != nil {
		return ran, nil, err
	}
	ran.Since, ran.Last = d.missed.since, d.missed.last
	d.dead = nil
	var last series.Snapshot
	if len(snapshots) > 0 {
		last = snapshots[len(snapshots)-1]
		ran.Last = later(ran.Last, last.Start)
	}
	if !child {
		busy = d.Free()
	}
	if ran.Going = child || busy != nil; !ran.Going && len(snapshots) > 0 {
		ran.Going, ran.Ended, busy = d.state(last)
	}
	return ran, busy, nil
}

func (d *Dir) readMissed() error {
	info, err := os.Stat(filepath.Join(d.Dir, series.MissedFile))
	if errors.Is(err, fs.ErrNotExist) {
		d.missed = missed{}
		return nil
	}
	if err != nil {
		return err
	}
	if is := d.missed.of; is != nil && os.SameFile(is, info) && is.Size() == info.Size() && is.ModTime().Equal(info.ModTime()) {
		return nil
	}
	all, since, err := d.Missed()
	if err != nil {
		return err
	}
	d.missed = missed{of: info, since: since}
	for _, m := range all {
		d.missed.last = later(d.missed.last, m.Due)
	}
	return nil
}

// state returns whether a run has to continue the newest snapshot and, if the snapshot is
// over, when it ended. No other process may be working on the series.
func (d *Dir) state(last series.Snapshot) (going bool, ended time.Time, busy error) {
	if last == d.over {
		return false, d.ended, nil
	}
	var damaged *store.DamagedError
	var version *store.VersionError
	switch state, err := last.State(); {
	case errors.As(err, &damaged), errors.As(err, &version):
		d.dead = err
		return false, time.Time{}, nil
	case err != nil:
		return true, time.Time{}, nil
	case state.Running:
		return true, time.Time{}, fmt.Errorf("another process is at work on %s: this one goes on when that ends", last.Dir)
	case state.Over:
		d.over, d.ended = last, state.Ended()
		return false, d.ended, nil
	}
	return true, time.Time{}, nil
}
