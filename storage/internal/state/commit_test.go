package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// watched are outputs that grow with each flush and keep what they are told.
type watched struct {
	length   int64
	full     []string // of the next flush
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

// How a run has ended decides what of its outputs may be cut.
func TestTheOutputsAreToldHowCommitsEnded(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		spoil   func(w *watched, fault *error)
		lasting bool // the fault stays
		want    error
		unknown bool
		length  int64 // of what is committed
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
			if c.want == nil && (g.Settled != 1 || len(g.Sites) != 1 || g.Sites[0].Queued != 1 || !g.Sites[0].Ready) {
				t.Errorf("%+v is told of a new site", g)
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

// A disk that is said to be slower is waited for at each of the two syncs of a commit.
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

// What was full is finished once its mark is committed, and grows no more.
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
			t.Errorf("%s: what is finished grows: %+v", name, done.Growing)
		}
	}
}

// A disk that refuses to sync is told as what it is, and leaves a crawl that can be
// opened.
func TestADiskThatDoesNotSync(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		base  string // of the path whose sync fails; empty: the directory
		begun bool   // only once the run has begun
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

// Where run.json cannot be written there is no run, and where it is gone already, or
// cannot be removed, the run has ended all the same.
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

// A gate is a Log that lets no group through while it is shut, but one for each that
// is let go.
type gate struct {
	shut  atomic.Bool
	letGo chan struct{}
	last  uint64
}

func (g *gate) Append(uint64, []byte) (uint64, error) {
	if g.shut.Load() {
		<-g.letGo
	}
	g.last++
	return g.last, nil
}

// gated opens a state behind a gate that is shut.
func gated(t *testing.T, l Limits) (*DB, *gate) {
	t.Helper()
	g := &gate{letGo: make(chan struct{})}
	db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed, Limits: &l, Log: g})
	if err != nil {
		t.Fatal(err)
	}
	g.shut.Store(true)
	return db, g
}

// As much waits for a commit as the bounds permit, and as much again for the next one.
func TestAsMuchWaitsAsTheBoundsPermit(t *testing.T) {
	c := frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/1"), entry(t, "http://b.example/1")}}
	size := len((&DB{cache: newKnownCache(), seed: testSeed, limits: Usual}).encodeCompletion(&c, new(draft)).raw)
	for name, of := range map[string]struct {
		bounds Bounds
		want   int64
	}{
		"one thing": {Bounds{Queue: 1}, 1}, "three things": {Bounds{Queue: 3}, 3},
		"a link": {Bounds{Links: 1}, 1}, "two links": {Bounds{Links: 2}, 1}, "three links": {Bounds{Links: 3}, 2}, "four links": {Bounds{Links: 4}, 2},
		"a byte less": {Bounds{Bytes: 2*size - 1}, 2}, "bytes": {Bounds{Bytes: 2 * size}, 2}, "a byte more": {Bounds{Bytes: 2*size + 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, g := gated(t, Usual.with(of.bounds))
				var taken atomic.Int64
				go func() { // it ends with Close
					for i := 0; ; i++ {
						links := []frontier.Entry{entry(t, fmt.Sprintf("http://a.example/%d", 1+i%9)), entry(t, fmt.Sprintf("http://b.example/%d", 1+i%9))}
						if db.Submit(frontier.Completion{Links: links}) != nil {
							return
						}
						taken.Add(1)
						if i == 0 {
							time.Sleep(time.Second) // the first one alone is being committed
						}
					}
				}()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := taken.Load() - 1; n != of.want {
					t.Errorf("%d wait, want %d", n, of.want)
				}
				g.shut.Store(false)
				close(g.letGo)
				go db.Close()
				synctest.Wait()
				time.Sleep(time.Minute)
			})
		})
	}
}

