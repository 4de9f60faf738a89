package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Close is called while many goroutines submit and read. If a Submit does not return ErrClosed,
// its completion is on disk.
func TestCloseWhileManySubmit(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{Gather: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	const workers = 64
	taken := make([]int, workers)
	var all sync.WaitGroup
	link := func(w, i int) frontier.URL {
		return entry(t, fmt.Sprintf("http://h%d.example/%d", w%9, w*1_000_000+i)).URL
	}
	started := make(chan struct{}, workers)
	for w := range workers {
		all.Go(func() {
			for i := 0; ; i++ {
				err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: link(w, i)}}})
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if taken[w]++; i == 20 {
					started <- struct{}{}
				}
				var readErr error
				switch site := link(w, i).Site(); i % 8 {
				case 0:
					_, readErr = db.State(site)
				case 1:
					_, _, readErr = db.Fate(link(w, i))
				case 2:
					readErr = pairErrors(db.Sites())
				case 3:
					_, readErr = db.Read(site, time.Now(), make([]frontier.Entry, 2))
				case 4:
					readErr = pairErrors(db.Common())
				}
				if readErr != nil && !errors.Is(readErr, ErrClosed) {
					t.Error(readErr)
				}
			}
		})
	}
	for range workers {
		<-started
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	db = open(t, dir)
	defer db.Close()
	for w, n := range taken {
		for i := range n {
			if _, ok, err := db.Fate(link(w, i)); !ok || err != nil {
				t.Fatalf("link %d of worker %d was taken and is lost: %v", i, w, err)
			}
		}
	}
}

// The largest allowed values are stored and read unchanged.
func TestTheLargestOfEverything(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const many = 40_000 // links of one completion, enough for several slices
	site := frontier.Site("http://a.example")
	long := entry(t, string(site)+"/"+strings.Repeat("l", 8000-len(site)-1))
	long.Via, long.Hops, long.Tag, long.Depth = long.URL.String(), strings.Repeat("L", 5000), strings.Repeat("t", 1000), 5000
	long.Rank = frontier.RankOf(long.Depth)
	links := []frontier.Entry{long}
	for i := range many {
		links = append(links, entry(t, fmt.Sprintf("%s/%d", site, i)))
	}
	var clocks []frontier.CommonClock
	for i := range 5000 {
		clocks = append(clocks, frontier.CommonClock{Name: fmt.Sprint("ip ", i), Due: time.Unix(int64(i)+1, 0)})
	}
	if err := db.Submit(frontier.Completion{Links: links, Common: clocks}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	copied := crash(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, copied); v.Entries != many+1 {
		t.Errorf("%d entries, want %d", v.Entries, many+1)
	}
	db = open(t, copied)
	defer db.Close()
	n := 0
	for _, err := range db.Common() {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 5000 {
		t.Errorf("%d clocks", n)
	}
	buf := make([]frontier.Entry, many+2)
	if n, err := db.Read(site, time.Now(), buf); n != many+1 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
	last := buf[many]
	if last.ID = 0; last != long {
		t.Errorf("the largest entry is not what it was: %.100q", fmt.Sprintf("%+v", last))
	}
	waits := 3000 // number of entries that wait for another try at the same time
	for _, e := range buf[:waits] {
		if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Waiting, Until: time.Unix(100, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, db, waits)
	if n, err := db.Read(site, time.Unix(99, 0), buf); n != 0 || err != nil {
		t.Errorf("%d entries came back too early, %v", n, err)
	}
	if n, err := db.Read(site, time.Unix(100, 0), buf); n != waits || err != nil {
		t.Errorf("%d entries came back, want %d: %v", n, waits, err)
	}
}
