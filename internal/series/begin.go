package series

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/store"
)

// beingMade is the end of the name of a snapshot's directory until Begin has made it
// completely.
const beingMade = ".new"

// A Job is the job for which Begin makes a snapshot.
type Job struct {
	File    []byte           // contents of the job file
	Options *crawler.Options // settings and Seeds of the job; Begin does not change them
}

// A Moment says when a run begins, and for which time of the schedule.
type Moment struct {
	Now   time.Time // the current time, in whole seconds
	Due   time.Time // time of the run in the schedule, from which the snapshot gets its name; zero: Now
	Fresh bool      // make a new snapshot even if the last one is not over; otherwise continue the last one
}

// A Run is a snapshot that Begin has made or continues. Until Close, no other process can begin
// a run of the series.
type Run struct {
	Snapshot
	Seeds    []string // seeds of the snapshot, which may differ from those of the job
	Resumed  bool     // the run continues an existing snapshot
	Previous string   // directory of the newest earlier snapshot that is over (see State.Over); empty: no snapshot is
	Changed  *Changed // how the job differs from the job that has made this snapshot or, if that is new, the snapshot before it; nil: it does not

	lock *lock
}

// Close releases the series, so that another run can begin.
func (r *Run) Close() error { return outfile.Release(r.lock.file) }

// Undo closes a run that will not be started. It removes the snapshot, if Begin has made it and
// no other files were added to it.
func (r *Run) Undo() error {
	if r.Resumed {
		return r.lock.undo()
	}
	own := []string{FactsFile, JobFile, SeedsFile}
	entries, err := os.ReadDir(r.Dir)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(own, e.Name()) }) {
		return errors.Join(err, r.Close())
	}
	return errors.Join(os.RemoveAll(r.Dir), r.lock.undo())
}

// A DirError says why a directory cannot be a series.
type DirError struct{ Dir, Text string }

func (e *DirError) Error() string { return e.Dir + e.Text }

// A NameError says that Begin cannot make a snapshot for a run, because an existing snapshot
// has the same time or a later one.
type NameError struct {
	Snapshot // the existing snapshot, whose time is the same or later
	Due      time.Time
	Manual   bool // the time of the run is Moment.Now, because Moment.Due is zero
}

func (e *NameError) Error() string {
	due, newest := e.Due.Format(time.RFC3339), filepath.Base(e.Dir)
	switch {
	case e.Due.Equal(e.Start) && e.Manual:
		return fmt.Sprintf("%s was made in this very second, and is over: begin the next one a second later", e.Dir)
	case e.Due.Equal(e.Start):
		return fmt.Sprintf("the run of %s is over: %s has it", due, e.Dir)
	case e.Manual:
		return fmt.Sprintf("%s was made at a time that has not come yet, it is %s: set the clock, or wait until then", e.Dir, due)
	}
	return fmt.Sprintf("the run of %s cannot be made any more: %s, which came later, is there; snapshots are made in the order of their times", due, newest)
}

// Begin makes the next snapshot of the series. But if the last snapshot is not over (see
// State.Over) and at.Fresh is false, the Run continues that snapshot. A new snapshot is made
// completely, with its seeds, its job file and its Facts on disk, or not at all. Begin creates
// the directory of the series if it does not exist.
//
// The error is a *DirError, a *NameError, an *InUseError, an error of State or ReadSeeds about
// the last snapshot, or an error of the file system. Several goroutines and processes may call
// Begin at the same time. Only one of them gets the series; the others get an *InUseError.
func (s Series) Begin(job Job, at Moment) (r *Run, err error) {
	if err := s.checkPlace(); err != nil {
		return nil, err
	}
	lock, err := s.lock(at.Now)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.undo())
		}
	}()
	snapshots, err := s.Snapshots()
	if err != nil {
		return nil, err
	}
	r = &Run{lock: lock}
	if n := len(snapshots); n > 0 && !at.Fresh {
		last := snapshots[n-1]
		state, err := last.State()
		if err != nil {
			return nil, err
		}
		if !state.Over {
			return r, r.goOn(last, snapshots[:n-1], job, at)
		}
	}
	return r, s.make(r, snapshots, job, at)
}

