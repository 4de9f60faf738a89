package state

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A row is damaged while a run has the file open. The next commit that reads the row ends the
// run and writes nothing. It must not take the row for a missing one.
func TestAMergeEndsAtADamagedRow(t *testing.T) {
	type row struct {
		bucket []byte
		kind   byte // kind of the damaged row in bucketEntries; 0: any
		hungry bool // merge the site before others, because no entry of it is left to read
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
			err := db.file.bolt.Update(func(tx *bbolt.Tx) error {
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
				db.queue.starve("http://a.example")
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

// An arena never returns the same memory twice, for any sizes.
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

// sifting opens a state in which Submit looks up links in a file of any size. Commits do not
// wait for more work.
func sifting(t *testing.T) *DB {
	l := Usual
	l.Sift = 0
	db, err := start(t.TempDir(), Options{Gather: -1, Limits: &l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Links that Submit looks up in the file are queued in the order in which they were found.
func TestSiftedLinksKeepTheirOrder(t *testing.T) {
	db := sifting(t)
	var links []frontier.Entry
	for _, path := range strings.Split("q w e r t z u i o p a s d f g h j k l y", " ") {
		links = append(links, entry(t, "http://a.example/"+path), entry(t, "http://b.example/"+path))
	}
	for _, some := range [][]frontier.Entry{links[:2], links, links} { // first links of known sites, and then links that are known themselves
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
