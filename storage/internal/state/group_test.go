package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

var replicas = flag.Int("replicas", 6, "crawls whose groups are applied to others")

// A tape is a Log that keeps all groups.
type tape struct {
	groups [][]byte // groups[i] has position i+1
	refuse error
}

func (l *tape) Append(after uint64, group []byte) (uint64, error) {
	if l.refuse != nil {
		return 0, l.refuse
	}
	if after != uint64(len(l.groups)) {
		return 0, fmt.Errorf("the last group is %d, not %d", len(l.groups), after)
	}
	l.groups = append(l.groups, bytes.Clone(group))
	return after + 1, nil
}

// together returns several groups as one.
func together(groups [][]byte) []byte {
	all := bytes.Clone(groups[0])
	for _, g := range groups[1:] {
		all = append(all, g[groupHead:]...)
	}
	return all
}

// tiny returns limits with which a few links make several rows, blocks and slices.
func tiny(r *rand.Rand) *Limits {
	return &Limits{
		SmallPending: r.IntN(4), SomeMerge: 1 + r.IntN(40), FullMerge: 1 + r.IntN(80),
		Slice: 1 + r.IntN(40), MaxSlice: 1 + r.IntN(6), RowSize: 1 + r.IntN(400), MaxBlock: 2 + r.IntN(5), Payloads: 1 + r.IntN(6),
		Sift: r.IntN(2) << 30, Queue: 1 + r.IntN(4), QueueLinks: 1 + r.IntN(9), QueueBytes: 1 + r.IntN(4000),
	}
}

const testSeed = 7

// An original is a crawl of random visits whose groups are on tape.
type original struct {
	t    *testing.T
	rand *rand.Rand
	dir  string
	db   *DB
	tape *tape
	now  time.Time
	hand []frontier.Entry
}

// open opens the crawl, and applies the groups that its log has and its file lacks.
func (o *original) open() {
	var err error
	if o.db, err = start(o.dir, Options{Seed: testSeed, Log: o.tape, Limits: tiny(o.rand)}); err != nil {
		o.t.Fatal(err)
	}
	for at := o.db.Position(); at < uint64(len(o.tape.groups)); at++ {
		if err := o.db.Apply(at+1, o.tape.groups[at]); err != nil {
			o.t.Fatal(err)
		}
	}
	for o.db.Position() < uint64(len(o.tape.groups)) { // entries that have ended there must not be read here
		time.Sleep(time.Millisecond)
		synctest.Wait()
	}
	o.hand = nil
}

// kill continues with the files that a kill would have left.
func (o *original) kill() {
	synctest.Wait() // a copy is of one moment, like the files after a kill
	copied := crash(o.t, o.dir)
	kept := len(o.tape.groups)
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
	// Groups that the old process added to the log were added before it was killed.
	if o.rand.IntN(2) == 0 {
		o.tape.groups = o.tape.groups[:kept]
	}
	o.dir = copied
	o.open()
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
			c.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200, Time: at, Until: at.Add(time.Duration(r.IntN(60)) * time.Second)}
			last := c.Fate
			last.Until = time.Time{}
			c.Entry.Tries, c.Entry.Visits = 0, &frontier.Visits{First: at, Seen: r.IntN(3), Last: last}
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
		c := &frontier.Changes{Told: at, Least: time.Duration(r.IntN(20)) * time.Second}
		for range 100 {
			e := frontier.Entry{URL: o.url(), Apart: r.IntN(3) == 0}
			c.Pages = append(c.Pages, frontier.Change{Site: e.URL.Site(), Key: e.Key(), Time: at.Add(-time.Duration(r.IntN(20)) * time.Second)})
		}
		return o.db.Submit(frontier.Completion{Links: o.links(), Changes: c})
	case n < 15:
		_, err := o.db.Requeue(func(e frontier.Entry) bool { return len(e.URL.Target())%2 == 0 })
		return err
	case n < 16:
		return o.db.Put(fmt.Sprint("key", r.IntN(3)), at)
	case n < 17:
		return o.db.PutSnapshot(o.url().Site(), &robots.Snapshot{Fetched: at, Status: 200, Body: fmt.Appendf(nil, "Disallow: /%d", r.IntN(3))})
	case n < 18:
		return o.db.PutPayload("sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ23456"+string(rune('A'+r.IntN(26))), Payload{at, o.url().String()})
	}
	time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond) // virtual
	synctest.Wait()
	return nil
}

