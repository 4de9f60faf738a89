package state

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A gate is an Outputs that blocks commits while shut is set. Each value that is sent to letGo
// lets one commit pass.
type gate struct {
	none
	shut  atomic.Bool
	letGo chan struct{}
}

func (g *gate) Flush() (Moment, error) {
	if g.shut.Load() {
		<-g.letGo
	}
	return Moment{}, nil
}

// gated opens a new state, and returns it with its gate, which is shut.
func gated(t *testing.T, l Limits) (*DB, *gate) {
	t.Helper()
	g := &gate{letGo: make(chan struct{})}
	g.shut.Store(true)
	db, err := Open(t.TempDir(), Options{Gather: -1, Seed: testSeed, Limits: &l})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(g, nil, nil); err != nil {
		t.Fatal(err)
	}
	return db, g
}

// While one commit runs, the queue accepts operations up to its bounds. Then Submit blocks.
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
				go func() { // the goroutine ends with Close
					for i := 0; ; i++ {
						links := []frontier.Entry{entry(t, fmt.Sprintf("http://a.example/%d", 1+i%9)), entry(t, fmt.Sprintf("http://b.example/%d", 1+i%9))}
						if db.Submit(frontier.Completion{Links: links}) != nil {
							return
						}
						taken.Add(1)
						if i == 0 {
							time.Sleep(time.Second) // by now the first operation is being committed
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

// Get, Snapshot and Payload return a value as soon as it was put. If several values were put
// under a key, Get and Snapshot return the last and Payload the first. After the commit they
// return the same from the file.
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
		look(404, "one")      // the first payload with these bytes stays
		g.letGo <- struct{}{} // let one commit pass, which has the first operation or a part of it
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

// An entry ended before a kill. Read does not return it again, even if its end was not merged.
func TestWhatEndedBeforeAKillIsNotReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		dir := t.TempDir()
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		links := []frontier.Entry{entry(t, "http://a.example/1"), entry(t, "http://a.example/2"), entry(t, "http://a.example/3")}
		if err := db.Submit(frontier.Completion{Links: links}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // time to merge
		var some [2]frontier.Entry
		if n, err := db.Read(richSite, time.Now(), some[:]); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		if err := db.Submit(frontier.Completion{Site: richSite, Entry: some[0], Fate: frontier.Fate{Code: frontier.Fetched}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(21 * time.Millisecond) // time to commit, but not to merge
		synctest.Wait()
		copied := crash(t, dir)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if n := rowsIn(t, copied, bucketJournal); n != 1 {
			t.Fatalf("%d rows in the journal", n)
		}
		if db, err = start(copied, Options{Limits: &l}); err != nil {
			t.Fatal(err)
		}
		if _, kept := db.Pending(); kept != 1 {
			t.Errorf("%d completions are not merged", kept)
		}
		var got []string
		for _, e := range readAll(t, db, richSite) {
			got = append(got, e.URL.Target())
		}
		if !slices.Equal(got, []string{"/2", "/3"}) {
			t.Errorf("%v are read", got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		checked(t, copied)
	})
}

// A snapshot that cannot be encoded as JSON ends the run.
func TestAnInvalidSnapshotEndsTheRun(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	if err := db.PutSnapshot("http://a.example", &robots.Snapshot{Fetched: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err == nil {
		t.Error("Close returns no error")
	}
	if n := rowsIn(t, dir, bucketSnapshots); n != 0 {
		t.Errorf("%d snapshots", n)
	}
}

// Read returns requeued entries after a kill, even if they were not merged before it.
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

// A group reuses the memory of an earlier group. None of the earlier bytes remain in its rows.
func TestAGroupIsMadeInTheMemoryOfAnother(t *testing.T) {
	db := &DB{cache: newKnownCache(), seed: testSeed, limits: Usual}
	var w workspace
	var q queue
	used, again := map[*byte]bool{}, 0 // rows by their memory, and the number of rows that reuse memory
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
		g := &commitGroup{batch: q.take(false, w.room), all: w.all}
		w.room, w.all = batch{}, nil
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
			copy(row, "\xff\xff\xff\xff, and bytes that must not be read")
		}
		ops, encodings := g.ops, g.all
		w.reuse(g, limits.RowSize)
		if len(w.room.ops)+len(w.all) > 0 || cap(w.room.ops) == 0 || cap(w.all) == 0 {
			t.Errorf("left over of a group: %+v", w)
		}
		if ops[0].completion != nil || encodings[0].raw != nil {
			t.Error("operations of a group are kept")
		}
	}
	if again == 0 {
		t.Error("no memory of rows is used again")
	}
	large := &commitGroup{batch: batch{ops: make([]op, maxSpareOps+1), rows: [][]byte{make([]byte, 21)}}, all: make([]encoded, maxSpareOps+1)}
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
