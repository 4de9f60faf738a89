//go:build unix

package postgres

import (
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/internal/statetest"
)

// A node that commits a link which another node has queued before reads the site of the link, and
// removes the news about it. So it must tell the frontier of the site, although its own commit has
// queued nothing.
func TestASiteThatACommitHasReadIsReported(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	owner := open(t, url, t.TempDir())
	defer kill(owner)
	take(t, owner)
	owner.session.stop() // it reads no news any more
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
