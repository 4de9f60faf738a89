package store

import (
	"context"
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
	defer db.equals.forget()
	return db.state.PutSnapshot(site, s)
}

// License implements fetch.Snapshots. It returns the last snapshot of u that PutLicense has
// stored.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.state.License(u) }

// PutLicense implements fetch.Snapshots. The crawl keeps all snapshots, not only the last one.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error { return db.state.PutLicense(u, s) }

// Requeue queues again those entries that were put aside (frontier.Code.Aside) and for which
// wanted returns true. It returns their number. An entry that has just ended is not considered
// before its end is in its final place in the state file.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	return db.state.Requeue(wanted)
}

// Put stores a value of the crawl under key, as JSON. It takes effect in the order of calls:
// after everything that was submitted before, and before everything submitted later.
func (db *DB) Put(key string, value any) error {
	if key == KeyRun {
		defer db.equals.forget()
	}
	return db.state.Put(key, value)
}

// Sync waits until everything that was put and submitted before the call is committed, with the
// lines of the outputs that were written before. The error is the one that has ended all commits,
// or the cause of the end of ctx.
func (db *DB) Sync(ctx context.Context) error { return db.state.Sync(ctx) }
