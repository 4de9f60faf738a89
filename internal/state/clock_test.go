package state

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// The wall clock was ahead by years and is then corrected. Each entry waits only as long as it
// had left to wait, whether its row was merged or not, and also after a kill in between.
func TestAClockThatRanAhead(t *testing.T) {
	site := frontier.Site("http://a.example")
	for name, merged := range map[string]bool{"merged": true, "in the journal": false} {
		t.Run(name, func(t *testing.T) {
			outer, dir, copied := t, t.TempDir(), t.TempDir()
			l := Usual
			if !merged {
				l.SmallPending, l.SomeMerge = 0, 0
			}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(5 * 365 * 24 * time.Hour)
				db := open(t, dir)
				if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/1"), entry(t, "http://a.example/2")}}); err != nil {
					t.Fatal(err)
				}
				settle(t, db, 1)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				db, err := start(dir, Options{Limits: &l})
				if err != nil {
					t.Fatal(err)
				}
				var buf [2]frontier.Entry
				if n, err := db.Read(site, time.Now(), buf[:]); n != 2 || err != nil {
					t.Fatal(n, err)
				}
				for i, e := range buf {
					e.Tries = 1
					until := time.Now().Add(time.Duration(15+60*i) * time.Second)
					if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Waiting, Until: until}}); err != nil {
						t.Fatal(err)
					}
				}
				if merged {
					if err := db.Close(); err != nil {
						t.Fatal(err)
					}
				} else {
					time.Sleep(25 * time.Millisecond)
					synctest.Wait()
				}
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
				if !merged {
					db.Close()
				}
			})
			synctest.Test(t, func(t *testing.T) {
				if merged {
					return
				}
				// Kill the next run after its first commit.
				killed := ""
				db, err := start(copied, Options{Gather: -1, Fault: func(err error) error {
					if killed == "" {
						killed = crash(outer, copied)
					}
					return err
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				copied = killed
			})
			synctest.Test(t, func(t *testing.T) {
				db := open(t, copied)
				if db.Begun().Committed.Before(time.Now().AddDate(4, 0, 0)) {
					t.Errorf("the last commit was at %v", db.Begun().Committed)
				}
				var waiting time.Time
				for st, err := range db.Sites() {
					if err != nil {
						t.Fatal(err)
					}
					waiting = st.Waiting
				}
				if d := time.Until(waiting); d > 15*time.Second || d < 14*time.Second {
					t.Errorf("it waits for another %v", d)
				}
				var buf [3]frontier.Entry
				for _, c := range []struct {
					after time.Duration
					want  int
				}{{14 * time.Second, 0}, {2 * time.Second, 1}, {57 * time.Second, 0}, {3 * time.Second, 1}} {
					time.Sleep(c.after)
					if n, err := db.Read(site, time.Now(), buf[:]); n != c.want || err != nil {
						t.Errorf("after another %v: %d entries, want %d, %v", c.after, n, c.want, err)
					}
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				db = open(t, copied)
				if db.Begun().Committed.After(time.Now()) {
					t.Errorf("the last commit was at %v, which is to come", db.Begun().Committed)
				}
				db.Close()
			})
			checked(t, copied)
		})
	}
}

// Snapshot returns the robots.txt that was put last, even if the wall clock was set back and
// its time is not the latest.
func TestTheLastSnapshotIsNotTheLatest(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	site, now := frontier.Site("http://a.example"), time.Now().UTC()
	snapshot := func(at time.Time, body string) *robots.Snapshot {
		return &robots.Snapshot{URL: "http://a.example/robots.txt", Fetched: at, Status: 200, Body: []byte(body)}
	}
	future := snapshot(now.AddDate(5, 0, 0), "old")
	for _, s := range []*robots.Snapshot{
		future, snapshot(now, "new"), snapshot(now.Add(time.Hour), "newer").After(future), snapshot(now.AddDate(6, 0, 0), "last"), snapshot(now.AddDate(5, 5, 0), "least"),
	} {
		if err := db.PutSnapshot(site, s); err != nil {
			t.Fatal(err)
		}
		if err := db.PutSnapshot("http://a.example:81", s); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		checked(t, dir)
		db = open(t, dir)
		if is, err := db.Snapshot(site); err != nil || string(is.Body) != string(s.Body) || !is.Fetched.Equal(s.Fetched) {
			t.Errorf("%q of %v, want %q of %v: %v", is.Body, is.Fetched, s.Body, s.Fetched, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
