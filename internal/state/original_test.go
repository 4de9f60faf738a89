package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// tiny returns limits so low that a few links need several rows, blocks and slices.
func tiny(r *rand.Rand) *Limits {
	return &Limits{
		SmallPending: r.IntN(4), SomeMerge: 1 + r.IntN(40), FullMerge: 1 + r.IntN(80),
		Slice: 1 + r.IntN(40), MaxSlice: 1 + r.IntN(6), RowSize: 1 + r.IntN(400), MaxBlock: 2 + r.IntN(5), Payloads: 1 + r.IntN(6),
		Sift: r.IntN(2) << 30, Queue: 1 + r.IntN(4), QueueLinks: 1 + r.IntN(9), QueueBytes: 1 + r.IntN(4000),
	}
}

const testSeed = 7

// An original is a crawl of random visits. Copies of it are compared with it.
type original struct {
	t    *testing.T
	rand *rand.Rand
	dir  string
	db   *DB
	now  time.Time
	hand []frontier.Entry
	lazy bool // the crawl merges its journal late
}

func (o *original) open() {
	l := tiny(o.rand)
	if o.lazy {
		l.SmallPending, l.SomeMerge, l.FullMerge = 0, 0, 1<<30
	}
	var err error
	if o.db, err = start(o.dir, Options{Seed: testSeed, Limits: l}); err != nil {
		o.t.Fatal(err)
	}
	o.hand = nil
}

// kill replaces the crawl by a copy of its files, as a kill would have left them.
func (o *original) kill() {
	synctest.Wait() // wait until nothing runs, so that all copied files are of one moment
	copied := crash(o.t, o.dir)
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
	o.dir = copied
	o.open()
}

// commit waits until all submitted operations are committed. They need not be merged.
func (o *original) commit() {
	for synctest.Wait(); ; synctest.Wait() {
		if put, _ := o.db.Pending(); put == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (o *original) url() frontier.URL {
	return entry(o.t, fmt.Sprintf("http://h%d.example/%d", o.rand.IntN(4), o.rand.IntN(60))).URL
}

func (o *original) links() (all []frontier.Entry) {
	for range o.rand.IntN(25) {
		e := frontier.Entry{URL: o.url(), Depth: o.rand.IntN(3), Rank: uint8(o.rand.IntN(3)), Hops: "L", Via: "http://h0.example/", Head: o.rand.IntN(3) == 0}
		if same := o.url(); same.Site() == e.URL.Site() {
			e.Same, e.Apart = same, o.rand.IntN(3) == 0
		}
		all = append(all, e)
	}
	return all
}

// changed submits a list that says that some pages have changed.
func (o *original) changed(at time.Time) error {
	c := &frontier.Changes{Told: at, Least: time.Duration(o.rand.IntN(20)) * time.Second}
	for range 100 {
		e := frontier.Entry{URL: o.url(), Apart: o.rand.IntN(3) == 0}
		c.Pages = append(c.Pages, frontier.Change{Site: e.URL.Site(), Key: e.Key(), Time: at.Add(-time.Duration(o.rand.IntN(20)) * time.Second)})
	}
	return o.db.Submit(frontier.Completion{Links: o.links(), Changes: c})
}

// again changes c so that its entry will be fetched again after the given duration.
func again(c *frontier.Completion, at time.Time, after time.Duration) {
	c.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200, Time: at, Until: at.Add(after)}
	last := c.Fate
	last.Until = time.Time{}
	c.Entry.Tries, c.Entry.Visits = 0, &frontier.Visits{First: at, Last: last}
}

// requeue calls Requeue. If later is set, the commit that has the requeued entries does not
// merge them.
func (o *original) requeue(wanted func(frontier.Entry) bool, later bool) error {
	_, err := o.db.Requeue(wanted)
	if later {
		o.db.queue.mu.Lock()
		o.db.queue.hungry = nil
		o.db.queue.mu.Unlock()
	}
	return err
}

func (o *original) act() error {
	r, at := o.rand, o.now.Add(time.Duration(o.rand.IntN(1e6))*time.Microsecond)
	o.now = o.now.Add(time.Second)
	switch n := r.IntN(20); {
	case n < 3:
		return o.db.Submit(frontier.Completion{Links: o.links()})
	case n < 8:
		some := make([]frontier.Entry, 1+r.IntN(5))
		n, err := o.db.Read(o.url().Site(), o.now, some)
		o.hand = append(o.hand, some[:n]...)
		return err
	case n < 14 && len(o.hand) > 0:
		i := r.IntN(len(o.hand))
		e := o.hand[i]
		o.hand = slices.Delete(o.hand, i, i+1)
		c := frontier.Completion{
			Site: e.URL.Site(), Entry: e, Spent: frontier.Spent{Pages: r.IntN(100)}, Links: o.links(),
			Clocks: frontier.Clocks{Due: at, By: frontier.OwnClock}, Common: []frontier.CommonClock{{Name: "ip 192.0.2.1", Due: at}},
		}
		switch r.IntN(5) {
		case 4:
			again(&c, at, time.Duration(r.IntN(60))*time.Second)
			c.Entry.Visits.Seen = r.IntN(3)
		case 0:
			c.Entry.Tries++
			c.Entry.ByGet = e.Head
			c.Fate = frontier.Fate{Code: frontier.Waiting, Until: at}
		case 1:
			c.Fate = frontier.Fate{Code: frontier.ScopeNarrowed}
		default:
			c.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200, Time: at}
			if r.IntN(3) > 0 {
				c.Fate.Answer = frontier.Place{File: fmt.Sprintf("crawl-%05d.warc.gz", r.IntN(9)), Offset: int64(r.IntN(1e6))}
			}
		}
		return o.db.Submit(c)
	case n == 18:
		return o.changed(at)
	case n < 15:
		return o.requeue(func(e frontier.Entry) bool { return len(e.URL.Target())%2 == 0 }, r.IntN(2) == 0)
	case n < 16:
		return o.db.Put(fmt.Sprint("key", r.IntN(3)), at)
	case n < 17:
		return o.db.PutSnapshot(o.url().Site(), &robots.Snapshot{Fetched: at, Status: 200, Body: fmt.Appendf(nil, "Disallow: /%d", r.IntN(3))})
	case n < 18:
		return o.db.PutPayload("sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ23456"+string(rune('A'+r.IntN(26))), Payload{at, o.url().String()})
	}
	time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond) // in virtual time
	synctest.Wait()
	return nil
}

