package state

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A list of changes does not make an entry earlier that was handed out, or that got another due
// time since it was looked up. If several lists report the same change, only the first has an
// effect.
func TestWhatIsInHandOrWasMovedIsNotBroughtForward(t *testing.T) {
	const site = frontier.Site("http://a.example")
	dir, now := t.TempDir(), time.Now().Truncate(time.Second)
	db := open(t, dir)
	submitted(t, db, frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/1"), entry(t, "http://a.example/2")}})
	read := func(at time.Time, want int) (some [3]frontier.Entry) {
		t.Helper()
		if n, err := db.Read(site, at, some[:]); n != want || err != nil {
			t.Fatalf("%d entries are read, %v, want %d", n, err, want)
		}
		return some
	}
	both, dues := read(now, 2), [2]time.Time{now.Add(time.Hour), now.Add(2 * time.Hour)}
	for i := range dues {
		e := both[i]
		last := frontier.Fate{Code: frontier.Fetched, Status: 200, Time: now}
		fate := last
		fate.Until = dues[i]
		e.Visits = &frontier.Visits{First: now, Last: last}
		submitted(t, db, frontier.Completion{Site: site, Entry: e, Fate: fate})
	}
	first := read(dues[0], 1)[0] // by a clock that is ahead, so that the entry is due
	changes := &frontier.Changes{Told: now.Add(2 * time.Minute)}
	for i := range dues {
		changes.Pages = append(changes.Pages, frontier.Change{Site: site, Key: both[i].Key(), Time: now.Add(time.Minute)})
	}
	later := *changes
	later.Told = now.Add(time.Minute)
	for _, c := range []*frontier.Changes{changes, &later} { // look up the second list perhaps before the first has taken effect
		if err := db.Submit(frontier.Completion{Changes: c}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, db, 2)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer db.Close()
	for i, want := range [2]time.Time{first.Due, changes.Told} {
		k, ok, err := entryOf(db, both[i].URL)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if !k.Due.Equal(want) && (i == 0 || !k.Due.Equal(later.Told)) {
			t.Errorf("%s is due %v, want %v", k.URL, k.Due, want)
		}
	}
}

// A list of changes has made an entry due earlier after Read returned it, so it ends with its
// old due time. Its row is found, whether the row was moved before the end was submitted or
// later.
func TestAnEntryThatWasBroughtForwardMeanwhileEnds(t *testing.T) {
	for name, moved := range map[string]bool{"merged before": true, "merged with its end": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const site = frontier.Site("http://a.example")
				l := Usual
				l.SmallPending, l.SomeMerge = 0, 0
				dir := t.TempDir()
				db, err := start(dir, Options{Limits: &l})
				if err != nil {
					t.Fatal(err)
				}
				submit := func(c frontier.Completion) {
					t.Helper()
					if err := db.Submit(c); err != nil {
						t.Fatal(err)
					}
				}
				submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/1")}})
				time.Sleep(time.Minute)
				e, now := readAll(t, db, site)[0], time.Now().Truncate(time.Second)
				last := frontier.Fate{Code: frontier.Fetched, Status: 200, Time: now}
				again := last
				again.Until = now.Add(time.Hour)
				e.Visits = &frontier.Visits{First: now, Last: last}
				submit(frontier.Completion{Site: site, Entry: e, Fate: again})
				time.Sleep(time.Minute)
				submit(frontier.Completion{Changes: &frontier.Changes{
					Told: now.Add(2 * time.Minute), Pages: []frontier.Change{{Site: site, Key: e.Key(), Time: now.Add(time.Minute)}},
				}})
				e = readAll(t, db, site)[0] // by a clock that is ahead, so that the entry is due
				if !e.Due.Equal(again.Until) {
					t.Fatalf("it was due %v, want %v", e.Due, again.Until)
				}
				if moved {
					time.Sleep(time.Minute)
				}
				submit(frontier.Completion{Site: site, Entry: e, Fate: last})
				db.queue.mu.Lock()
				db.queue.hungry = nil
				db.queue.mu.Unlock()
				time.Sleep(21 * time.Millisecond)
				synctest.Wait()
				if _, kept := db.Pending(); kept == 0 {
					t.Error("its end is merged with its commit")
				}
				for range 2 {
					if st, err := db.State(site); err != nil || st.Queued != 0 || st.Again != 0 || st.Known != 1 {
						t.Errorf("%+v, %v", st, err)
					}
					time.Sleep(time.Minute) // time to merge
				}
				if k, ok, err := entryOf(db, e.URL); !ok || err != nil || k.Fate != last || !k.Due.IsZero() {
					t.Errorf("%+v, %v, %v", k, ok, err)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				checked(t, dir)
			})
		})
	}
}
