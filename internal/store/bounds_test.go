package store

import (
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// watch fails the test and prints all stacks if steps does not change within 20 seconds.
// Without it, a deadlock would look like a slow test.
func watch(t *testing.T, steps *atomic.Int64, done <-chan struct{}) {
	t.Helper()
	for last := int64(-1); ; {
		timer := time.NewTimer(20 * time.Second)
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C:
		}
		now := steps.Load()
		if now == last {
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
			t.Fatalf("no progress after %d steps", now)
		}
		last = now
	}
}

// The bounds on uncommitted work are reached with every kind of operation. Nothing may
// deadlock: a goroutine that waits for room must hold no lock that the committer needs.
func TestSmallestBounds(t *testing.T) {
	for name, bounds := range map[string]Bounds{"state.Usual": {}, "links": {Links: 1}, "all": {1, 1, 1}} {
		t.Run(name, func(t *testing.T) {
			const workers, pages = 24, 6
			db, err := Open(t.TempDir(), Options{
				Archive: &Archive{MaxSize: 64 << 10}, Links: true, Gather: time.Millisecond, SyncDelay: 500 * time.Microsecond, Bounds: bounds,
			})
			if err != nil {
				t.Fatal(err)
			}
			var steps atomic.Int64
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := range pages {
						if err := putWhole(t, db, w, i, 300); err != nil {
							t.Error(err)
							return
						}
						steps.Add(1)
					}
				})
			}
			done := make(chan struct{})
			// The goroutine ends after the last worker.
			go func() { all.Wait(); close(done) }()
			watch(t, &steps, done)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			v := verified(t, db.dir)
			if want := workers * pages * 300; v.Entries != want {
				t.Errorf("%d entries, want %d", v.Entries, want)
			}
		})
	}
}

// putWhole writes a visit of one page with all its outputs, and submits its completion.
func putWhole(t *testing.T, db *DB, worker, page, links int) error {
	url := fmt.Sprintf("http://h%d.example/%d", worker, page)
	now := time.Now()
	x := &warc.Exchange{URL: url, Date: now, Response: &warc.HTTP{
		StartLine: warc.StatusLine(200), Header: http.Header{}, Coding: warc.Unchunked, Body: fmt.Appendf(nil, "%s%0200d", url, page),
	}}
	var edges []LinkRecord
	var found []frontier.Entry
	for i := range links {
		e := entry(t, fmt.Sprintf("%s/%d", url, i))
		found = append(found, e)
		edges = append(edges, LinkRecord{From: url, To: e.URL.String()})
	}
	v := &Visit{Exchanges: []*warc.Exchange{x}, Answer: x, Page: &PageRecord{URL: url, Time: now, Status: 200}, Links: edges}
	if _, err := db.PutVisit(v); err != nil {
		return err
	}
	return db.Submit(frontier.Completion{Links: found})
}
