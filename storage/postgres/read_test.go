//go:build unix

package postgres

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// The due time of a retry is stored when the answers of the database are slow, so it is stored as a
// time that is a little later. When the frontier asks for the entry, the answers are fast again, and
// the entry is not due yet. The node reports when it will be.
func TestARetryThatIsDueALittleLater(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	db.clock.same = false
	take(t, db)
	e := statetest.Entry(t, "http://a.example/")
	site := e.URL.Site()
	submit(t, db, e)
	told(t, db, site)
	var entries [8]frontier.Entry
	read := func(now time.Time) int {
		t.Helper()
		n, err := db.Read(site, now, entries[:])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := read(time.Now()); n != 1 {
		t.Fatalf("%d entries", n)
	}
	const slow = 300 * time.Millisecond
	due := time.Now().Add(time.Minute)
	db.clock.upper.Add(int64(slow))
	if err := db.Submit(frontier.Completion{Site: site, Entry: entries[0], Fate: frontier.Fate{Code: frontier.Waiting, Until: due}}); err != nil {
		t.Fatal(err)
	}
	if st := statetest.Settle(t, db, 1)[site]; !st.Waiting.Equal(due) {
		t.Fatalf("waits until %v, want %v", st.Waiting, due)
	}
	db.clock.upper.Add(-int64(slow))

	if n := read(due); n != 0 {
		t.Fatal("the entry is already due, so this test shows nothing")
	}
	var next time.Time
	select {
	case g := <-db.Grown():
		for _, st := range g.Sites {
			next = st.Waiting
		}
	default:
	}
	if later := next.Sub(due); later <= 0 || later > time.Minute {
		t.Fatalf("the next due time is %v, want a little after %v", next, due)
	}
	if n := read(next); n != 1 {
		t.Errorf("%d entries are due then", n)
	}
}

// Entry returns the entry with the first key that is known, also if the state has entries with several
// of the keys.
func TestTheFirstKnownKeyCounts(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	take(t, db)
	own, apart := statetest.Entry(t, "http://a.example/"), statetest.Entry(t, "http://a.example/")
	apart.Apart = true
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{own, apart}}); err != nil {
		t.Fatal(err)
	}
	for g := <-db.Grown(); g.Settled == 0; g = <-db.Grown() {
		if g.Err != nil {
			t.Fatal(g.Err)
		}
	}
	for _, test := range []struct {
		keys  []string
		apart bool
	}{{[]string{apart.Key(), own.Key()}, true}, {[]string{own.Key(), apart.Key()}, false}, {[]string{"/no", own.Key(), apart.Key()}, false}, {[]string{"/no", apart.Key()}, true}} {
		k, ok, err := db.Entry("http://a.example", test.keys...)
		if !ok || k.Apart != test.apart || err != nil {
			t.Errorf("%q: apart %v, %v, %v", test.keys, k.Apart, ok, err)
		}
	}
	if _, ok, err := db.Entry("http://a.example", "/no"); ok || err != nil {
		t.Errorf("a key that is not known: %v, %v", ok, err)
	}
}
