package storage

import (
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// Sites implements frontier.Backlog. What is called in f must not call a method here.
func (db *DB) Sites(f func(frontier.SiteState) error) error { return db.state.Sites(f) }

// State implements frontier.Backlog.
func (db *DB) State(site frontier.Site) (frontier.SiteState, error) { return db.state.State(site) }

// Common implements frontier.Backlog. What is called in f must not call a method here.
func (db *DB) Common(f func(frontier.CommonClock) error) error { return db.state.Common(f) }

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

// Snapshot implements fetch.Snapshots: it returns the last one put.
func (db *DB) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return db.state.Snapshot(site) }

// PutSnapshot implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	return db.state.PutSnapshot(site, s)
}

// License implements fetch.Snapshots: it returns the last one put.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.state.License(u) }

// PutLicense implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error { return db.state.PutLicense(u, s) }

// Fate says how the crawl's entry for u ended. ok is false if u was never
// queued; the fate is Undecided if it is queued, Waiting if it waits for
// another try.
func (db *DB) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) { return db.state.Fate(u) }

// A Kept is an entry with what became of it.
type Kept = state.Kept

// Entry is the crawl's entry for u, which may be written otherwise. ok is false if
// none was ever queued. What was submitted is seen once it is committed.
func (db *DB) Entry(u frontier.URL) (k Kept, ok bool, err error) { return db.state.Entry(u) }

// Entries are all entries of site, ended or not, in the order in which they were found;
// a thousand of them are held in memory. While the crawl runs, each is as it was at
// some time since the first was read.
func (db *DB) Entries(site frontier.Site) iter.Seq2[Kept, error] { return db.state.Entries(site) }

// Names are the sites that have entries, in the order of their bytes.
func (db *DB) Names() iter.Seq2[frontier.Site, error] { return db.state.Names() }

// MostAhead is how many entries Ahead counts.
const MostAhead = state.MostAhead

// Ahead is how many entries of its site are asked for before k, which is queued and
// need not wait; at most MostAhead. What is not merged yet is not counted.
func (db *DB) Ahead(k Kept) (int, error) { return db.state.Ahead(k) }

// Snapshots are all copies of a site's robots.txt, and all tries to get one, in the
// order of their times. What was put is seen once it is committed.
func (db *DB) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return db.state.Snapshots(site)
}

// Queued are the entries of site that have not ended, those that were read, and those that
// are to be fetched again (frontier.Entry.Again), too: first those that can be asked for, by
// rank, then those that wait. What was submitted and is not merged yet is not seen.
func (db *DB) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return db.state.Queued(site)
}

// Requeue queues those entries again that ended as frontier.OutOfScope and that
// are wanted now, and says how many. What was submitted and is not merged yet is
// not looked at.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	return db.state.Requeue(wanted)
}

// Position is that of the last group that was committed, as Options.Log or who called
// Apply has named it; 0 if there is none.
func (db *DB) Position() uint64 { return db.state.Position() }

// Apply does to the state what that of another directory did with a group, whose Log
// has said its position. It does not wait until that is safe: Position says so, or
// Close; before that an entry that has ended there can still be read here. Groups come in
// their order; one whose position is not larger than that of the one before is left out.
// What they say of files of the other directory is not checked.
//
// Apply is for who has put nothing of its own since Open: else it returns
// ErrNotAlone. Log is not told of what was applied.
func (db *DB) Apply(position uint64, group []byte) error { return db.state.Apply(position, group) }

// Put keeps a value of the crawl under key, after what was submitted before
// and before what is submitted later. The value is stored as JSON.
func (db *DB) Put(key string, value any) error { return db.state.Put(key, value) }

// Get reads what was Put and committed. It reports whether there is anything.
func (db *DB) Get(key string, value any) (ok bool, err error) { return db.state.Get(key, value) }

// Each calls f with the rest of every key that begins with prefix and that was
// Put and committed, until f returns an error: that is returned.
func (db *DB) Each(prefix string, f func(rest string) error) error { return db.state.Each(prefix, f) }
