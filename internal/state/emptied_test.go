package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// bbolt's Cursor.Prev returns nothing if it comes to a leaf whose rows were all deleted in the
// same transaction. findBlock must find the block before that leaf.
func TestABlockIsFoundBehindALeafThatWasEmptied(t *testing.T) {
	b, err := bbolt.Open(filepath.Join(t.TempDir(), "blocks"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Update(func(tx *bbolt.Tx) error {
		bk, err := tx.CreateBucket(bucketEntries)
		if err != nil {
			return err
		}
		var a arena
		err = put(bk, seenKey(1, 0), a.value(appendNumbered(nil, numbered{9, 1})))
		for i := range uint32(2000) {
			err = errors.Join(err, put(bk, endedKey(2, i+1), a.value([]byte("an entry with a certain length"))))
		}
		return errors.Join(err, put(bk, seenKey(2, 0), a.value(appendNumbered(nil, numbered{9, 1}))))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = b.Update(func(tx *bbolt.Tx) error {
		bk := tx.Bucket(bucketEntries)
		for i := range uint32(2000) {
			if err := bk.Delete(endedKey(2, i+1)); err != nil {
				return err
			}
		}
		num, ok, err := seenNum(bk.Cursor(), 1, 9)
		if num != 1 || !ok || err != nil {
			t.Errorf("%d, %v, %v", num, ok, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// So many entries of a site are requeued that leaves of the file become empty. Links of the
// same commit to the site before it are still found to be known.
func TestWhatComesBackLeavesTheSiteBeforeItKnown(t *testing.T) {
	synctest.Test(t, wideScope) // virtual time, so that everything is in one group also on a slow machine
}

func wideScope(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const each = 1200
	a := entry(t, "http://a.example/1")
	a2 := entry(t, "http://a.example/2")
	submitted(t, db, frontier.Completion{Links: []frontier.Entry{a, a2}})
	var links []frontier.Entry
	for i := range each {
		links = append(links, entry(t, fmt.Sprintf("http://b.example/%d", i)))
	}
	submitted(t, db, frontier.Completion{Links: links})
	buf := make([]frontier.Entry, each)
	n, err := db.Read("http://b.example", time.Now(), buf)
	if n != each || err != nil {
		t.Fatal(n, err)
	}
	for _, e := range buf {
		if err := db.Submit(frontier.Completion{Site: "http://b.example", Entry: e, Fate: frontier.Fate{Code: frontier.ScopeNarrowed}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, db, each)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, dir)

	if db, err = start(dir, Options{Gather: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Requeue(func(frontier.Entry) bool { return true }); n != each || err != nil {
		t.Fatal(n, err)
	}
	submitted(t, db, frontier.Completion{Links: []frontier.Entry{a}})
	var got []string
	for k, err := range db.Entries("http://a.example") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, k.URL.Target())
	}
	if !slices.Equal(got, []string{"/1", "/2"}) {
		t.Errorf("entries of a.example: %v", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, dir)
}
