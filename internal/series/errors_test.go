package series_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A time that JSON cannot represent is an error, and no file changes.
func TestATimeThatCannotBeWrittenIsAnError(t *testing.T) {
	s := series.Series{Dir: filepath.Join(t.TempDir(), "weekly")}
	job := jobOf("", "http://a.example/")
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := s.Begin(job, series.Moment{Now: monday, Due: late}); err == nil || !strings.Contains(err.Error(), "year outside of range") {
		t.Errorf("a run that is due in the year 10000: %v", err)
	}
	end(t, begin(t, s, job, series.Moment{Now: monday}))
	if _, err := s.Begin(job, series.Moment{Now: late}); err == nil || !strings.Contains(err.Error(), "year outside of range") {
		t.Errorf("a run in the year 10000: %v", err)
	}
	if err := s.NoteMissed(series.Missed{Due: late}, series.Missed{Due: monday}); err == nil {
		t.Error("a missed run of the year 10000 is noted")
	}
	if all, _, err := s.Missed(); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

// If the list of missed runs cannot be read, Missed fails.
func TestMissedRunsThatCannotBeRead(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.Dir, series.MissedFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Missed(); err == nil {
		t.Error("a directory is a list of missed runs")
	}
}

// If a directory has the name of the seeds file, ReadSeeds returns a *store.DamagedError.
func TestSeedsThatCannotBeRead(t *testing.T) {
	r := begin(t, series.Series{Dir: t.TempDir()}, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	path := filepath.Join(r.Dir, series.SeedsFile)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	var damaged *store.DamagedError
	if seeds, err := r.ReadSeeds(); !errors.As(err, &damaged) || damaged.Path != path {
		t.Errorf("%q, %v", seeds, err)
	}
}

// If the seeds of the previous snapshot cannot be read, Changed does not have the number of new
// seeds.
func TestSeedsThatAreDamagedAreNotCompared(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	r := begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	end(t, r)
	if err := os.Remove(filepath.Join(r.Dir, series.SeedsFile)); err != nil {
		t.Fatal(err)
	}
	r = begin(t, s, jobOf("", "http://b.example/"), series.Moment{Now: monday.Add(time.Hour), Fresh: true})
	if c := r.Changed; c == nil || c.Since == "" || c.SeedsAdded+c.SeedsRemoved > 0 {
		t.Errorf("%+v", c)
	}
}

// A continued snapshot keeps the previous snapshot with which it was begun, even if a later one
// has ended since. If that was removed, the newest one that is over takes its place.
func TestAContinuedSnapshotKeepsTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := series.Series{Dir: t.TempDir()}
		job := jobOf("", "http://a.example/")
		first := begin(t, s, job, series.Moment{Now: monday})
		crawlInto(t, first, job, 0)
		end(t, first)
		second := begin(t, s, job, series.Moment{Now: monday.Add(time.Hour)})
		end(t, second)
		third := begin(t, s, job, series.Moment{Now: monday.Add(2 * time.Hour), Fresh: true})
		end(t, third)
		crawlInto(t, second, job, 0)
		previous := func() string {
			t.Helper()
			r := begin(t, s, job, series.Moment{Now: monday.Add(3 * time.Hour)})
			if !r.Resumed || r.Dir != third.Dir {
				t.Errorf("%+v", r)
			}
			end(t, r)
			return r.Previous
		}
		if third.Previous != first.Dir || previous() != first.Dir {
			t.Errorf("it began with %s, and goes on with %s", third.Previous, previous())
		}
		if err := os.RemoveAll(first.Dir); err != nil {
			t.Fatal(err)
		}
		if got := previous(); got != second.Dir {
			t.Errorf("the one before is gone, and it goes on with %q", got)
		}
	})
}

// revisited makes two snapshots of the same pages, and returns the second. Its records refer to
// the first.
func revisited(t *testing.T) (last series.Snapshot) {
	t.Helper()
	s := series.Series{Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		job := jobOf("", "http://a.example/")
		job.Options.Output = nil // nil: the outputs are the default ones
		for range 2 {
			r := begin(t, s, job, series.Moment{Now: time.Now()})
			opts := *job.Options
			opts.Previous = r.Previous
			crawlInto(t, r, series.Job{Options: &opts}, 0)
			end(t, r)
			last = r.Snapshot
			time.Sleep(7 * 24 * time.Hour)
		}
	})
	return last
}

// If the index or a record of the archive cannot be read, RefersBehind fails.
func TestRevisitsThatCannotBeRead(t *testing.T) {
	r := revisited(t)
	path := filepath.Join(r.Dir, store.IndexFile)
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var revisit, other []byte // the offset of a record is the last part of its line
	offset := func(line []byte) []byte {
		_, rest, _ := bytes.Cut(line, []byte(`"offset":`))
		is, _, _ := bytes.Cut(rest, []byte(`,`))
		return is
	}
	for line := range bytes.Lines(index) {
		if bytes.Contains(line, []byte("warc/revisit")) {
			revisit = line
		} else {
			other = line
		}
	}
	for name, odd := range map[string]func() error{
		"no such date": func() error {
			return os.WriteFile(path, bytes.Replace(revisit, offset(revisit), offset(other), 1), 0o644)
		},
		"no record": func() error {
			return os.WriteFile(path, bytes.Replace(revisit, offset(revisit), []byte(`"1"`), 1), 0o644)
		},
		"a directory":       func() error { return os.Mkdir(path, 0o755) },
		"a link to nowhere": func() error { return os.Symlink(store.IndexFile, path) },
	} {
		if err := errors.Join(os.Remove(path), odd()); err != nil {
			t.Fatal(err)
		}
		if refers, err := r.RefersBehind(time.Now()); refers || err == nil || errors.Is(err, os.ErrInvalid) {
			t.Errorf("%s: %v, %v", name, refers, err)
		}
	}
}

// State says that a snapshot is running, and has begun, while a process has it open.
func TestASnapshotThatIsRunning(t *testing.T) {
	r := begin(t, series.Series{Dir: t.TempDir()}, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	db, err := store.Open(r.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := r.State(); !reflect.DeepEqual(state, series.State{Running: true, Begun: true}) || err != nil {
		t.Errorf("%+v, %v", state, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err := r.State(); !reflect.DeepEqual(state, series.State{}) || err != nil {
		t.Errorf("no run has begun in it: %+v, %v", state, err)
	}
}
