package storage

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Read implements frontier.Backlog.
func (db *DB) Read(site frontier.Site, now time.Time, entries []frontier.Entry) (int, error) {
	return db.state.Read(site, now, entries)
}

// ReadRequisites implements frontier.Backlog.
func (db *DB) ReadRequisites(site frontier.Site, now time.Time, entries []frontier.Entry) (n int, waiting time.Time, err error) {
	return db.state.ReadRequisites(site, now, entries)
}

// Submit implements frontier.Backlog.
func (db *DB) Submit(c frontier.Completion) error { return db.state.Submit(c) }

// Grown implements frontier.Backlog.
func (db *DB) Grown() <-chan frontier.Growth { return db.state.Grown() }

// PutSnapshot implements fetch.Snapshots. The crawl keeps all snapshots, not only the last one.
func (db *DB) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	return db.state.PutSnapshot(site, s)
}

// License implements fetch.Snapshots. It returns the last snapshot of u that PutLicense has
// stored.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.state.License(u) }

// PutLicense implements fetch.Snapshots. The crawl keeps all snapshots, not only the last one.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error { return db.state.PutLicense(u, s) }

// Requeue queues again those entries that were put aside (frontier.Code.Aside) and for which
// wanted returns true. It returns their number. It does not consider an entry whose end was
// submitted but is not yet in its final place in the state file.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	return db.state.Requeue(wanted)
}

// Position returns the position of the last group of changes that was committed: the position
// that Options.Log returned for it, or that was passed to Apply. It returns 0 if there was no
// such group.
func (db *DB) Position() uint64 { return db.state.Position() }

// Apply repeats the changes of a group that the DB of another directory has passed to its
// Options.Log, and stores position, which that Log returned. Groups must be applied in order; a
// group whose position is not larger than that of the group before is skipped. What a group
// says about files of the other directory is not checked. Applied groups are not passed to
// Options.Log.
//
// Apply does not wait until the group is on disk. When the group is on disk, Position returns
// at least position. Close waits until then. Before, Read may still return an entry that has
// ended in the group.
//
// If something other than an applied group was stored since Open, Apply returns ErrNotAlone.
func (db *DB) Apply(position uint64, group []byte) error { return db.state.Apply(position, group) }

// Put stores a value of the crawl under key, as JSON. Changes take effect in the order of
// calls: Put after everything that was submitted earlier, and before everything that is
// submitted later.
func (db *DB) Put(key string, value any) error { return db.state.Put(key, value) }
