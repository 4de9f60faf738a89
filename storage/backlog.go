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

// Requeue queues again the entries that ended as frontier.OutOfScope and for which wanted
// returns true, and returns their number. Entries that were submitted and are not merged
// yet are not considered.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	return db.state.Requeue(wanted)
}

// Position returns the position of the last group that was committed, as Options.Log or the
// caller of Apply gave it, or 0 if no group was committed.
func (db *DB) Position() uint64 { return db.state.Position() }

// Apply replays a group that Options.Log of another directory was given, with the position
// that Log returned. It does not wait until the group is on disk: after that Position
// returns at least position; Close waits for it. Until then an entry that has ended in the
// group can still be read here. Groups must be applied in order; a group whose position is
// not larger than the one before is skipped. What a group says of files of the other
// directory is not checked.
//
// Nothing else may have been put since Open: otherwise Apply returns ErrNotAlone. Applied
// groups are not passed to Options.Log.
func (db *DB) Apply(position uint64, group []byte) error { return db.state.Apply(position, group) }

// Put stores a value of the crawl under key, as JSON. It takes effect after everything
// submitted before it, and before everything submitted later.
func (db *DB) Put(key string, value any) error { return db.state.Put(key, value) }