// goOn sets r to continue the snapshot last, which is not over. before has the older snapshots.
func (r *Run) goOn(last Snapshot, before []Snapshot, job Job, at Moment) (err error) {
	r.Snapshot, r.Resumed = last, true
	switch r.Seeds, err = last.ReadSeeds(); {
	case errors.Is(err, fs.ErrNotExist): // the crawl was not made by Begin, but copied here under the name of a snapshot
		r.Seeds = job.Options.Seeds
	case err != nil:
		return err
	}
	if over, ok := LastOver(before); ok {
		r.Previous = over.Dir
	}
	if facts, err := last.ReadFacts(); err == nil && facts.Previous != "" {
		// The previous snapshot is still the one with which this snapshot was begun. A snapshot
		// that has ended since may have newer answers, so it is not used.
		if was := filepath.Join(filepath.Dir(last.Dir), facts.Previous); isDir(was) {
			r.Previous = was
		}
	}
	r.Changed = job.changed(job.facts(last.Start, at.Now), last)
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// make makes a new snapshot for the run r. snapshots has all existing snapshots.
func (s Series) make(r *Run, snapshots []Snapshot, job Job, at Moment) error {
	due, manual := at.Due, at.Due.IsZero()
	if manual {
		due = at.Now
	}
	due = due.UTC().Truncate(time.Second)
	r.Snapshot, r.Seeds = Snapshot{Dir: filepath.Join(s.Dir, SnapshotName(due)), Start: due}, job.Options.Seeds
	facts := job.facts(due, at.Now)
	if n := len(snapshots); n > 0 {
		last := snapshots[n-1]
		if !due.After(last.Start) {
			return &NameError{last, due, manual}
		}
		r.Changed = job.changed(facts, last)
		facts.Changed = r.Changed
	}
	if over, ok := LastOver(snapshots); ok {
		r.Previous, facts.Previous = over.Dir, filepath.Base(over.Dir)
	}
	return s.write(r.Snapshot, facts, job)
}

// write makes the directory of a snapshot under a temporary name, and then renames it.
func (s Series) write(n Snapshot, facts Facts, job Job) error {
	raw, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		return err
	}
	if err := s.clear(); err != nil {
		return err
	}
	whole := n.Dir + beingMade
	if err := os.Mkdir(whole, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{SeedsFile: seedsText(job.Options.Seeds), JobFile: job.File, FactsFile: append(raw, '\n')} {
		if err := s.writeFile(filepath.Join(whole, name), content); err != nil {
			return err
		}
	}
	if err := s.syncDir(whole); err != nil {
		return err
	}
	if err := os.Rename(whole, n.Dir); err != nil {
		return err
	}
	return s.syncDir(s.Dir)
}

// clear removes incomplete snapshots that a killed process has left. They have no crawl.
func (s Series) clear() error {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		name, left := strings.CutSuffix(e.Name(), beingMade)
		if _, ok := ParseSnapshotName(name); ok && left {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

// writeFile creates a file with the given content, and syncs it.
func (s Series) writeFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = s.sync(path, f.Sync)
	}
	return errors.Join(err, f.Close())
}

// checkPlace returns an error if the directory has files that do not belong to a series, so
// that snapshots are not mixed with other files.
func (s Series) checkPlace() error {
	if info, err := os.Stat(s.Dir); err == nil && !info.IsDir() {
		return &DirError{s.Dir, " is a file: a series is a directory"}
	}
	entries, _ := os.ReadDir(s.Dir) // ignore the error, because a later step of Begin returns it, too
	ours, other := false, ""
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), beingMade)
		_, snapshot := ParseSnapshotName(name)
		switch {
		case e.Name() == store.StateFile:
			return &DirError{s.Dir, " is a crawl, and no series: name a directory for all snapshots"}
		case snapshot, e.Name() == JobFile, e.Name() == MissedFile, e.Name() == LockFile:
			ours = true
		default:
			other = e.Name()
		}
	}
	if !ours && other != "" {
		return &DirError{s.Dir, fmt.Sprintf(" is not a series: it has %s in it, and neither snapshots nor a %s: name a directory that is new or empty, or put the job file into it as %s", other, JobFile, JobFile)}
	}
	return nil
}
