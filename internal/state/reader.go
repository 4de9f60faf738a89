package state

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// A Reader reads the state of a crawl that is not running, including what its journal holds. It
// changes nothing. Any number of processes may have Readers at once. Until Close, no process
// can run the crawl. The methods of a Reader are safe for concurrent use, except Close; after
// Close they return ErrClosed.
type Reader struct{ db *DB }

// OpenReader opens the state of the crawl in dir. It fails with an *InUseError if a process
// runs the crawl, a *DamagedError, a *VersionError, or an error of the file system.
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

// Close closes the state, so that a process can run the crawl again.
func (r *Reader) Close() error {
	if r.db.file.closed.Swap(true) {
		return ErrClosed
	}
	return r.db.file.close()
}

// Begun returns the value of Begun that Open would return now.
func (r *Reader) Begun() Begun { return r.db.Begun() }

// Marks returns the marks of the files to which a run appends, as of the last commit.
func (r *Reader) Marks() Marks { return r.db.book.marks }

// Sites is like DB.Sites.
func (r *Reader) Sites() iter.Seq2[frontier.SiteState, error] { return r.db.Sites() }

// Common is like DB.Common.
func (r *Reader) Common() iter.Seq2[frontier.CommonClock, error] { return r.db.Common() }

// State returns what is known about one site. If the site is unknown, only its name is set.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.db.State(site) }

// Entry is like DB.Entry.
func (r *Reader) Entry(site frontier.Site, keys ...string) (Kept, bool, error) {
	return r.db.Entry(site, keys...)
}

// Entries is like DB.Entries.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] { return r.db.Entries(site) }

// Names is like DB.Names.
func (r *Reader) Names() iter.Seq2[frontier.Site, error] { return r.db.Names() }

// Ahead is like DB.Ahead.
func (r *Reader) Ahead(k Kept) (int, error) { return r.db.Ahead(k) }

// Queued iterates over the entries of site that have not ended, in the order of DB.Queued. Unlike
// that, it includes the entries and the changes of entries that are pending in the journal.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return func(yield func(frontier.Entry, error) bool) {
		changed, old, err := r.db.changedEntries(site)
		if err != nil {
			yield(frontier.Entry{}, err)
			return
		}
		for e, err := range r.db.Queued(site) {
			if err == nil && len(old) > 0 && old[fingerprint(e.Key(), r.db.seed)] {
				continue
			}
			for ; err == nil && len(changed) > 0 && inQueue(changed[0], e) < 0; changed = changed[1:] {
				if !yield(changed[0], nil) {
					return
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		for _, e := range changed {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// inQueue compares two queued entries by their order in Queued.
func inQueue(a, b frontier.Entry) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Rank, b.Rank)) // without a due time, Due is zero
}

// changedEntries returns the queued entries of a site that the journal adds or changes, in the order
// of inQueue, and the fingerprints of all entries that it changes or ends.
func (db *DB) changedEntries(site frontier.Site) (changed []frontier.Entry, old map[uint64]bool, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		s, err := db.newView(tx).keptSite(site)
		if err != nil || s.pending == nil {
			return err
		}
		links, err := s.links()
		if err != nil {
			return err
		}
		for _, k := range links {
			changed = append(changed, k.Entry)
		}
		old = map[uint64]bool{}
		nums, rows := map[uint32]bool{}, s.entries.Cursor()
		for _, end := range s.pending.ends {
			old[end.fp] = true
			num, _, err := seenNum(rows, s.n, end.fp)
			if err != nil {
				return err
			}
			nums[num] = true
		}
		if len(nums) == 0 {
			return nil
		}
		add := func(key, value []byte) error {
			k, err := s.kept(key, value)
			if err == nil && !k.Fate.Ends() {
				changed = append(changed, k.Entry)
			}
			return err
		}
		for _, num := range slices.Sorted(maps.Keys(nums)) { // an entry that was put aside has the row of an ended one
			key := endedKey(s.n, num)
			if value := s.entries.Get(key); value != nil {
				if err := add(key, value); err != nil {
					return err
				}
			}
		}
		for _, kind := range []byte{kindReady, kindWaiting} {
			prefix := s.n.prefix(kind)
			for key, value := rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = rows.Next() {
				if !nums[lastNum(key)] {
					continue
				}
				if err := add(key, value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(changed, inQueue)
	return changed, old, err
}

// Get is like DB.Get.
func (r *Reader) Get(key string, value any) (ok bool, err error) { return r.db.Get(key, value) }

// Keys is like DB.Keys.
func (r *Reader) Keys(prefix string) iter.Seq2[string, error] { return r.db.Keys(prefix) }

// Snapshot is like DB.Snapshot.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return r.db.Snapshot(site) }

// Snapshots is like DB.Snapshots.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.db.Snapshots(site)
}

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts to
// fetch it, in order of time. Snapshots that are not committed yet are left out.
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

// nextSnapshot returns the next snapshot of a site, and its key. It begins after the key in
// after, or with the first snapshot if after is nil. It returns no snapshot after the last one.
func nextSnapshot(tx *bbolt.Tx, site frontier.Site, after []byte) (*robots.Snapshot, []byte, error) {
	prefix := lastPutKey(site)
	c := tx.Bucket(bucketSnapshots).Cursor()
	key, value := c.Seek(prefix)
	if after != nil {
		if key, value = c.Seek(after); bytes.Equal(key, after) {
			key, value = c.Next()
		}
	}
	if len(key) == len(prefix) && bytes.HasPrefix(key, prefix) { // skip the row that only names the snapshot that was put last
		key, value = c.Next()
	}
	if !bytes.HasPrefix(key, prefix) {
		return nil, after, nil
	}
	s, err := getSnapshot(tx, site, key, value)
	return s, bytes.Clone(key), err
}
