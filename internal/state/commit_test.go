package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/disk"
	"go.etcd.io/bbolt"
)

// A watched is an Outputs whose files grow with each flush. It records the calls of its
// methods.
type watched struct {
	length   int64
	full     []string // Moment.Full of the next flush
	flushErr error
	finish   error
	finished []string
	end      End
}

func (w *watched) Flush() (Moment, error) {
	w.length++
	m := Moment{Marks: Marks{"grows": {Length: w.length}}, Full: w.full}
	for _, name := range w.full {
		m.Marks[name] = Mark{Length: 7}
	}
	w.full = nil
	return m, w.flushErr
}

func (w *watched) Finish(names []string) error {
	w.finished = append(w.finished, names...)
	return w.finish
}

func (w *watched) Close(end End) (Last, error) {
	w.end = end
	return Last{Growing: end.Committed}, nil
}

// Outputs.Close gets an End that says how the commits have ended. It decides which bytes may be
// truncated.
func TestTheOutputsAreToldHowCommitsEnded(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		spoil   func(w *watched, fault *error)
		lasting bool // the fault also affects the attempt to commit again
		want    error
		unknown bool
		length  int64 // expected committed length of the output
	}{
		"well":                  {func(*watched, *error) {}, false, nil, false, 3},
		"a commit is made once": {func(_ *watched, fault *error) { *fault = syscall.EIO }, false, nil, false, 3},
		"no commit":             {func(_ *watched, fault *error) { *fault = syscall.EIO }, true, nil, false, 3},
		"a full disk":           {func(_ *watched, fault *error) { *fault = syscall.ENOSPC }, true, syscall.ENOSPC, false, 1},
		"no flush":              {func(w *watched, _ *error) { w.flushErr = broken }, false, broken, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var fault error
			db, err := Open(dir, Options{Gather: -1, Fault: func(err error) error {
				err = errors.Join(err, fault)
				if !c.lasting {
					fault = nil
				}
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
			w := &watched{}
			if err := db.Begin(w, Marks{}, nil); err != nil {
				t.Fatal(err)
			}
			submitted(t, db, frontier.Completion{})
			c.spoil(w, &fault)
			if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/")}}); err != nil {
				t.Fatal(err)
			}
			g := <-db.Grown()
			if !errors.Is(g.Err, c.want) || (g.Err == nil) != (c.want == nil) {
				t.Errorf("Grown: %v, want %v", g.Err, c.want)
			}
			if c.want != nil {
				if err := db.Put("key", 1); !errors.Is(err, c.want) {
					t.Errorf("Put: %v, want %v", err, c.want)
				}
			}
			if c.want == nil && (g.Settled != 1 || len(g.Sites) != 1 || g.Sites[0].Queued != 1 || !g.Sites[0].Ready) {
				t.Errorf("%+v is reported for a new site", g)
			}
			if err := db.Close(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Close: %v, want %v", err, c.want)
			}
			if w.end.Unknown != c.unknown || w.end.Failed != (c.want != nil) || w.end.Committed["grows"].Length != c.length {
				t.Errorf("%+v, want %d bytes, unknown %v", w.end, c.length, c.unknown)
			}
			if run, err := ReadRun(dir); c.want != nil && (err != nil || run.Full != (c.want == syscall.ENOSPC) || run.PID != os.Getpid()) {
				t.Errorf("%s says %+v, %v", RunFile, run, err)
			}
			if done := checked(t, dir); done.Unclean != (c.want != nil) || c.want != syscall.ENOSPC && done.Growing["grows"].Length != c.length {
				t.Errorf("%+v", done)
			}
		})
	}
}

