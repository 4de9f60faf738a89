package state

import (
	"bytes"
	"iter"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// A Reader reads the state of a crawl that nobody runs, with what its journal holds,
// and changes nothing. Several may read at once, in any process; as long as one does,
// the crawl cannot be opened to go on. Its methods are safe for concurrent use, but for
// Close, and return ErrClosed after it.
type Reader struct{ db *DB }

// OpenReader opens the state of the crawl in dir. The error is an *InUseError where a
// process runs the crawl, a *DamagedError, a *VersionError, or one of the file system.
func OpenReader(dir string) (*Reader, error) {
	db := newDB(dir, Options{Limits: &Usual})
	db.file.reads = true
	err := db.file.guarded(false, func() error {
		if err := preflight(db.file.path()); err != nil {
			return err
		}
		if err := db.file.open(); err != nil {
			return err
		}
		return db.file.bolt.View(func(tx *bbolt.Tx) error {
			if err := db.load(tx); err != nil {
				return err
			}
			return db.replay(tx)
		})
	})
	if err != nil {
		db.file.close()
		return nil, err
	}
	return &Reader{db}, nil
}

// Close lets others run the crawl.
func (r *Reader) Close() error {
	r.db.file.closed.Store(true)
	return r.db.file.close()
}

// Begun is what the next Open would find.
func (r *Reader) Begun() Begun { return r.db.Begun() }

// Marks are those of the files that grow, as they were when the crawl was last committed.
func (r *Reader) Marks() Marks { return r.db.book.marks }

// Position is as that of a DB.
func (r *Reader) Position() uint64 { return r.db.Position() }

// Sites calls f for every site that the crawl knows, until f returns an error: that is
// returned. What is called in f must not call a method here.
func (r *Reader) Sites(f func(frontier.SiteState) error) error { return r.db.Sites(f) }

// Common calls f for every clock that is common to several sites, as Sites does.
func (r *Reader) Common(f func(frontier.CommonClock) error) error { return r.db.Common(f) }

// State is what is known of one site: only the name of one that is not known.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.db.State(site) }

// Fate is as that of a DB.
func (r *Reader) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) { return r.db.Fate(u) }

// Entry is as that of a DB.
func (r *Reader) Entry(u frontier.URL) (k Kept, ok bool, err error) { return r.db.Entry(u) }

// Entries are as those of a DB.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] { return r.db.Entries(site) }

// Names are as those of a DB.
func (r *Reader) Names() iter.Seq2[frontier.Site, error] { return r.db.Names() }

// Ahead is as that of a DB.
func (r *Reader) Ahead(k Kept) (int, error) { return r.db.Ahead(k) }

// Queued is as that of a DB.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.db.Queued(site)
}

// Get reads what was Put. It reports whether there is anything.
func (r *Reader) Get(key string, value any) (ok bool, err error) { return r.db.Get(key, value) }

// Each is as that of a DB.
func (r *Reader) Each(prefix string, f func(rest string) error) error { return r.db.Each(prefix, f) }

// Snapshot is as that of a DB.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return r.db.Snapshot(site) }

// Snapshots are as those of a DB.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.db.Snapshots(site)
}

// Snapshots are all copies of a site's robots.txt, and all tries to get one, in the
// order of their times. What was put is seen once it is committed.
func (db *DB) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return func(yield func(*robots.Snapshot, error) bool) {
		var after []byte
		for more := true; more; {
			var s *robots.Snapshot
			err := db.file.view(func(tx *bbolt.Tx) (err error) {
				s, after, err = nextSnapshot(tx, site, after)
				return err
			})
			more = err == nil && s != nil
			if (err != nil || more) && !yield(s, err) {
				return
			}
		}
	}
}

// nextSnapshot is the first one of a site behind the key after; nil if there is none.
func nextSnapshot(tx *bbolt.Tx, site frontier.Site, after []byte) (*robots.Snapshot, []byte, error) {
	prefix := lastPutKey(site)
	c := tx.Bucket(bucketSnapshots).Cursor()
	key, value := c.Seek(prefix)
	if after != nil {
		if key, value = c.Seek(after); bytes.Equal(key, after) {
			key, value = c.Next()
		}
	}
	if len(key) == len(prefix) && bytes.HasPrefix(key, prefix) { // it says which one was put last
		key, value = c.Next()
	}
	if !bytes.HasPrefix(key, prefix) {
		return nil, after, nil
	}
	s, err := getSnapshot(tx, site, key, value)
	return s, bytes.Clone(key), err
}
