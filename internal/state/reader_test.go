package state

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// says has the methods that a DB and a Reader have in common.
type says interface {
	Sites() iter.Seq2[frontier.SiteState, error]
	State(frontier.Site) (frontier.SiteState, error)
	Common() iter.Seq2[frontier.CommonClock, error]
	Entry(frontier.Site, ...string) (Kept, bool, error)
	Entries(frontier.Site) iter.Seq2[Kept, error]
	Names() iter.Seq2[frontier.Site, error]
	Get(string, any) (bool, error)
	Keys(string) iter.Seq2[string, error]
}

// inWords returns all fields of an entry as text.
func inWords(k Kept) string {
	visits := ""
	if k.Visits != nil {
		visits = fmt.Sprintf("%+v", *k.Visits)
		k.Visits = nil
	}
	return fmt.Sprintf("%+v %s", k, visits)
}

// saidBy calls all methods of s for a crawl of an original, and returns the results as text.
func saidBy(t *testing.T, s says) map[string]string {
	t.Helper()
	said := map[string]string{}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reader, reads := s.(*Reader)
	var sites []frontier.SiteState
	for st, err := range s.Sites() {
		check(err)
		sites = append(sites, st)
		again, err := s.State(st.Site)
		check(err)
		if again != st {
			t.Errorf("State says %+v, Sites %+v", again, st)
		}
	}
	for c, err := range s.Common() {
		check(err)
		said["clock "+c.Name] = fmt.Sprint(c.Due)
	}
	for h := range 4 {
		kept := map[string]Kept{}
		number, links, left := 0, 0, 0
		site := frontier.Site(fmt.Sprintf("http://h%d.example", h))
		for k, err := range s.Entries(site) {
			check(err)
			if !k.Fate.Ends() {
				left++
			}
			if _, twice := kept[k.Key()]; twice {
				t.Errorf("Entries have %s twice", k.Key())
			}
			kept[k.Key()] = k
			said["entry "+k.Key()] = inWords(k)
			if k.Number == 0 {
				links++
			}
			if links == 0 && k.Number != number+1 || links > 0 && k.Number != 0 {
				t.Errorf("%s has the number %d, after %d", k.URL, k.Number, number)
			}
			number = k.Number
		}
		st, err := s.State(site)
		check(err)
		if reads {
			checkQueued(t, reader, site, kept)
			if st.Known != len(kept) || st.Left() != left {
				t.Errorf("%s has %d entries, and %d are left; its state has %d and %d", site, len(kept), left, st.Known, st.Left())
			}
			st.Known, st.Queued = st.Known-links, st.Queued-links // a DB does not count the links in its journal
		}
		if links > 0 {
			st.Ready, st.Head = false, 0
		}
		said["site "+string(site)] = fmt.Sprintf("%+v", st)
		for i := range 60 {
			u := entry(t, fmt.Sprintf("http://h%d.example/%d", h, i)).URL
			apart := frontier.Entry{URL: u, Apart: true}
			want, wanted := kept[apart.Key()]
			if !wanted {
				want, wanted = kept[u.Key()]
			}
			if again, ok, err := entryOf(s, u); err != nil || ok != wanted || inWords(again) != inWords(want) {
				t.Errorf("Entries have %s, Entry %s, %v, %v", inWords(want), inWords(again), ok, err)
			}
			fate, ok, err := fateFor(s, u)
			check(err)
			if ok != wanted || fate != want.Fate {
				t.Errorf("Entries have %+v, Fate says %+v, %v", want, fate, ok)
			}
			said["fate "+u.String()] = fmt.Sprintf("%+v %v", fate, ok)
		}
	}
	var names []frontier.Site
	for name, err := range s.Names() {
		check(err)
		names = append(names, name)
	}
	said["names"] = fmt.Sprint(names)
	if !slices.IsSorted(names) || len(names) < len(sites) {
		t.Errorf("the names are %q, the sites %d", names, len(sites))
	}
	for key, err := range s.Keys("") {
		check(err)
		var value any
		_, err = s.Get(key, &value)
		check(err)
		said["value "+key] = fmt.Sprint(value)
	}
	return said
}

// checkQueued fails unless Queued returns the entries in kept that have not ended, in its order.
func checkQueued(t *testing.T, r *Reader, site frontier.Site, kept map[string]Kept) {
	t.Helper()
	queued, last := map[string]bool{}, frontier.Entry{}
	for e, err := range r.Queued(site) {
		if err != nil {
			t.Fatal(err)
		}
		k, known := kept[e.Key()]
		if k.ID = e.ID; !known || queued[e.Key()] || k.Fate.Ends() || inWords(Kept{Entry: e}) != inWords(Kept{Entry: k.Entry}) {
			t.Errorf("Queued has %+v, twice: %v; Entries have %s, %v", e, queued[e.Key()], inWords(k), known)
		}
		if inQueue(last, e) > 0 {
			t.Errorf("Queued has %+v after %+v", e, last)
		}
		queued[e.Key()], last = true, e
	}
	for key, k := range kept {
		if !k.Fate.Ends() && !queued[key] {
			t.Errorf("Queued does not have %s", inWords(k))
		}
	}
}

