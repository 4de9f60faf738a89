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

// PutSnapshot implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	return db.state.PutSnapshot(site, s)
}

// License implements fetch.Snapshots. It returns the last snapshot that was put.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.state.License(u) }

// PutLicense implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error { return db.state.PutLicense(u, s) }

// Requeue queues again those entries that were put aside (frontier.Code.Aside) and for which
// wanted returns true. It returns their number. It does not consider entries whose end was
// submitted but is not merged yet.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	return db.state.Requeue(wanted)
}

// Position returns the position of the last group that was committed: the position that
// Options.Log returned, or the one that was passed to Apply. It returns 0 if there was no
// such group.
func (db *DB) Position() uint64 { return db.state.Position() }

// Apply replays a group that another directory has passed to its Options.Log, with the
// position that Log returned. Groups must be applied in order; a group whose position is not
// larger than that of the group before is skipped. What a group says about files of the
// other directory is not checked. Applied groups are not passed to Options.Log.
//
// Apply does not wait until the group is on disk. When the group is on disk, Position
// returns at least position; Close waits for that. Before, Read may still return an entry
// that has ended in the group.
//
// If something other than an applied group was put since Open, Apply returns ErrNotAlone.
func (db *DB) Apply(position uint64, group []byte) error { return db.state.Apply(position, group) }

// Put stores a value of the crawl under key, as JSON. It takes effect in the order of calls:
// after everything that was submitted before, and before everything submitted later.
func (db *DB) Put(key string, value any) error { return db.state.Put(key, value) }
