package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Requeue queues each wanted entry that ended out of scope again, once and unchanged.
func TestWhatIsOutOfScopeIsOnlySetAside(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const hosts, each = 3, 2000 // so many entries that Requeue needs several commits
	var links []frontier.Entry
	for h := range hosts {
		for i := range each {
			u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", h, i))
			if err != nil {
				t.Fatal(err)
			}
			links = append(links, frontier.Entry{URL: u, Hops: "LL", Depth: 2, Rank: 3, Via: "http://via.example/", Tag: "tag"})
		}
	}
	submits := 0
	submit := func(c frontier.Completion) {
		t.Helper()
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		submits++
	}
	wait := func() map[frontier.Site]frontier.SiteState {
		n := submits
		submits = 0
		return settle(t, db, n)
	}
	submit(frontier.Completion{Links: links})
	wait()
	end := func(fate func(i int) frontier.Code) {
		for h := range hosts {
			site := links[h*each].URL.Site()
			buf := make([]frontier.Entry, each)
			n, err := db.Read(site, time.Now(), buf)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range buf[:n] {
				submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: fate(i), Status: 200}})
			}
		}
	}
	end(func(i int) frontier.Code {
		if i%2 == 0 {
			return frontier.Fetched
		}
		return frontier.ScopeNarrowed
	})
	wait()
	if n, err := db.Requeue(func(frontier.Entry) bool { return false }); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, dir)

	db = open(t, dir)
	last := links[len(links)-1].URL.Site()
	n, err := db.Requeue(func(e frontier.Entry) bool {
		db.file.mu.Lock() // the file must not be locked while the caller's function runs
		defer db.file.mu.Unlock()
		return e.URL.Site() != last
	})
	if want := (hosts - 1) * each / 2; n != want || err != nil {
		t.Fatalf("%d come back, want %d: %v", n, want, err)
	}
	submit(frontier.Completion{})
	for site, st := range wait() {
		if site != last && (st.Queued != each/2 || !st.Ready || st.Head != 3) || site == last && st.Queued != 0 {
			t.Errorf("%+v", st)
		}
	}
	if n, err := db.Requeue(func(e frontier.Entry) bool { return e.URL.Site() != last }); n != 0 || err != nil {
		t.Errorf("%d come back twice: %v", n, err)
	}
	for e, err := range db.Queued(links[0].URL.Site()) {
		if want := links[1]; err != nil || e.Via != want.Via || e.Tag != want.Tag || e.Hops != want.Hops || e.Tries != 0 {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
	end(func(int) frontier.Code { return frontier.Fetched })
	wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, dir)
}