// forwards returns how often the tape brings an entry forward.
func (o *original) forwards() (n int) {
	for _, g := range o.tape.groups {
		ops, err := decodeGroup(testSeed, g)
		if err != nil {
			o.t.Fatal(err)
		}
		for _, op := range ops {
			if op.completion != nil {
				n += len(op.completion.forwards)
			}
		}
	}
	return n
}

// replay applies the groups to another file, grouped differently, with reads and kills in
// between.
func replay(t *testing.T, r *rand.Rand, groups [][]byte, now time.Time) string {
	dir := t.TempDir()
	opts := Options{Seed: testSeed, Limits: tiny(r)}
	db, err := start(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(groups); {
		n := min(1+r.IntN(9), len(groups)-at)
		if err := db.Apply(uint64(at+n), together(groups[at:at+n])); err != nil {
			t.Fatal(err)
		}
		at += n
		switch r.IntN(8) {
		case 0, 1, 2:
			site := frontier.Site(fmt.Sprintf("http://h%d.example", r.IntN(4)))
			if _, err := db.Read(site, now, make([]frontier.Entry, 1+r.IntN(9))); err != nil {
				t.Fatal(err)
			}
		case 3, 4:
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
			synctest.Wait()
		case 5:
			if r.IntN(3) == 0 {
				synctest.Wait()
				copied := crash(t, dir)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				dir, opts.Limits = copied, tiny(r)
			} else if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if db, err = start(dir, opts); err != nil {
				t.Fatal(err)
			}
			if at = int(db.Position()); at > len(groups) {
				t.Fatalf("position %d of %d", at, len(groups))
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func dump(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := Dump(dir)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Two files that were given the same operations have the same contents, however these were
// grouped, with any reads, merges, kills and closes in between.
func TestGroupsMakeTheSameState(t *testing.T) {
	var forward atomic.Int64
	t.Cleanup(func() { // after all seeds
		if forward.Load() == 0 {
			t.Error("no entry was brought forward")
		}
	})
	for seed := range uint64(*replicas) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 11))
				o := &original{t: t, rand: r, dir: t.TempDir(), tape: &tape{}, now: time.Now()}
				o.open()
				for range 300 {
					if err := o.act(); err != nil {
						t.Fatal(err)
					}
					if r.IntN(80) == 0 {
						o.kill()
					}
				}
				if err := o.db.Close(); err != nil {
					t.Fatal(err)
				}
				checked(t, o.dir)
				want := dump(t, o.dir)
				forward.Add(int64(o.forwards()))
				if len(o.tape.groups) < 30 || len(want) < 100 {
					t.Fatalf("%d groups, %d lines: not much of a crawl", len(o.tape.groups), len(want))
				}
				for range 3 {
					dir := replay(t, r, o.tape.groups, o.now)
					checked(t, dir)
					same(t, dump(t, dir), want)
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

// A group that the Log refuses is not committed, and all callers get its error.
func TestARefusedGroupNeverHappened(t *testing.T) {
	dir := t.TempDir()
	log := &tape{}
	db, err := start(dir, Options{Gather: -1, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(url string) {
		t.Helper()
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, url)}}); err != nil {
			t.Fatal(err)
		}
	}
	submit("http://a.example/1")
	settle(t, db, 1)
	if got := db.Position(); got != 1 {
		t.Errorf("position %d", got)
	}
	log.refuse = errors.New("another process has resumed this crawl")
	submit("http://a.example/2")
	var damaged *DamagedError
	if g := <-db.Grown(); !errors.Is(g.Err, log.refuse) || errors.As(g.Err, &damaged) {
		t.Errorf("Grown: %v", g.Err)
	}
	if err := db.Put("key", 1); !errors.Is(err, log.refuse) {
		t.Errorf("Put: %v", err)
	}
	if err := db.Close(); !errors.Is(err, log.refuse) {
		t.Errorf("Close: %v", err)
	}
	if done := checked(t, dir); done.Entries != 1 || !done.Unclean {
		t.Errorf("%+v", done)
	}
	again, err := start(dir, Options{Gather: -1, Log: &tape{groups: log.groups}})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Position(); got != 1 {
		t.Errorf("position %d after it was opened again", got)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if len(log.groups) != 1 {
		t.Errorf("%d groups, want one that is not empty", len(log.groups))
	}
}

// A group that cannot be applied is an error, and changes nothing.
func TestWhatCannotBeApplied(t *testing.T) {
	whole := binary.BigEndian.AppendUint64([]byte{groupForm}, testSeed)
	other := binary.BigEndian.AppendUint64([]byte{groupForm}, testSeed+1)
	for name, c := range map[string]struct {
		group []byte
		want  string
	}{
		"empty":         {nil, "not of the form"},
		"a later form":  {append([]byte{groupForm + 1}, whole[1:]...), "not of the form"},
		"another seed":  {other, "Options.Seed"},
		"cut":           {append(bytes.Clone(whole), groupValue, 9, 1), "before byte 12 of it is not as it was written"},
		"unknown kind":  {append(bytes.Clone(whole), 'x', 0), "not as it was written"},
		"no completion": {append(bytes.Clone(whole), groupCompletion, 1, 0xff), "not as it was written"},
		"no JSON":       {append(bytes.Clone(whole), groupValue, 3, 1, 'k', '{'), "not as it was written"},
		"no snapshot":   {append(bytes.Clone(whole), groupSnapshot, 3, 1, 's', '{'), "not as it was written"},
		"no payload":    {append(bytes.Clone(whole), groupPayload, 2, 1, 'd'), "not as it was written"},
		"no digest":     {append(bytes.Clone(whole), groupPayload, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0), "not as it was written"},
		"after another": {append(bytes.Clone(whole), groupValue, 3, 1, 'k', '1', groupValue), "not as it was written"},
	} {
		db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Apply(1, c.group); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "group 1") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := db.Apply(1, whole); err != nil {
			t.Errorf("an empty group: %v", err)
		}
		if err := db.Put("key", 1); err != nil {
			t.Error(err)
		}
		if err := db.Apply(2, whole); !errors.Is(err, ErrNotAlone) {
			t.Errorf("after Put: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestASeedIsKept(t *testing.T) {
	dir := t.TempDir()
	for _, seed := range []uint64{testSeed, 0, testSeed} {
		db, err := start(dir, Options{Seed: seed})
		if err != nil || db.seed != testSeed {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var damaged *DamagedError
	if _, err := Open(dir, Options{Seed: 8}); err == nil || errors.As(err, &damaged) {
		t.Errorf("another seed: %v", err)
	}
}

// Any bytes are refused, or are a group that has the same meaning after it is encoded
// again.
func FuzzGroup(f *testing.F) {
	db := &DB{cache: newKnownCache(), seed: testSeed}
	var ops []op
	for _, e := range encodings(f, db) {
		ops = append(ops, op{completion: &e})
	}
	back := encodeBack("http://a.example", 1, []named{{7, 1}, {8, 2}})
	value, err := encode("v")
	if err != nil {
		f.Fatal(err)
	}
	ops = append(ops, op{completion: &back}, op{key: "k", value: value}, op{digest: "d", payload: &Payload{then, "http://a.example/"}},
		op{site: "http://a.example", snapshot: &robots.Snapshot{Status: 200, Body: []byte("x")}})
	group, err := encodeGroup(testSeed, ops)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(group)
	f.Fuzz(func(t *testing.T, group []byte) {
		ops, err := decodeGroup(testSeed, group)
		if err != nil {
			return
		}
		again, err := encodeGroup(testSeed, ops)
		if err != nil {
			t.Fatal(err)
		}
		same, err := decodeGroup(testSeed, again)
		if err != nil || len(same) != len(ops) {
			t.Errorf("%d things of %d, %v", len(same), len(ops), err)
		}
	})
}
