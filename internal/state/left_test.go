package state

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func collect(t *testing.T, all iter.Seq2[frontier.Entry, error]) (urls []string) {
	t.Helper()
	for e, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, e.URL.Target())
	}
	return urls
}

// Queued returns all entries that have not ended, also those that Read has returned. It works
// on an open crawl and on a closed one.
func TestQueuedAreAllThatHaveNotEnded(t *testing.T) {
	dir := t.TempDir()
	db, err := start(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*leftAtOnce + 10
	var entries []frontier.Entry
	var want []string
	for i := range n {
		u, err := frontier.ParseURL(fmt.Sprintf("http://a.example/%04d", i))
		if err != nil {
			t.Fatal(err)
		}
		entries, want = append(entries, frontier.Entry{URL: u}), append(want, u.Target())
	}
	other, _ := frontier.ParseURL("http://b.example/")
	site := entries[0].URL.Site()
	settle := func(c frontier.Completion) {
		t.Helper()
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		if g := <-db.Grown(); g.Err != nil || g.Settled != 1 {
			t.Fatalf("%+v", g)
		}
	}
	settle(frontier.Completion{Links: append(entries, frontier.Entry{URL: other})})
	read := make([]frontier.Entry, 3)
	if n, err := db.Read(site, time.Now(), read); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	settle(frontier.Completion{Site: site, Entry: read[0], Fate: frontier.Fate{Code: frontier.Fetched, Status: 200}})
	due := time.Now().Add(time.Hour).Truncate(time.Second)
	settle(frontier.Completion{Site: site, Entry: read[1], Fate: frontier.Fate{Code: frontier.Waiting, Until: due}})
	want = append(want[2:], want[1]) // the waiting entry comes last
	if got := collect(t, db.Queued(site)); !slices.Equal(got, want) {
		t.Errorf("%d are left, want %d: %v", len(got), len(want), got)
	}
	for e := range db.Queued(site) { // the body of the loop may end it early
		if e.URL.Target() != want[0] {
			t.Errorf("the first is %s", e.URL)
		}
		break
	}
	if got := collect(t, db.Queued("http://none.example")); got != nil {
		t.Errorf("a site that is not known has %v", got)
	}
	var inUse *InUseError
	if _, err := OpenReader(dir); !errors.As(err, &inUse) {
		t.Errorf("OpenReader of a crawl that runs: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	q, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	got := slices.Collect(func(yield func(frontier.Entry) bool) {
		for e, err := range q.Queued(site) {
			if err != nil {
				t.Fatal(err)
			}
			yield(e)
		}
	})
	if len(got) != len(want) || !got[len(got)-1].Due.Equal(due) || got[len(got)-1].ID != read[1].ID {
		t.Errorf("%d are left in the directory, want %d, the last %+v", len(got), len(want), got[len(got)-1])
	}
}