// unmerged has the numbers of links and of ends of entries that are in the journal and not
// merged.
type unmerged struct {
	links int
	ends  [comesForward + 1]int
}

func (u *unmerged) count(db *DB) {
	db.merging.Lock()
	defer db.merging.Unlock()
	for _, s := range db.book.pending.sites {
		u.links += len(s.links)
		for _, e := range s.ends {
			u.ends[e.what]++
		}
	}
}

// finished copies the crawl in dir, reads and kills the copy a few times, and merges
// everything. It returns the directory of the copy.
func (o *original) finished(dir string) string {
	for lives := 1 + o.rand.IntN(4); lives > 0; lives-- {
		db, err := start(dir, Options{Limits: tiny(o.rand)})
		if err != nil {
			o.t.Fatal(err)
		}
		for range o.rand.IntN(5) {
			if o.rand.IntN(2) == 0 {
				time.Sleep(time.Duration(o.rand.IntN(30)) * time.Millisecond)
				synctest.Wait()
			} else if _, err := db.Read(o.url().Site(), o.now, make([]frontier.Entry, 1+o.rand.IntN(9))); err != nil {
				o.t.Fatal(err)
			}
		}
		copied := dir
		if lives > 1 && o.rand.IntN(2) == 0 {
			synctest.Wait()
			copied = crash(o.t, dir)
		}
		if err := db.Close(); err != nil {
			o.t.Fatal(err)
		}
		dir = copied
	}
	return dir
}

// The same committed operations make the same state, however they are merged, and with any
// reads, kills and restarts in between.
func TestMergesMakeTheSameState(t *testing.T) {
	var mu sync.Mutex
	var pending unmerged
	t.Cleanup(func() { // runs after all seeds
		if pending.links == 0 || slices.Contains(pending.ends[:], 0) {
			t.Errorf("something was always merged before: %+v", pending)
		}
	})
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 11))
				o := &original{t: t, rand: r, dir: t.TempDir(), now: time.Now()}
				o.open()
				for n := range 300 {
					if err := o.act(); err != nil {
						t.Fatal(err)
					}
					switch {
					case n == 299 || r.IntN(40) == 0:
						all := func(frontier.Entry) bool { return true }
						if err := errors.Join(o.changed(o.now), o.requeue(all, true)); err != nil {
							t.Fatal(err)
						}
						o.commit()
						mu.Lock()
						pending.count(o.db)
						mu.Unlock()
						copies := []string{crash(t, o.dir), crash(t, o.dir)}
						if err := o.db.Close(); err != nil {
							t.Fatal(err)
						}
						checked(t, o.dir)
						want := dump(t, o.dir)
						if n == 299 && len(want) < 100 {
							t.Errorf("%d lines: not much of a crawl", len(want))
						}
						for _, dir := range copies {
							dir = o.finished(dir)
							checked(t, dir)
							same(t, dump(t, dir), want)
						}
						o.open()
					case r.IntN(80) == 0:
						o.kill()
					}
				}
				if err := o.db.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// same fails the test at the first line in which two dumps differ.
func same(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d:\ngot  %s\nwant %s", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
}

func TestASeedIsKept(t *testing.T) {
	dir := t.TempDir()
	for _, seed := range []uint64{testSeed, 0, testSeed + 1} {
		db, err := start(dir, Options{Seed: seed})
		if err != nil || db.seed != testSeed {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