// SyncDelay is added to each of the two syncs of a commit.
func TestEachSyncTakesAsMuchLonger(t *testing.T) {
	for _, delay := range []time.Duration{0, -time.Second, time.Nanosecond, time.Second} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			db, err := start(dir, Options{Gather: -1, SyncDelay: delay})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			submitted(t, db, frontier.Completion{})
			if took := time.Since(begun); took != max(0, 2*delay) {
				t.Errorf("a commit with syncs of %v more takes %v", delay, took)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// After the mark of a full output is committed, Finish is called with its name, and the output
// no longer grows.
func TestFullOutputsAreFinished(t *testing.T) {
	for name, finish := range map[string]error{"well": nil, "not": errors.New("no rename")} {
		dir := t.TempDir()
		db, err := Open(dir, Options{Gather: -1})
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{full: []string{"one", "two"}, finish: finish}
		if err := db.Begin(w, Marks{"kept": {Length: 4}}, Marks{"old": {Length: 5}}); err != nil {
			t.Fatal(err)
		}
		if err := db.Submit(frontier.Completion{}); err != nil {
			t.Fatal(err)
		}
		if g := <-db.Grown(); g.Settled != 1 {
			t.Errorf("%s: %+v", name, g)
		}
		if finish != nil {
			if g := <-db.Grown(); !errors.Is(g.Err, finish) {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if err := db.Close(); !errors.Is(err, finish) || (err == nil) != (finish == nil) {
			t.Errorf("%s: Close: %v", name, err)
		}
		if !slices.Equal(w.finished, []string{"one", "two"}) {
			t.Errorf("%s: finished are %v", name, w.finished)
		}
		want := Marks{"old": {Length: 5}, "one": {Length: 7}, "two": {Length: 7}}
		done := checked(t, dir)
		if !maps.Equal(done.Finished, want) || done.Growing["kept"].Length != 4 {
			t.Errorf("%s: %+v", name, done)
		}
		if _, ok := done.Growing["one"]; finish == nil && ok {
			t.Errorf("%s: a finished output grows: %+v", name, done.Growing)
		}
	}
}

// If a sync of the disk fails, Open or Begin returns its error, and a later Open succeeds.
func TestADiskThatDoesNotSync(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		base  string // base name of the path whose sync fails; empty: the directory
		begun bool   // the sync fails only after Begin
	}{"run.json": {RunFile + ".new", false}, "directory": {"", false}, "directory at the end": {"", true}} {
		dir := filled(t)
		armed := !c.begun
		db, err := Open(dir, Options{Gather: -1, Disk: disk.Disk{Before: func(path string) error {
			if armed && (path == dir && c.base == "" || filepath.Base(path) == c.base) {
				return broken
			}
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Begin(none{}, db.Marks(), nil)
		if !c.begun {
			if !errors.Is(err, broken) {
				t.Errorf("%s: Begin: %v", name, err)
			}
			if err := db.Abandon(); err != nil {
				t.Error(err)
			}
			if done := checked(t, dir); done.Unclean {
				t.Errorf("%s: a run that did not begin has not ended", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		if err := db.Close(); !errors.Is(err, broken) {
			t.Errorf("%s: Close: %v", name, err)
		}
		if done := checked(t, dir); done.Unclean {
			t.Errorf("%s: %+v", name, done)
		}
	}
}

// If run.json cannot be written, Begin fails. If run.json is missing at the end, or cannot be
// removed, Close succeeds.
func TestRunFiles(t *testing.T) {
	for _, name := range []string{RunFile, RunFile + ".new"} {
		dir := filled(t)
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := start(dir, Options{Gather: -1}); err == nil {
			t.Errorf("%s is a directory, and a run begins", name)
		}
	}
	for _, kept := range []bool{false, true} {
		dir := filled(t)
		db := open(t, dir)
		path := filepath.Join(dir, RunFile)
		err := os.Remove(path)
		if kept {
			err = errors.Join(err, os.MkdirAll(filepath.Join(path, "x"), 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); (err != nil) != kept {
			t.Errorf("run.json is a directory: %v; Close: %v", kept, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RunFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := ReadRun(dir); !errors.As(err, &damaged) || filepath.Base(damaged.Path) != RunFile {
		t.Errorf("ReadRun: %v", err)
	}
}

func rowsIn(t *testing.T, dir string, bucket []byte) (n int) {
	t.Helper()
	b, err := bbolt.Open(filepath.Join(dir, File), 0o644, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.View(func(tx *bbolt.Tx) error {
		each(tx.Bucket(bucket), func(_, _ []byte) { n++ })
		return nil
	})
	return n
}

// A full queue makes the committer commit at once. The queue has room again before that commit
// ends.
func TestAFullQueueHurriesTheCommitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Usual.with(Bounds{Links: 4})
		db, err := start(t.TempDir(), Options{Gather: time.Hour, Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i := range 3 { // three completions with two links each
			if put, _ := db.Pending(); put != i {
				t.Errorf("%d wait, want %d", put, i)
			}
			links := []frontier.Entry{entry(t, fmt.Sprintf("http://a.example/%d", i)), entry(t, fmt.Sprintf("http://b.example/%d", i))}
			if err := db.Submit(frontier.Completion{Links: links}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if !time.Now().Equal(began) {
			t.Errorf("a full queue makes its callers wait for %v", time.Since(began))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// If much is pending in the journal, it is merged when the committer has nothing else to do,
// and not by the commit that adds it. But at the beginning of a run it is merged at once,
// because the frontier has nothing else to read.
func TestMuchIsMergedInQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := start(t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for round, want := range []int{0, 2 * Usual.SmallPending} {
			var links []frontier.Entry
			for i := range 2 * Usual.SmallPending {
				links = append(links, entry(t, fmt.Sprintf("http://a.example/%d/%d", round, i)))
			}
			if err := db.Submit(frontier.Completion{Links: links}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(21 * time.Millisecond)
			synctest.Wait()
			if put, kept := db.Pending(); put != 0 || kept != want {
				t.Errorf("%d wait, %d are kept, want %d", put, kept, want)
			}
			time.Sleep(idle)
			synctest.Wait()
			if put, kept := db.Pending(); put != 0 || kept != 0 {
				t.Errorf("%d wait, %d are kept in quiet", put, kept)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A WARC file has one number in the state, however many entries name it.
func TestAnArchiveIsNamedOnce(t *testing.T) {
	dir := rich(t)
	for range 2 {
		db := open(t, dir)
		e := readAll(t, db, richSite)[0]
		submitted(t, db, frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched, Answer: frontier.Place{File: richAnswer, Offset: 8}}})
		fate, ok, err := fateFor(db, e.URL)
		if !ok || err != nil || fate.Answer != (frontier.Place{File: richAnswer, Offset: 8}) {
			t.Errorf("%+v, %v, %v", fate, ok, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := rowsIn(t, dir, bucketArchives); n != 1 {
		t.Errorf("it has %d numbers", n)
	}
}

// The memory of a row of the journal is large enough for all completions that are added to it,
// so it is never moved.
func TestARowStaysWhereItIs(t *testing.T) {
	for _, size := range []int{1, 64, 300} {
		b := rowsBuilder{size: size}
		for n := range 3 * size {
			rows := len(b.rows)
			var last []byte
			if rows > 0 {
				last = b.rows[rows-1]
			}
			b.add(&encoded{raw: bytes.Repeat([]byte{byte(n)}, n%(size+3))})
			if len(b.rows) == rows && &b.rows[rows-1][0] != &last[0] {
				t.Fatalf("with rows of %d bytes, one of %d moved when %d came", size, len(last), n%(size+3))
			}
			if n%7 == 0 {
				b.reuse(b.rows)
				b.rows = nil
			}
		}
	}
}

// Sync waits for the commits of what was put before. After a failed commit it returns the error.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		w := &watched{}
		db, err := Open(t.TempDir(), Options{SyncDelay: time.Second})
		if err == nil {
			err = db.Begin(w, Marks{}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Sync(t.Context()), db.Put("a", 1)); err != nil {
			t.Error(err)
		}
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second, broken)
		defer cancel()
		if err := db.Sync(short); err != broken {
			t.Errorf("Sync while a commit takes two seconds: %v", err)
		}
		if err := db.Sync(t.Context()); err != nil { // the commit is under way
			t.Error(err)
		}
		if put, _ := db.Pending(); put > 0 {
			t.Errorf("after Sync %d operations are not committed", put)
		}
		w.flushErr = broken
		if err := db.Put("b", 1); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := db.Sync(t.Context()); !errors.Is(err, broken) {
				t.Errorf("Sync after a failed commit: %v", err)
			}
		}
		if err := db.Close(); !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}
