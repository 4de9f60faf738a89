package state

import (
	"encoding/base32"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

// Payloads are merged many at a time, and when the crawl is closed. A kill before the merge
// loses none. If several answers have the same payload, the first is kept.
func TestPayloadsAreMergedManyAtATime(t *testing.T) {
	digest := func(i int) string {
		return sha1Prefix + base32.StdEncoding.EncodeToString(fmt.Appendf(nil, "%020d", i))
	}
	known := func(db *DB, n int) {
		t.Helper()
		for i := range n {
			p, err := db.Payload(digest(i))
			if want := fmt.Sprintf("http://a.example/%d", i); err != nil || p == nil || p.URL != want {
				t.Errorf("payload %d: %+v, %v, want that of %s", i, p, err, want)
			}
		}
	}
	stand := func(db *DB, merged, journaled, inMemory int) {
		t.Helper()
		counts := map[string]int{}
		err := db.file.bolt.View(func(tx *bbolt.Tx) error {
			for _, name := range [][]byte{bucketPayloads, bucketPayloadJournal} {
				each(tx.Bucket(name), func(_, _ []byte) { counts[string(name)]++ })
			}
			return nil
		})
		if is := counts["payloads"]; err != nil || is != merged {
			t.Errorf("%d payloads are merged, %v, want %d", is, err, merged)
		}
		if is := counts["payload journal"]; is != journaled {
			t.Errorf("%d rows in the journal, want %d", is, journaled)
		}
		if is := len(db.queue.payloads); is != inMemory {
			t.Errorf("%d payloads in memory, want %d", is, inMemory)
		}
	}
	dir, killed := t.TempDir(), t.TempDir()
	l := Usual
	l.Payloads, l.RowSize = 10, 100 // a row of the payload journal has one or two payloads
	synctest.Test(t, func(t *testing.T) {
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		put := func(i int, url string) {
			t.Helper()
			if err := db.PutPayload(digest(i), Payload{time.Now(), url}); err != nil {
				t.Fatal(err)
			}
		}
		commit := func() {
			time.Sleep(25 * time.Millisecond)
			synctest.Wait()
		}
		for i := range 4 {
			put(i, fmt.Sprintf("http://a.example/%d", i))
		}
		put(0, "http://a.example/late")
		known(db, 4)
		commit()
		known(db, 4)
		stand(db, 0, 3, 4)
		for i := range 4 {
			put(4+i, fmt.Sprintf("http://a.example/%d", 4+i))
		}
		commit()
		stand(db, 0, 5, 8)
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		put(8, "http://a.example/8") // the tenth payload, which starts the merge
		commit()
		known(db, 9)
		stand(db, 9, 0, 0)
		put(9, "http://a.example/9")
		put(3, "http://a.example/late")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
	checked(t, dir)
	db := open(t, dir)
	known(db, 10)
	stand(db, 10, 0, 0)
	db.Close()

	checked(t, killed)
	r, err := OpenReader(killed)
	if err != nil {
		t.Fatal(err)
	}
	known(r.db, 8)
	r.Close()
	if db, err = start(killed, Options{Limits: &l}); err != nil {
		t.Fatal(err)
	}
	known(db, 8)
	stand(db, 0, 5, 8)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, killed)
	known(db, 8)
	stand(db, 8, 0, 0)
	db.Close()
}
