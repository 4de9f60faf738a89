//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// newKeeper returns a keeper whose node has all partitions, and commits only if it is hurried. must
// ends the test if there is an error.
func newKeeper(t *testing.T, f state.Shared) (k *keeper, must func(error)) {
	t.Helper()
	must = func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(NewDatabase(t))
	must(err)
	d.(*database).same, d.(*database).lease = true, time.Hour
	store, err := d.OpenStore(t.TempDir(), state.Options{Gather: time.Hour})
	must(err)
	db := store.(*node)
	t.Cleanup(func() { kill(db) })
	must(store.Begin(noOutputs{}, store.Marks(), nil))
	k = &keeper{node: db, frontier: f}
	must(k.balance(db.ctx))
	return k, must
}

// partLeaves makes a partition leave the node.
func (k *keeper) partLeaves(part int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.had[part].leaving = true
	k.terms[part].Store(0)
}

// has reports whether a node has a partition, by the database.
func has(t *testing.T, db *node, part int) (is bool) {
	t.Helper()
	if err := db.pool.QueryRow(db.ctx, "select owner is not null from part where id = $1", part).Scan(&is); err != nil {
		t.Fatal(err)
	}
	return is
}

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
			k, must := newKeeper(t, idle{})
			db := k.node
			part := partOf(site, db.parts)
			if part == partOf(other, db.parts) {
				t.Fatal("the sites are in one partition")
			}
			k.partLeaves(part)
			must(put(db, site))
			must(k.leave(db.ctx)) // the result is committed now
			if !has(t, db, part) {
				t.Fatal("the partition was given back before a result of its site was committed")
			}
			must(db.Sync(db.ctx))
			must(put(db, other))
			must(k.leave(db.ctx))
			if has(t, db, part) {
				t.Error("a result of another site keeps the partition at the node")
			}
			if db.queue.empty() {
				t.Error("the queue was empty")
			}
		})
	}
}

// slow is a frontier with a turn that does not end.
type slow struct {
	idle
	site frontier.Site
}

func (s slow) Withdraw(ctx context.Context) ([]frontier.Site, error) {
	<-ctx.Done()
	return []frontier.Site{s.site}, ctx.Err()
}

// A site whose turn has not ended keeps its own partition at the node, and no other one.
func TestASlowSiteKeepsOnlyItsPartition(t *testing.T) {
	t.Parallel()
	const site, other = frontier.Site("https://a.example"), frontier.Site("https://b.example")
	k, must := newKeeper(t, slow{site: site})
	with, without := partOf(site, k.parts), partOf(other, k.parts)
	k.partLeaves(with)
	k.partLeaves(without)
	must(k.leave(k.ctx))
	if !has(t, k.node, with) || has(t, k.node, without) {
		t.Errorf("the node has the partition of the slow site: %v, the other: %v", has(t, k.node, with), has(t, k.node, without))
	}
}
