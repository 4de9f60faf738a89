//go:build unix

package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// noOutputs are outputs of a node that has no files.
type noOutputs struct{}

func (noOutputs) Flush() (state.Moment, error)                   { return state.Moment{}, nil }
func (noOutputs) Finish([]string) error                          { return nil }
func (noOutputs) Close(end state.End) (last state.Last, _ error) { return last, nil }

// An idle frontier never has anything to do, and never ends.
type idle struct{}

func (idle) Withdraw(context.Context) ([]frontier.Site, error) { return nil, nil }
func (idle) End(error) error                                   { return nil }
func (idle) Rest() frontier.Rest                               { return frontier.Rest{Out: 1} }
func (idle) Limits() frontier.Limits                           { return frontier.Limits{} }

// open opens a node without the usual committer: the test makes its commits one by one.
func open(t testing.TB, url, dir string) *node {
	t.Helper()
	return openWith(t, url, dir, time.Hour)
}

// openWith is like open, with the given lease.
func openWith(t testing.TB, url, dir string, lease time.Duration) *node {
	t.Helper()
	d, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	d.(*database).same, d.(*database).lease = true, lease
	store, err := d.OpenStore(dir, state.Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Begin(noOutputs{}, store.Marks(), nil); err != nil {
		t.Fatal(err)
	}
	return store.(*node)
}

// take makes a node take all partitions, and returns the states of their sites.
func take(t testing.TB, db *node) map[frontier.Site]frontier.SiteState {
	t.Helper()
	db.Join(idle{}, time.Minute)
	states := map[frontier.Site]frontier.SiteState{}
	for {
		db.mu.Lock()
		all := len(db.had) == db.parts
		db.mu.Unlock()
		select {
		case g := <-db.Grown():
			if g.Err != nil {
				t.Fatal(g.Err)
			}
			for _, st := range g.Sites {
				states[st.Site] = st
			}
		default:
			if all {
				return states
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// readsThe compares the states that a reader returns with the states in want.
func readsThe(t testing.TB, url, dir string, want map[frontier.Site]frontier.SiteState) {
	t.Helper()
	d, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	d.(*database).same = true
	r, err := d.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for got, err := range r.Sites() {
		one, err2 := r.State(got.Site)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if one != got {
			t.Errorf("Sites: %+v, State: %+v", got, one)
		}
		w, ok := want[got.Site]
		if !ok && got.Known == 0 {
			continue
		}
		w.Term = nil
		if n++; got != w {
			t.Errorf("got  %+v, want %+v", got, w)
		}
	}
	if n != len(want) {
		t.Errorf("%d sites, want %d", n, len(want))
	}
	if st, err := r.State("http://unknown.example"); err != nil || st != (frontier.SiteState{Site: "http://unknown.example"}) {
		t.Errorf("an unknown site: %+v, %v", st, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != state.ErrClosed {
		t.Errorf("closed twice: %v", err)
	}
}

// kill ends a node in the way of kill -9: its session stays in the database.
func kill(db *node) {
	db.session.stop()
	db.Abandon()
	close(db.closing)
	<-db.committed
}

func TestTheStoreIsTheModel(t *testing.T) {
	var forward atomic.Int64
	t.Cleanup(func() { // the function runs after all subtests
		if forward.Load() == 0 && !t.Skipped() {
			t.Error("no entry was brought forward")
		}
	})
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			url, dir := NewDatabase(t), t.TempDir()
			db := open(t, url, dir)
			take(t, db)
			// A second node belongs to the run, so that the fates of sites are kept.
			if _, err := db.pool.Exec(db.ctx, "insert into node (id, name, num, until) values (gen_random_uuid(), 'other', 99, 'epoch')"); err != nil {
				t.Fatal(err)
			}
			s := &statetest.Script{T: t, Store: db, Kill: func(was statetest.Store) (statetest.Store, map[frontier.Site]frontier.SiteState) {
				kill(was.(*node))
				db := open(t, url, dir)
				if !db.Begun().Unclean {
					t.Fatal("after a kill the state is clean")
				}
				states := take(t, db)
				readsThe(t, url, dir, states)
				return db, states
			}}
			s.Run(seed, 150)
			forward.Add(int64(s.Forward))
			if err := s.Store.(*node).Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