// What was put is read at once, the last of each, and from the file once it is there.
func TestWhatWasPutLastIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.Payloads = 1
		db, g := gated(t, l)
		look := func(status int, url string) {
			t.Helper()
			synctest.Wait()
			s, err := db.Snapshot("http://a.example")
			if err != nil || s == nil || s.Status != status {
				t.Errorf("snapshot %+v, %v, want %d", s, err, status)
			}
			p, err := db.Payload(richDigest)
			if err != nil || p == nil || p.URL != url {
				t.Errorf("payload %+v, %v, want %s", p, err, url)
			}
		}
		put := func(status int, url string) {
			t.Helper()
			err := db.PutSnapshot("http://a.example", &robots.Snapshot{Fetched: time.Now(), Status: status})
			if err = errors.Join(err, db.PutPayload(richDigest, Payload{time.Now(), url})); err != nil {
				t.Fatal(err)
			}
		}
		put(200, "one")
		look(200, "one")
		time.Sleep(time.Second)
		put(404, "two")
		look(404, "one")      // the first payload with some bytes is kept
		g.letGo <- struct{}{} // the first of them, or its first half
		look(404, "one")
		g.shut.Store(false)
		close(g.letGo)
		look(404, "one")
		if n := len(db.queue.snapshots) + len(db.queue.payloads); n != 0 {
			t.Errorf("%d are kept that are in the file", n)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A group is what it was when Apply was called, what ended elsewhere is not read here,
// and where that cannot be known the run ends.
func TestGroupsFromElsewhere(t *testing.T) {
	var groups [][]byte
	{
		log := &tape{}
		db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		submitted(t, db, frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/1"), entry(t, "http://a.example/2")}})
		e := readAll(t, db, richSite)[0]
		submitted(t, db, frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}})
		if err := errors.Join(db.Put("k", "value"), db.Close()); err != nil {
			t.Fatal(err)
		}
		groups = log.groups
	}
	if len(groups) != 3 {
		t.Fatalf("%d groups", len(groups))
	}
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		dir := t.TempDir()
		db, err := start(dir, Options{Limits: &l, Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		apply := func(position uint64) {
			t.Helper()
			group := slices.Clone(groups[position-1])
			if err := db.Apply(position, group); err != nil {
				t.Fatal(err)
			}
			clear(group)
		}
		apply(1)
		time.Sleep(time.Minute) // it is merged
		apply(2)
		time.Sleep(21 * time.Millisecond) // it is committed, and not merged
		synctest.Wait()
		if db.Position() != 2 {
			t.Errorf("position %d", db.Position())
		}
		if got := readAll(t, db, richSite); len(got) != 1 || got[0].URL.Target() != "/2" {
			t.Errorf("%v is read", got)
		}
		apply(3)
		apply(2) // is left out
		time.Sleep(time.Second)
		synctest.Wait()
		var v string
		if ok, err := db.Get("k", &v); !ok || err != nil || v != "value" || db.Position() != 3 {
			t.Errorf("%q, %v, %v, position %d", v, ok, err, db.Position())
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		checked(t, dir)
	})
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		db, err := start(t.TempDir(), Options{Limits: &l, Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Apply(1, groups[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := errors.Join(db.file.bolt.Update(spoilt(bucketNames)), db.Apply(2, groups[1])); err != nil {
			t.Fatal(err)
		}
		time.Sleep(21 * time.Millisecond)
		synctest.Wait()
		if db.Position() != 1 || !errors.Is(db.queue.failed(), errChecksum) {
			t.Errorf("position %d, %v", db.Position(), db.queue.failed())
		}
		if err := db.Close(); !errors.Is(err, errChecksum) {
			t.Errorf("Close: %v", err)
		}
	})
}

// A stubborn log names every group alike.
type stubborn uint64

func (s stubborn) Append(uint64, []byte) (uint64, error) { return uint64(s), nil }

func TestALogThatDoesNotGoOn(t *testing.T) {
	db, err := start(t.TempDir(), Options{Gather: -1, Log: stubborn(4)})
	if err != nil {
		t.Fatal(err)
	}
	submitted(t, db, frontier.Completion{})
	if err := db.Submit(frontier.Completion{}); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	for _, err := range []error{(<-db.Grown()).Err, db.Close()} {
		if err == nil || errors.As(err, &damaged) || !strings.Contains(err.Error(), "position 4 behind 4") {
			t.Errorf("%v", err)
		}
	}
	log := &tape{}
	if db, err = start(t.TempDir(), Options{Gather: -1, Log: log}); err != nil {
		t.Fatal(err)
	}
	if err := db.PutSnapshot("http://a.example", &robots.Snapshot{Fetched: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err == nil || len(log.groups) != 0 {
		t.Errorf("what cannot be written is in %d groups: %v", len(log.groups), err)
	}
}

// What comes back to the queue does so, too, where a kill came before it was merged.
func TestWhatCameBackBeforeAKillIsRead(t *testing.T) {
	dir, copied := rich(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.Requeue(func(frontier.Entry) bool { return true }); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		db.queue.mu.Lock()
		db.queue.hungry = nil
		db.queue.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		db.Close()
	})
	if n := rowsIn(t, copied, bucketJournal); n != 1 {
		t.Fatalf("%d rows in the journal", n)
	}
	db := open(t, copied)
	submitted(t, db, frontier.Completion{})
	var got []string
	for _, e := range readAll(t, db, richSite) {
		got = append(got, e.URL.Target())
	}
	if slices.Sort(got); !slices.Equal(got, []string{"/aside", "/more", "/ready", "/waiting"}) {
		t.Errorf("%v are read", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, copied)
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

// What is applied counts as what was put does.
func TestAsMuchIsAppliedAsTheBoundsPermit(t *testing.T) {
	log := &tape{}
	db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		submitted(t, db, frontier.Completion{Links: []frontier.Entry{entry(t, fmt.Sprintf("http://a.example/%d", i))}})
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := Usual.with(Bounds{Links: 4})
		db, err := start(t.TempDir(), Options{Gather: time.Hour, Seed: testSeed, Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 { // of two links each
			if err := db.Apply(uint64(2*i+2), together(log.groups[2*i:2*i+2])); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		if put, kept := db.Pending(); put != 2 || kept != 0 || db.Position() != 0 {
			t.Errorf("%d groups wait, %d are kept, position %d", put, kept, db.Position())
		}
		if err := db.Apply(6, together(log.groups[4:6])); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // room is free once a group is taken, before it is committed
		if !time.Now().Equal(began) || db.Position() == 0 {
			t.Errorf("nobody hurries where there is no room: position %d", db.Position())
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Much that was found is merged once there is nothing else to do, not with the commit
// in which it comes: but at the begin of a run, when there is nothing else to read.
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

// A file of the archive has one number, whoever names it.
func TestAnArchiveIsNamedOnce(t *testing.T) {
	dir := rich(t)
	for range 2 {
		db := open(t, dir)
		e := readAll(t, db, richSite)[0]
		submitted(t, db, frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched, Answer: frontier.Place{File: richAnswer, Offset: 8}}})
		fate, ok, err := db.Fate(e.URL)
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

// A state is a file that its owner writes and others read, and nobody runs.
func TestTheStateIsNoProgram(t *testing.T) {
	info, err := os.Stat(filepath.Join(filled(t), File))
	if err != nil || info.Mode().Perm()&0o711 != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Outlines say what is known of the files, and take what is known of them now.
func TestOutlines(t *testing.T) {
	dir := filled(t)
	growing, index := Marks{"grows": {Length: 3}}, IndexMarks{Part: Mark{Length: 4}}
	for _, want := range []Marks{{}, growing} {
		o, err := OpenOutline(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(o.Marks, want) {
			t.Errorf("%v, want %v", o.Marks, want)
		}
		if err := errors.Join(o.PutMarks(growing, index), o.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if done := checked(t, dir); !maps.Equal(done.Growing, growing) || done.Index != index {
		t.Errorf("%+v", done)
	}
	for _, key := range [][]byte{keyOutputs, keyIndex} {
		o, err := OpenOutline(dir)
		if err != nil {
			t.Fatal(err)
		}
		occupied(t, o.bolt, bucketMeta, key)
		if err := o.PutMarks(growing, index); !errors.Is(err, berrors.ErrIncompatibleValue) {
			t.Errorf("%v", err)
		}
		o.Close()
		dir = filled(t)
	}
}

// A Dump says all there is, and what cannot be read.
func TestDumps(t *testing.T) {
	dir := rich(t)
	lines := dump(t, dir)
	for want, n := range map[string]int{
		"site {Site:http://a.example ": 1, "site {Site:http://b.example ": 1, "entry http://a.example 65": 2, "entry http://a.example 72": 2,
		"entry http://a.example 77": 1, "entry http://b.example 72": 1, "seen http://a.example ": 5, "seen http://b.example ": 1,
		"aside http://a.example 00000003": 1, `value put k "v"`: 1, "common 6970203139": 1, "snapshots 687474": 3,
		"payloads 00443214c74254b635cf84653a56d7c675be77df ": 1, "bodies ": 1, "journal ": 0,
	} {
		is := 0
		for _, l := range lines {
			if strings.HasPrefix(l, want) {
				is++
			}
		}
		if is != n {
			t.Errorf("%d lines begin with %q, want %d", is, want, n)
		}
	}
	if len(lines) != 22 {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	edited(t, dir, spoilt(bucketStates))
	if _, err := Dump(dir); !errors.Is(err, errChecksum) {
		t.Errorf("of a damaged state: %v", err)
	}
	if _, err := Dump(filepath.Join(dir, "none")); err == nil {
		t.Error("of no state: no error")
	}
}

// A group is made in the memory of the one before, of which nothing is seen.
func TestAGroupIsMadeInTheMemoryOfAnother(t *testing.T) {
	db := &DB{cache: newKnownCache(), seed: testSeed, limits: Usual}
	var w workspace
	var q queue
	used, again := map[*byte]bool{}, 0 // rows, by their memory
	for n := range 5 {
		limits := Usual
		limits.RowSize = 1500 - 300*n
		q.limits, q.journal.size = &limits, limits.RowSize
		fresh := rowsBuilder{size: limits.RowSize}
		for _, c := range completions(t)[n:] {
			draft := new(draft)
			e := db.encodeCompletion(&c, draft)
			kept := e
			q.ops = append(q.ops, op{completion: &e})
			q.journal.add(&e)
			fresh.add(&kept)
			if !reflect.DeepEqual(e, kept) {
				t.Errorf("in used memory a completion is\n%+v, else\n%+v", e, kept)
			}
			clear(draft.raw)
		}
		g := &commitGroup{taken: q.take(false, w.room), all: w.all}
		w.room, w.all = batch{}, nil
		g.flatten(limits.RowSize)
		for _, o := range g.ops {
			g.all = append(g.all, *o.completion)
		}
		if !reflect.DeepEqual(g.rows, fresh.rows) || len(q.ops)+len(q.journal.rows) > 0 {
			t.Errorf("rows of %d bytes: %x, want %x", limits.RowSize, g.rows, fresh.rows)
		}
		for _, row := range g.rows {
			if used[&row[0]] {
				again++
			}
			used[&row[0]] = true
			copy(row, "\xff\xff\xff\xff, and what nobody wants to read")
		}
		ops, encodings := g.taken.ops, g.all
		w.reuse(g, limits.RowSize)
		if len(w.room.ops)+len(w.all) > 0 || cap(w.room.ops) == 0 || cap(w.all) == 0 {
			t.Errorf("what is left of a group: %+v", w)
		}
		if ops[0].completion != nil || encodings[0].raw != nil {
			t.Error("what was put is kept")
		}
	}
	if again == 0 {
		t.Error("no memory of rows is used again")
	}
	large := &commitGroup{taken: batch{ops: make([]op, maxSpareOps+1)}, all: make([]encoded, maxSpareOps+1), rows: [][]byte{make([]byte, 21)}}
	w = workspace{}
	if w.reuse(large, 10); w.room.ops != nil || w.all != nil || len(w.room.rows) > 0 {
		t.Errorf("%d ops, %d completions and %d rows are kept", cap(w.room.ops), cap(w.all), len(w.room.rows))
	}
	b := rowsBuilder{size: 10}
	for range 2 * maxSpareRows {
		b.reuse([][]byte{make([]byte, 20), make([]byte, 21)})
	}
	if len(b.spare) != maxSpareRows || cap(b.spare[1]) != 20 {
		t.Errorf("%d rows are kept", len(b.spare))
	}
}

// No row outgrows its memory: what was copied to it stays where it is.
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
