package state

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// A damaged body of a robots.txt cannot make the reader allocate more than maxRulesBody.
func TestARobotsTxtIsBounded(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	site, now := entry(t, "http://a.example/").URL.Site(), time.Now()
	if err := db.PutSnapshot(site, &robots.Snapshot{Fetched: now, Status: 200, Body: make([]byte, maxRulesBody+1)}); err == nil {
		t.Error("it was put")
	}
	if err := db.PutSnapshot(site, &robots.Snapshot{Fetched: now, Status: 200, Body: []byte("User-agent: *")}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 2 * maxRulesBody >> 20 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer db.Close()
	if err := db.file.bolt.Update(func(tx *bbolt.Tx) error {
		bodies := tx.Bucket(bucketBodies)
		key, _ := bodies.Cursor().First()
		return bodies.Put(bytes.Clone(key), bomb.Bytes())
	}); err != nil {
		t.Fatal(err)
	}
	if s, err := db.Snapshot(site); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%d bytes, %v", len(s.Body), err)
	}
}

// A damaged page of the state file claims to cover half of the file. Reading it must not
// allocate so much memory.
func TestAPageIsBounded(t *testing.T) {
	const pages, n = 1 << 20, 2
	b := make([]byte, 4*4096)
	page := b[n*4096:]
	binary.NativeEndian.PutUint64(page, n)
	for more, fits := range map[uint32]bool{1: true, 60_000: true, pages / 2: false, pages: false} {
		binary.NativeEndian.PutUint32(page[12:], more)
		tree := newTree(bytes.NewReader(b), head{pageSize: 4096, pages: pages})
		if _, _, err := tree.head(n); (err == nil) != fits {
			t.Errorf("%d more: %v", more, err)
		}
	}
}
