package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"go.etcd.io/bbolt"
)

// A row that is damaged while a run has the file open is not taken for one that is
// missing: the next commit that reads it ends the run, and writes nothing.
func TestAMergeEndsAtADamagedRow(t *testing.T) {
	type row struct {
		bucket []byte
		kind   byte // of a row of entries; 0: any
		hungry bool // its site is merged before the others
	}
	for name, what := range map[string]row{
		"name": {bucketNames, 0, false}, "record": {bucketStates, 0, false}, "fingerprints": {bucketEntries, kindSeen, false},
		"name, hungry": {bucketNames, 0, true}, "record, hungry": {bucketStates, 0, true}, "fingerprints, hungry": {bucketEntries, kindSeen, true},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, t.TempDir())
			submit := func(url string) {
				if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, url)}}); err != nil {
					t.Fatal(err)
				}
			}
			submit("http://a.example/1")
			settle(t, db, 1)
			damaged := 0
			err := db.bolt.Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket(what.bucket)
				c := b.Cursor()
				for key, value := c.First(); key != nil; key, value = c.Next() {
					if what.kind != 0 && key[4] != what.kind {
						continue
					}
					value = bytes.Clone(value)
					value[len(value)-1] ^= 1
					damaged++
					if err := b.Put(bytes.Clone(key), value); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil || damaged != 1 {
				t.Fatalf("%d rows, %v", damaged, err)
			}
			if what.hungry {
				db.mu.Lock()
				db.starve("http://a.example")
				db.mu.Unlock()
			}
			submit("http://a.example/2")
			var is *DamagedError
			if g := <-db.Grown(); !errors.As(g.Err, &is) || !errors.Is(g.Err, errChecksum) {
				t.Errorf("grown: %+v", g)
			}
			if err := db.Close(); !errors.As(err, &is) {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// What was taken from an arena is nobody else's, whatever its size.
func TestArenasGiveMemoryOnce(t *testing.T) {
	var a arena
	var all [][]byte
	for i, n := range []int{0, 1, 300, arenaSize / 8, arenaSize/8 + 1, arenaSize, arenaSize + 1, 3 * arenaSize, 7, arenaSize / 8, arenaSize / 8} {
		for range 3 {
			b := a.take(n)
			if len(b) != 0 || cap(b) < n {
				t.Fatalf("%d bytes of %d, for %d", len(b), cap(b), n)
			}
			all = append(all, append(b, bytes.Repeat([]byte{byte(i)}, n)...))
		}
	}
	for i, b := range all {
		if n := bytes.Count(b, []byte{byte(i / 3)}); n != len(b) {
			t.Errorf("%d: %d of %d bytes are left", i, n, len(b))
		}
	}
}

// The name of a WARC file keeps letters and digits, and what needs no quoting.
func TestNamesOfArchives(t *testing.T) {
	for dir, want := range map[string]string{
		"azAZ09-._.crawl": "azAZ09-._", "a`{@[/:b": "_b", "a b`{@[:é": "a_b______", "x.crawl.crawl": "x.crawl",
	} {
		a, err := newArchive(filepath.Join(t.TempDir(), dir), Archive{}, disk{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(a.prefix, "-19700101000000"); !strings.HasSuffix(got, want) || strings.ContainsAny(got, "/`{@[: ") {
			t.Errorf("%s is named %s, want %s", dir, got, want)
		}
	}
}

func TestFactsKeepTheirPlaces(t *testing.T) {
	want := fact{key: "url", from: ofLog, at: 42, value: "200 a\x00b"}
	if got := parseFact([]byte("url\x00" + string(rune(ofLog)) + "\x0042\x00200 a\x00b")); got != want {
		t.Errorf("%+v", got)
	}
}

// Only what was committed can be lost of the log: what a kill left behind it stays.
func TestOnlyCommittedLinesAreLost(t *testing.T) {
	for name, damage := range map[string]func(path string, raw []byte) error{
		"whole":   func(string, []byte) error { return nil },
		"longer":  func(path string, raw []byte) error { return os.WriteFile(path, append(raw, raw...), 0o644) },
		"shorter": func(path string, raw []byte) error { return os.WriteFile(path, raw[:len(raw)/2], 0o644) },
		"gone":    func(path string, _ []byte) error { return os.Remove(path) },
	} {
		dir := t.TempDir()
		db := open(t, dir)
		for range 2 {
			if err := db.Log().Write(&crawllog.Line{Time: time.Unix(1893456000, 0), URL: "http://a.example/", Size: -1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, LogFile)
		raw, err := os.ReadFile(path)
		if err == nil {
			err = damage(path, bytes.Clone(raw))
		}
		if err != nil {
			t.Fatal(err)
		}
		db = open(t, dir)
		want := map[string]int{"shorter": len(raw) / 2, "gone": len(raw)}[name]
		if lost := db.LostLog(); lost != int64(want) {
			t.Errorf("%s: %d bytes of %d are lost, want %d", name, lost, len(raw), want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is looked up before it is submitted is queued in the order in which it was
// found, all the same.
func TestSiftedLinksKeepTheirOrder(t *testing.T) {
	l := usual
	l.sift = 0
	db, err := Open(t.TempDir(), Options{Gather: -1, limits: &l})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var links []frontier.Entry
	for _, path := range strings.Split("q w e r t z u i o p a s d f g h j k l y", " ") {
		links = append(links, entry(t, "http://a.example/"+path), entry(t, "http://b.example/"+path))
	}
	for _, some := range [][]frontier.Entry{links[:2], links, links} { // sites that are known, and links
		if err := db.Submit(frontier.Completion{Links: some}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	for i, site := range []frontier.Site{"http://a.example", "http://b.example"} {
		got := make([]frontier.Entry, len(links))
		n, err := db.Read(site, time.Now(), got)
		if err != nil || n != len(links)/2 {
			t.Fatalf("%d entries, %v", n, err)
		}
		for k, e := range got[:n] {
			if want := links[2*k+i].URL.String(); e.URL.String() != want {
				t.Errorf("%d: %s, want %s", k, e.URL, want)
			}
		}
	}
}
