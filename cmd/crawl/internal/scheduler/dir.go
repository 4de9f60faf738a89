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
	"github.com/permesso-crawler/permesso/storage"
)

// A Dir is the series in a directory.
type Dir struct {
	series.Series
	Job func() (*schedule.Schedule, error) // reads the job file

	over  series.Snapshot // that was found to be over: it stays so
	ended time.Time
	dead  error // why the newest snapshot cannot be gone on with

	missed missed
}

// missed is what a file of missed runs comes to, which may be long: it is read again
// where it has changed.
type missed struct {
	of          fs.FileInfo
	last, since time.Time
}

// Schedule implements Series.
func (d *Dir) Schedule() (*schedule.Schedule, error) { return d.Job() }

// Dead implements Series.
func (d *Dir) Dead() error { return d.dead }

// Ran implements Series. A snapshot that is damaged, or of a layout that cannot be read, is
// Dead and counts as one that has ended. One whose state cannot be read for another reason
// counts as one that has not: its next run says what is wrong.
func (d *Dir) Ran(now time.Time, child bool) (ran schedule.Ran, busy error, err error) {
	ran, busy, err = d.Known(child)
	if err == nil && ran.Last.IsZero() && ran.Since.IsZero() {
		err = d.NoteSince(now)
		ran.Since = now
	}
	return ran, busy, err
}

// Known is Ran for who changes nothing.
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

// state is how far the newest snapshot is, on which nobody of the series is at work.
func (d *Dir) state(last series.Snapshot) (going bool, ended time.Time, busy error) {
	if last == d.over {
		return false, d.ended, nil
	}
	var damaged *storage.DamagedError
	var version *storage.VersionError
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
