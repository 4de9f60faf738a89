package storage

import (
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// Sites implements frontier.Backlog. f must not call a method of DB.
func (db *DB) Sites(f func(frontier.SiteState) error) error { return db.state.Sites(f) }

// State implements frontier.Backlog.
func (db *DB) State(site frontier.Site) (frontier.SiteState, error) { return db.state.State(site) }

// Common implements frontier.Backlog. f must not call a method of DB.
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

// Snapshot implements fetch.Snapshots. It returns the last snapshot that was put.
func (db *DB) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return db.state.Snapshot(site) }

// PutSnapshot implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	return db.state.PutSnapshot(site, s)
}

// License implements fetch.Snapshots. It returns the last snapshot that was put.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.state.License(u) }

// PutLicense implements fetch.Snapshots. All snapshots of a crawl are kept.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error { return db.state.PutLicense(u, s) }

// Fate returns how the crawl's entry for u ended: Undecided if it is queued, Waiting if it
// waits for another try. ok is false if u was never queued.
func (db *DB) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) { return db.state.Fate(u) }

// A Kept is an entry and its fate.
type Kept = state.Kept

// Entry returns the crawl's entry for u, which may be spelled differently. ok is false if
// no entry for u was ever queued. Submitted entries are seen after they are committed.
func (db *DB) Entry(u frontier.URL) (k Kept, ok bool, err error) { return db.state.Entry(u) }

// Entries iterates over all entries of site, ended or not, in the order in which they were
// found. It holds a thousand of them in memory. While the crawl runs, each entry is as it
// was at some time since the first was read.
func (db *DB) Entries(site frontier.Site) iter.Seq2[Kept, error] { return db.state.Entries(site) }

// Names iterates over the sites that have entries, in byte order.
func (db *DB) Names() iter.Seq2[frontier.Site, error] { return db.state.Names() }

// MostAhead is the largest number that Ahead returns.
const MostAhead = state.MostAhead

// Ahead returns how many entries of its site are fetched before k, which must be queued and
// due; at most MostAhead. Entries that are not merged yet are not counted.
func (db *DB) Ahead(k Kept) (int, error) { return db.state.Ahead(k) }

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts
// to fetch one, in order of time. A snapshot that was put is seen after it is committed.
func (db *DB) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return db.state.Snapshots(site)
}

// Queued iterates over the entries of site that have not ended, including those handed out
// and those to be fetched again (frontier.Entry.Again): first those that are due, by rank,
// then those that wait. Entries that were submitted and are not merged yet are not seen.
func (db *DB) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return db.state.Queued(site)
}

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

// Get reads a value that was Put and committed. It reports whether there is one.
func (db *DB) Get(key string, value any) (ok bool, err error) { return db.state.Get(key, value) }

// Each calls f for every key that begins with prefix and that was Put and committed, with
// the part after prefix, until f returns an error. It returns that error.
func (db *DB) Each(prefix string, f func(rest string) error) error { return db.state.Each(prefix, f) }
