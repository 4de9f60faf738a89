package fetch

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// The most recently used snapshots are kept, with all their fields.
func TestSnapshotsInMemoryHaveABound(t *testing.T) {
	store := newMemorySnapshots(3 * (snapshotSize + 100))
	site := func(n int) frontier.Site { return frontier.Site(fmt.Sprintf("http://h%d.example", n)) }
	for n := range 5 {
		s := &robots.Snapshot{Body: bytes.Repeat([]byte("x"), 50), Mining: &robots.Snapshot{Body: make([]byte, 20)}, Copy: &robots.Snapshot{Body: make([]byte, 30)}}
		if err := store.PutSnapshot(site(n), s); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			store.Snapshot(site(0)) // used again, so it is kept
		}
	}
	for n, want := range []bool{true, false, false, true, true} {
		if s, err := store.Snapshot(site(n)); err != nil || (s != nil) != want {
			t.Errorf("site %d: %v, %v, want one: %v", n, s, err, want)
		}
	}
	if want := 3 * (snapshotSize + 100); store.bytes != want || len(store.all) != 3 {
		t.Errorf("%d snapshots of %d bytes, want %d", len(store.all), store.bytes, want)
	}
	// The last snapshot is kept, even if it alone is larger than the limit.
	if err := store.PutSnapshot(site(9), &robots.Snapshot{Body: make([]byte, 1<<20)}); err != nil || len(store.all) != 1 {
		t.Errorf("%v, %d snapshots", err, len(store.all))
	}
}

// Sites that are idle for long are forgotten. Sites with a call or a long rest are kept.
func TestIdleSitesAreForgotten(t *testing.T) {
	c := newCalls()
	c.sweepAt = 3
	now := time.Now()
	for site, clocks := range map[frontier.Site]frontier.Clocks{
		"http://idle.example":  {Ended: now.Add(-2 * time.Hour), Due: now.Add(-time.Hour - time.Minute)},
		"http://rests.example": {Ended: now.Add(-2 * time.Hour), Due: now.Add(time.Hour)},
		"http://late.example":  {Ended: now.Add(-time.Minute), Due: now.Add(-30 * time.Second)},
	} {
		if err := c.Submit(frontier.Completion{Site: site, Clocks: clocks}); err != nil {
			t.Fatal(err)
		}
	}
	u, err := frontier.ParseURL("http://called.example/")
	if err == nil {
		err = c.add(newCall(t.Context(), u, false, unchanged))
	}
	if err != nil {
		t.Fatal(err)
	}
	for site, want := range map[frontier.Site]bool{"http://idle.example": false, "http://rests.example": true, "http://late.example": true, "http://called.example": true} {
		if got := c.sites[site] != nil; got != want {
			t.Errorf("%s is kept: %v", site, got)
		}
	}
	if c.sweepAt < maxIdleSites {
		t.Errorf("the next sweep comes at %d sites", c.sweepAt)
	}
}

// If a start fails after a kill, the next start still knows that the earlier run was killed.
func TestAFailedStartKeepsTheMark(t *testing.T) {
	dir := t.TempDir()
	for start, want := range []bool{false, true, true} {
		s, err := openClientState(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := !s.restarted.IsZero(); got != want {
			t.Errorf("start %d: restarted is %v", start, got)
		}
		if start == 0 {
			if err := s.mark(); err != nil { // this run would make requests, and is killed
				t.Fatal(err)
			}
		}
		if err := s.bolt.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openClientState(dir)
	if err == nil {
		err = s.close()
	}
	if err == nil {
		s, err = openClientState(dir)
	}
	if err != nil || !s.restarted.IsZero() {
		t.Fatalf("after a run that was closed: %v", err)
	}
	if err := s.bolt.Close(); err != nil {
		t.Error(err)
	}
}
