package state

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// Entries returns all entries of a site with more entries than one transaction reads. They have
// the order in which they were found, with any rank, and whether they wait, are queued or have
// ended.
func TestEntriesComeInTheOrderInWhichTheyWereFound(t *testing.T) {
	dir := t.TempDir()
	db, err := start(dir, Options{Gather: -1, Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*keptAtOnce + 7
	const site = frontier.Site("http://a.example")
	links := make([]frontier.Entry, 0, n)
	for i := range n {
		e := entry(t, fmt.Sprintf("%s/%d", site, i))
		e.Rank, e.Via, e.Hops, e.Depth, e.Tag = []uint8{0, 7, 255}[i%3], "http://b.example/from", "LL", 2, "news"
		links = append(links, e)
	}
	submitted(t, db, frontier.Completion{Links: links})
	read := make([]frontier.Entry, n)
	if got, err := db.Read(site, time.Now(), read); got != n || err != nil {
		t.Fatal(got, err)
	}
	due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	want := map[string]frontier.Fate{}
	for _, e := range read {
		f := frontier.Fate{}
		switch e.ID % 5 {
		case 0:
			f = frontier.Fate{Code: frontier.Fetched, Status: 200, Answer: frontier.Place{File: "a.warc.gz", Offset: int64(e.ID)}}
		case 1:
			f = frontier.Fate{Code: frontier.Waiting, Until: due.Add(-time.Duration(e.ID) * time.Second)}
			e.Tries = 2
		case 2:
			f = frontier.Fate{Code: frontier.Fetched, Status: 200, Until: due.Add(-time.Duration(e.ID) * time.Second), Answer: frontier.Place{File: "b.warc.gz", Offset: int64(e.ID)}}
			e.Tries, e.Visits = 3, &frontier.Visits{First: due, Seen: int(e.ID), Changes: 1}
		default:
			continue
		}
		want[e.URL.String()] = f
		if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: f}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	i := 0
	for k, err := range r.Entries(site) {
		if err != nil {
			t.Fatal(err)
		}
		e := links[i]
		i++
		if k.Number != i || k.URL != e.URL || k.Rank != e.Rank || k.Via != e.Via || k.Hops != e.Hops || k.Tag != e.Tag || k.Depth != e.Depth {
			t.Fatalf("at %d: %+v, want %+v", i, k, e)
		}
		f := want[e.URL.String()]
		if !k.Fate.Until.Equal(f.Until) || k.Fate.Code != f.Code || k.Fate.Answer != f.Answer || (f.Code == frontier.Waiting) != (k.Tries == 2) ||
			f.Again() != (k.Visits != nil) || f.Again() && (k.Visits.Seen != int(k.ID) || k.Visits.Last.Answer != f.Answer || !k.Visits.First.Equal(due)) {
			t.Fatalf("%s: %+v after %d tries, want %+v", k.URL, k.Fate, k.Tries, f)
		}
	}
	if i != n {
		t.Errorf("%d entries, want %d", i, n)
	}
	for k := range r.Entries(site) { // the body of the loop may end it early
		if k.Number != 1 {
			t.Errorf("the first has the number %d", k.Number)
		}
		break
	}
	for k := range r.Entries("http://none.example") {
		t.Errorf("a site that is not known has %+v", k)
	}
}

// Ahead counts the entries with a lower rank, and those with the same rank that are older. It
// does not count waiting entries.
func TestWhatIsAheadComesFirst(t *testing.T) {
	db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var links []frontier.Entry
	for i, rank := range []uint8{5, 1, 5, 0, 1} {
		e := entry(t, fmt.Sprintf("http://a.example/%d", i))
		e.Rank = rank
		links = append(links, e)
	}
	submitted(t, db, frontier.Completion{Links: links})
	for i, want := range []int{3, 1, 4, 0, 2} {
		k, ok, err := entryOf(db, links[i].URL)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if n, err := db.Ahead(k); n != want || err != nil {
			t.Errorf("%d are ahead of %s, %v, want %d", n, k.URL, err, want)
		}
	}
	if n, err := db.Ahead(Kept{Entry: entry(t, "http://none.example/")}); n != 0 || err != nil {
		t.Errorf("of a site that is not known: %d, %v", n, err)
	}
}

// Names returns each site once, in byte order, if there are more sites than one transaction
// reads.
func TestNamesComeSorted(t *testing.T) {
	db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	var want []frontier.Site
	var links []frontier.Entry
	for i := range 2*namesAtOnce + 3 {
		e := entry(t, fmt.Sprintf("http://h%d.example/", i*7919%1000))
		links, want = append(links, e), append(want, e.URL.Site())
	}
	submitted(t, db, frontier.Completion{Links: links})
	slices.Sort(want)
	var got []frontier.Site
	for name, err := range db.Names() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d names, want %d: %q", len(got), len(want), got)
	}
	for range db.Names() { // the body of the loop may end it early
		break
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range db.Names() {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	for _, err := range db.Entries(want[0]) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// Entries and Entry return entries that were found, have ended or became due earlier, before
// these changes are merged.
func TestEntriesAreKnownBeforeTheyAreMerged(t *testing.T) {
	var pending unmerged
	found := 0
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			o := &original{t: t, rand: rand.New(rand.NewPCG(seed, 13)), dir: t.TempDir(), now: time.Now(), lazy: true}
			o.open()
			for n := range 150 {
				if err := o.act(); err != nil {
					t.Fatal(err)
				}
				if n != 100 {
					continue
				}
				for _, e := range o.hand { // end the entries so that they wait to be fetched again, because changed makes such entries due earlier
					c := frontier.Completion{Site: e.URL.Site(), Entry: e}
					again(&c, o.now, time.Hour)
					if err := o.db.Submit(c); err != nil {
						t.Fatal(err)
					}
				}
				o.hand = nil
			}
			for range 3 {
				if err := o.changed(o.now); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.requeue(func(frontier.Entry) bool { return true }, true); err != nil {
				t.Fatal(err)
			}
			o.commit()
			pending.count(o.db)
			copied := crash(t, o.dir)
			if err := o.db.Close(); err != nil { // Close merges the rest
				t.Fatal(err)
			}
			got, unmerged := entriesIn(t, copied)
			found += unmerged
			want, _ := entriesIn(t, o.dir)
			if !maps.Equal(got, want) || len(got) < 100 {
				t.Errorf("%d entries, %d not merged, want %d", len(got), unmerged, len(want))
				for u := range want {
					if got[u] != want[u] {
						t.Fatalf("%s: %s, want %s", u, got[u], want[u])
					}
				}
			}
		})
	}
	if found == 0 || slices.Contains(pending.ends[:], 0) {
		t.Errorf("%d entries are not merged: %+v", found, pending)
	}
}

// entriesIn returns all entries of the crawl in dir as text, by URL. unmerged is the number of
// those entries that have no number yet.
func entriesIn(t *testing.T, dir string) (all map[string]string, unmerged int) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all = map[string]string{}
	kept := map[string]Kept{}
	for site, err := range r.Names() {
		if err != nil {
			t.Fatal(err)
		}
		for k, err := range r.Entries(site) {
			if err != nil {
				t.Fatal(err)
			}
			if k.Number == 0 {
				unmerged++
			}
			kept[k.Key()] = k
			all[k.Key()] = fmt.Sprintf("%s from %s by %s, %+v", k.URL, k.Via, k.Hops, k.Fate)
		}
	}
	for _, k := range kept {
		apart := frontier.Entry{URL: k.URL, Apart: true}
		want, wanted := kept[apart.Key()]
		if !wanted {
			want, wanted = kept[k.URL.Key()]
		}
		if again, ok, err := entryOf(r, k.URL); ok != wanted || err != nil ||
			!statetest.SameEntry(again.Entry, want.Entry) || again.Fate != want.Fate || again.Number != want.Number {
			t.Errorf("Entry says %+v, %v, %v, Entries %+v", again, ok, err, want)
		}
	}
	return all, unmerged
}

// While the crawl continues, Entries returns each entry once and in order. Entries that are
// found meanwhile come last.
func TestEntriesComeOnceWhileTheCrawlGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := start(t.TempDir(), Options{Seed: testSeed, Limits: tiny(rand.New(rand.NewPCG(1, 1)))})
		if err != nil {
			t.Fatal(err)
		}
		const site = frontier.Site("http://a.example")
		const n = keptAtOnce + 500
		link := func(i int) frontier.Completion {
			return frontier.Completion{Links: []frontier.Entry{entry(t, fmt.Sprintf("%s/%d", site, i))}}
		}
		for i := range n {
			if err := db.Submit(link(i)); err != nil {
				t.Fatal(err)
			}
		}
		settle(t, db, n)
		buf := make([]frontier.Entry, n)
		done, seen, last := 0, map[string]bool{}, 0
		for k, err := range db.Entries(site) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[k.URL.String()] || k.Number != 0 && k.Number <= last {
				t.Fatalf("%s with the number %d comes again, after %d", k.URL, k.Number, last)
			}
			seen[k.URL.String()], last = true, max(last, k.Number)
			if len(seen)%100 != 0 {
				continue
			}
			got, err := db.Read(site, time.Now(), buf[:7])
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range buf[:got] {
				done++
				if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Submit(link(n + done)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if len(seen) < n || done == 0 {
			t.Errorf("%d entries came, want %d, %d ended meanwhile", len(seen), n, done)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// entryOf returns the entry of u: that with Entry.Apart, or else that with the key of u.
func entryOf(from interface {
	Entry(frontier.Site, ...string) (Kept, bool, error)
}, u frontier.URL) (Kept, bool, error) {
	apart := frontier.Entry{URL: u, Apart: true}
	return from.Entry(u.Site(), apart.Key(), u.Key())
}

// fateFor returns the fate of the entry of u.
func fateFor(from interface {
	Entry(frontier.Site, ...string) (Kept, bool, error)
}, u frontier.URL) (frontier.Fate, bool, error) {
	k, ok, err := entryOf(from, u)
	return k.Fate, ok, err
}
