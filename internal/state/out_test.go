package state

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A read of a large site begins after the entries that Read has returned before, because it
// would be slow to skip them one by one. It still finds entries that were added before them.
func TestAReadBeginsBehindWhatIsOut(t *testing.T) {
	db, err := start(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	site := frontier.Site("http://a.example")
	submit := func(c frontier.Completion) {
		t.Helper()
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	read := func(n int) []frontier.Entry {
		t.Helper()
		entries := make([]frontier.Entry, n)
		got, err := db.Read(site, time.Now(), entries)
		if err != nil {
			t.Fatal(err)
		}
		return entries[:got]
	}
	ranked := func(path string, rank uint8) frontier.Entry {
		e := entry(t, "http://a.example"+path)
		e.Rank = rank
		return e
	}
	var c frontier.Completion
	for i := range 20 {
		c.Links = append(c.Links, ranked(fmt.Sprintf("/%d", i), 3))
	}
	submit(c)
	first := append(read(4), read(4)...)
	n := siteNum(1)
	if got, want := string(db.handedOut.begin(n, nil)), string(readyKey(n, 3, 8)); got != want || len(first) != 8 {
		t.Errorf("after %d entries the next read begins at %x, want %x", len(first), got, want)
	}

	submit(frontier.Completion{Links: []frontier.Entry{ranked("/late", 1)}})
	if got := read(2); len(got) != 2 || got[0].URL.Target() != "/late" || got[1].URL.Target() != "/8" {
		t.Errorf("after a link with a lower rank: %v", got)
	}
	submit(frontier.Completion{
		Site: site, Entry: first[0],
		Fate:  frontier.Fate{Code: frontier.Fetched, Status: 200},
		Links: []frontier.Entry{ranked("/again", 3), ranked("/early", 2)},
	})
	var paths []string
	for _, e := range read(30) {
		paths = append(paths, e.URL.Target())
	}
	if len(paths) != 13 || paths[0] != "/early" || paths[12] != "/again" {
		t.Errorf("left over: %q", paths)
	}
	if got := read(1); len(got) != 0 {
		t.Errorf("read twice: %v", got)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// An operation leaves a site without an entry to read. The site is then merged with this
// operation or after it, and never before it, whenever the committer takes a batch.
func TestASiteIsHungryWithWhatMadeItSo(t *testing.T) {
	const sites = 100_000
	l := Usual
	l.Queue, l.QueueBytes = sites+1, 1<<30
	db := newDB(t.TempDir(), Options{Limits: &l})
	for i := range sites {
		n := siteNum(i + 1)
		db.handedOut.take(n, 1, true)
		db.handedOut.read(n, 1, true, nil)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range sites {
			e := encoded{leaves: true}
			e.site, e.num = frontier.Site(strconv.Itoa(i)), siteNum(i+1)
			if err := db.enqueue(op{completion: &e}); err != nil {
				t.Error(err)
			}
		}
	})
	taken, hungry := map[frontier.Site]bool{}, 0
	for hungry < sites && !t.Failed() {
		b := db.queue.take(false, batch{})
		for _, o := range b.ops {
			taken[o.completion.site] = true
		}
		for site := range b.hungry {
			if hungry++; !taken[site] {
				t.Errorf("%s is hungry in a group before the one that has its op", site)
			}
		}
		runtime.Gosched()
	}
	all.Wait()
}
