package state

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A gate is a Log that blocks each group while it is shut, except one for each value in
// letGo.
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

// gated opens a state with a gate that is shut.
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

// As much waits for a commit as the bounds allow, and as much again for the next one.
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
							time.Sleep(time.Second) // only the first is being committed
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

// A value is read as soon as it was put, the last one of each key, and from the file after
// the commit.
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
		look(404, "one")      // the first payload with these bytes is kept
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

// A group is applied as it was when Apply was called, an entry that ended elsewhere is not
// read here, and if that cannot be known the run ends.
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
		apply(2) // is skipped
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

// A stubborn log gives every group the same position.
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
		if err == nil || errors.As(err, &damaged) || !strings.Contains(err.Error(), "position 4 after 4") {
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
		t.Errorf("an invalid operation is in %d groups: %v", len(log.groups), err)
	}
}

// Requeued entries are read after a kill, too, if they were not merged before.
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

// A group is built in the memory of an earlier group, whose bytes do not show.
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
			copy(row, "\xff\xff\xff\xff, and bytes that must not be read")
		}
		ops, encodings := g.taken.ops, g.all
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
