//go:build unix

package postgres

import (
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// If a node commits a link that another node has queued before, it reads the site of the link and
// deletes the news about it. So it must report the site to the frontier, although its own commit
// has queued nothing.
func TestASiteThatACommitHasReadIsReported(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	owner := open(t, url, t.TempDir())
	defer kill(owner)
	take(t, owner)
	owner.session.stop() // stop reading news
	other := open(t, url, t.TempDir())
	defer kill(other)
	link := statetest.Entry(t, "http://a.example/")
	for _, db := range []*node{other, owner} {
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{link}}); err != nil {
			t.Fatal(err)
		}
		g := <-db.Grown()
		for g.Settled == 0 && g.Err == nil {
			g = <-db.Grown()
		}
		if g.Err != nil {
			t.Fatal(g.Err)
		}
		if db == owner && (len(g.Sites) != 1 || g.Sites[0].Queued != 1) {
			t.Errorf("the frontier is told %+v, want a site with one entry", g.Sites)
		}
	}
}

// If the answer of a commit was lost, the sites of its links are counted again: the repeated
// commit finds the links in the database, and does not report them as new.
func TestLinksOfALostAnswerAreReported(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer db.Abandon()
	take(t, db)
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{statetest.Entry(t, "http://a.example/1")}}); err != nil {
		t.Fatal(err)
	}
	statetest.Settle(t, db, 1)
	second := statetest.Entry(t, "http://a.example/2")
	_, err := db.pool.Exec(db.ctx, `with e as (insert into entry (part, site, key, n, rank, depth, flags, url)
			select part, site, $1::uuid, n + 1, rank, depth, flags, $2 from entry returning *)
		insert into queue (part, site, kind, rank, n, key) select part, site, 0, rank, n, key from e`, db.hash(second.Key()), second.URL.String())
	if err != nil {
		t.Fatal(err)
	}
	close(db.closing) // stop the committer, because the test commits itself
	<-db.committed
	g := &group{db: db, doubt: true, ops: []op{{completion: &frontier.Completion{Links: []frontier.Entry{second}}}}}
	db.changing.Lock()
	err = g.commit()
	db.changing.Unlock()
	db.session.stop()
	if err != nil {
		t.Fatal(err)
	}
	if grown := <-db.Grown(); len(grown.Sites) != 1 || grown.Sites[0].Queued != 2 {
		t.Errorf("the frontier is told %+v, want a site with two entries", grown.Sites)
	}
}
