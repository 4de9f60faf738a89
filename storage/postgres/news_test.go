//go:build unix

package postgres

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// submit submits a link in the way of a seed.
func submit(t *testing.T, db *node, e frontier.Entry) {
	t.Helper()
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{e}}); err != nil {
		t.Fatal(err)
	}
}

// told waits until a node has reported to its frontier that a site has one queued entry.
func told(t *testing.T, db *node, site frontier.Site) {
	t.Helper()
	for {
		select {
		case g := <-db.Grown():
			if g.Err != nil {
				t.Fatal(g.Err)
			}
			for _, st := range g.Sites {
				if st.Site == site && st.Queued == 1 {
					return
				}
			}
		case <-t.Context().Done():
			t.Fatal("not told")
		}
	}
}

// A node without partitions also sends news to other nodes.
func TestANodeWithoutPartitionsTellsTheOthers(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	db := open(t, url, t.TempDir())
	defer kill(db)
	take(t, db)
	other := open(t, url, t.TempDir())
	defer kill(other)
	// End the session of the other node, so that db takes all partitions.
	if _, err := db.pool.Exec(db.ctx, "update node set until = 'epoch' where name = $1", other.name); err != nil {
		t.Fatal(err)
	}
	e := statetest.Entry(t, "http://a.example/")
	submit(t, other, e)
	told(t, db, e.URL.Site())
}

// News may come while a query of Read is under way. The query has missed the new entry, and may have
// selected one that comes later in the queue. The next Read returns the new entry.
func TestNewsDuringARead(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	owner := open(t, url, t.TempDir())
	defer kill(owner)
	take(t, owner)
	owner.session.stop() // stop reading news
	other := open(t, url, t.TempDir())
	defer kill(other)
	first, second := statetest.Entry(t, "http://a.example/1"), statetest.Entry(t, "http://a.example/2")
	site := first.URL.Site()
	owner.numbers.last.Store(time.Now().Add(time.Hour).UnixMicro()) // number the second entry after the first
	submit(t, owner, second)
	told(t, owner, site)

	w, ok := owner.wanted(site, time.Now(), false)
	if !ok || !w.ready {
		t.Fatalf("%+v, %v", w, ok)
	}
	all, next, err := owner.selectEntries(&w, time.Now(), 8, false)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	submit(t, other, first)
	if err := other.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	k := &keeper{node: owner, frontier: idle{}}
	if err := k.news(); err != nil {
		t.Fatal(err)
	}
	if !owner.handOut(site, &w, all, next, false) {
		t.Fatal("the site was given back")
	}
	var entries [8]frontier.Entry
	n, err := owner.Read(site, time.Now(), entries[:])
	if err != nil || n != 1 || entries[0].URL.String() != first.URL.String() {
		t.Errorf("%d entries %v, %v, want %s", n, entries[:n], err, first.URL)
	}
}

// A judging frontier has nothing to do, and records how the run has ended.
type judging struct {
	verdict error
	ended   chan error
}

func (r judging) Withdraw(context.Context) ([]frontier.Site, error) { return nil, nil }
func (r judging) Rest() frontier.Rest {
	return frontier.Rest{Verdict: r.verdict, Grown: math.MaxUint64}
}
func (r judging) Limits() frontier.Limits { return frontier.Limits{} }
func (r judging) End(err error) error {
	select {
	case r.ended <- err:
	default:
	}
	return nil
}

// All nodes end with the verdict of the whole crawl. A node whose run ends first does not first
// give its partitions to the others.
func TestAllNodesEndTogether(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	var all []judging
	for _, verdict := range []error{frontier.ErrEnd, frontier.ErrPatience, frontier.ErrUnasked} {
		db, r := open(t, url, t.TempDir()), judging{verdict, make(chan error, 1)}
		defer kill(db)
		db.Join(r, time.Minute)
		all = append(all, r)
	}
	for _, r := range all {
		if err := <-r.ended; err != frontier.ErrPatience {
			t.Errorf("a node with the verdict %v ended with %v", r.verdict, err)
		}
	}
}