// After a kill with unmerged completions and links in the journal, a Reader returns the same as the
// DB that is opened next. In addition it counts the links. The Reader changes nothing.
func TestAReaderSaysWhatIsCommitted(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			o := &original{t: t, rand: rand.New(rand.NewPCG(seed, 12)), dir: t.TempDir(), now: time.Now()}
			o.open()
			for range 120 {
				if err := o.act(); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			dir := crash(t, o.dir)
			if err := o.db.Close(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, File))
			if err != nil {
				t.Fatal(err)
			}
			one, err := OpenReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			two, err := OpenReader(dir)
			if err != nil {
				t.Fatalf("a second one: %v", err)
			}
			got := saidBy(t, one)
			if !maps.Equal(got, saidBy(t, two)) || len(got) < 240 {
				t.Errorf("two say %d things, and not the same", len(got))
			}
			if b := one.Begun(); !b.Unclean {
				t.Errorf("%+v", b)
			}
			var inUse *InUseError
			if _, err := Open(dir, Options{}); !errors.As(err, &inUse) {
				t.Errorf("Open beside a reader: %v", err)
			}
			if err := errors.Join(one.Close(), two.Close()); err != nil {
				t.Error(err)
			}
			if _, err := one.State("http://h0.example"); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if after, err := os.ReadFile(filepath.Join(dir, File)); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the file was changed: %v", err)
			}
			l := Usual
			l.SmallPending, l.SomeMerge, l.FullMerge = 0, 0, 1<<30
			db, err := start(dir, Options{Limits: &l})
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range saidBy(t, db) {
				if got[key] != want {
					t.Errorf("%s: %s, a DB says %s", key, got[key], want)
				}
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Snapshots returns all copies of a site's robots.txt and no copy of another site, even if the
// wall clock was set back between them.
func TestAReaderHasAllSnapshots(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, hours := range []int{1, 5, 3, 4} { // the clock was ahead and was set back
		for _, site := range []frontier.Site{"http://a.example", "http://a.example:81", "http://b.example"} {
			s := &robots.Snapshot{Fetched: at.Add(time.Duration(hours) * time.Hour), Status: 200, Body: fmt.Appendf(nil, "%s %d", site, hours)}
			if err := db.PutSnapshot(site, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	bodies := func(site frontier.Site, most int) (all []string) {
		for s, err := range r.Snapshots(site) {
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, string(s.Body)); len(all) == most {
				break
			}
		}
		return all
	}
	for _, c := range []struct {
		site frontier.Site
		most int
		want []string
	}{
		{"http://a.example", 9, []string{"http://a.example 1", "http://a.example 3", "http://a.example 4", "http://a.example 5"}},
		{"http://b.example", 2, []string{"http://b.example 1", "http://b.example 3"}},
		{"http://c.example", 9, nil}, {"http://a", 9, nil},
	} {
		if got := bodies(c.site, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.site, got, c.want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Snapshots("http://a.example") {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A Reader has the entries that were put aside and are queued again, also if only the journal says
// so.
func TestAReaderHasWhatComesBack(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	site := frontier.Site("http://a.example")
	for i := range 4 {
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, fmt.Sprintf("%s/%d", site, i))}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, db, 4)
	read := make([]frontier.Entry, 3)
	n, err := db.Read(site, time.Now(), read)
	if err != nil || n != len(read) {
		t.Fatal(n, err)
	}
	for _, e := range read {
		if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.ScopeNarrowed}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, db, 3)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l := Usual
	l.SmallPending, l.SomeMerge, l.FullMerge = 0, 0, 1<<30
	if db, err = start(dir, Options{Limits: &l}); err != nil {
		t.Fatal(err)
	}
	var back []named // as Requeue queues them, but without the merge that it requests
	for _, e := range read[1:] {
		_, num := splitID(e.ID)
		back = append(back, named{fingerprint(e.Key(), db.seed), num})
	}
	num, _ := splitID(read[0].ID)
	e := encodeBack(site, num, back)
	if err := db.enqueue(op{completion: &e}); err != nil {
		t.Fatal(err)
	}
	if err := db.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	killed := crash(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(killed)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s := r.db.book.pending.sites[site]; s == nil || len(s.ends) != 2 {
		t.Fatalf("the journal does not have what comes back: %+v", s)
	}
	kept := map[string]Kept{}
	for k, err := range r.Entries(site) {
		if err != nil {
			t.Fatal(err)
		}
		kept[k.Key()] = k
	}
	checkQueued(t, r, site, kept)
	if st, err := r.State(site); err != nil || st.Known != 4 || st.Queued != 3 {
		t.Errorf("%+v, %v", st, err)
	}
}
