package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

var settle, crash, entry = statetest.Settle, statetest.Crash, statetest.Entry

// open opens a crawl in dir. Each commit has one operation, if the caller waits with settle
// after each operation.
func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestBacklogIsTheModelOnDisk(t *testing.T) {
	var forward atomic.Int64
	t.Cleanup(func() { // runs after all seeds
		if forward.Load() == 0 {
			t.Error("no entry was brought forward")
		}
	})
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &statetest.Script{T: t, Store: open(t, t.TempDir()), Kill: func(was statetest.Store) (statetest.Store, map[frontier.Site]frontier.SiteState) {
				dir := crash(t, was.(*DB).Dir())
				if err := was.(*DB).Close(); err != nil {
					t.Fatal(err)
				}
				db := open(t, dir)
				if !db.Unclean() {
					t.Fatal("a copy of a running crawl opens as clean")
				}
				states := map[frontier.Site]frontier.SiteState{}
				for st, err := range db.Sites() {
					if err != nil {
						t.Fatal(err)
					}
					states[st.Site] = st
				}
				return db, states
			}}
			s.Run(seed, 150)
			if err := s.Store.(*DB).Close(); err != nil {
				t.Fatal(err)
			}
			forward.Add(int64(s.Forward))
		})
	}
}

// A crawl is killed between any two commits. Acknowledged operations are in the copy. Each
// other operation is in it completely or not at all.
func TestKillBetweenAnyTwoCommits(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const n = 30
	for i := range n {
		u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", i%3, i))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.PutPage(&PageRecord{URL: u.String(), Status: 200}); err != nil {
			t.Fatal(err)
		}
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		if i%5 > 0 {
			continue
		}
		// Write one more operation that is never committed.
		copied := crash(t, dir)
		f, err := os.OpenFile(filepath.Join(copied, PagesFile), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"url":"http://torn`); err != nil {
			t.Fatal(err)
		}
		f.Close()
		again := open(t, copied)
		queued := 0
		for st, err := range again.Sites() {
			if err != nil {
				t.Fatal(err)
			}
			queued += st.Queued
		}
		raw, err := os.ReadFile(filepath.Join(copied, PagesFile))
		if err != nil {
			t.Fatal(err)
		}
		if lines := len(slices.Collect(bytesLines(raw))); queued != i+1 || lines != i+1 {
			t.Errorf("%d queued and %d pages after %d acknowledged", queued, lines, i+1)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
