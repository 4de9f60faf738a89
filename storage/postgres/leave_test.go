//go:build unix

package postgres

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// A node gives a partition back when the results of its own sites are committed. In a busy crawl
// results of other sites wait for a commit at any time.
func TestABusyNodeGivesPartitionsBack(t *testing.T) {
	t.Parallel()
	const site, other = frontier.Site("https://a.example"), frontier.Site("https://b.example")
	for name, put := range map[string]func(db *node, site frontier.Site) error{
		"result": func(db *node, site frontier.Site) error { return db.Submit(frontier.Completion{Site: site}) },
		"robots.txt": func(db *node, site frontier.Site) error {
			return db.PutSnapshot(site, &robots.Snapshot{Fetched: time.Now(), Status: 404})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := New(NewDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			d.(*database).same, d.(*database).lease = true, time.Hour
			store, err := d.OpenStore(t.TempDir(), state.Options{Gather: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			db := store.(*node)
			defer kill(db)
			k := &keeper{node: db, frontier: idle{}}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(store.Begin(noOutputs{}, store.Marks(), nil))
			must(k.balance(db.ctx)) // the node takes all partitions
			part := partOf(site, db.parts)
			if part == partOf(other, db.parts) {
				t.Fatal("the sites are in one partition")
			}
			has := func() (is bool) {
				must(db.pool.QueryRow(db.ctx, "select owner is not null from part where id = $1", part).Scan(&is))
				return is
			}
			db.mu.Lock()
			db.had[part].leaving = true
			db.mu.Unlock()
			db.terms[part].Store(0)

			must(put(db, site))
			must(k.leave(db.ctx)) // the result is committed now
			if !has() {
				t.Fatal("the partition was given back before a result of its site was committed")
			}
			must(db.Sync(db.ctx))
			must(put(db, other))
			must(k.leave(db.ctx))
			if has() {
				t.Error("a result of another site keeps the partition at the node")
			}
			if db.queue.empty() {
				t.Error("the queue was empty")
			}
		})
	}
}
