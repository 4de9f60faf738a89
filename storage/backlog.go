package storage

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// Sites implements frontier.Backlog.
func (db *DB) Sites(f func(frontier.SiteState) error) error {
	return db.view(func(tx *bbolt.Tx) error {
		waiting := tx.Bucket(bucketWaiting)
		return tx.Bucket(bucketStates).ForEach(func(key, raw []byte) error {
			var r siteRecord
			if err := decode(bucketStates, key, raw, &r); err != nil {
				return err
			}
			return f(stateOf(waiting, siteNum(binary.BigEndian.Uint32(key)), &r, nil))
		})
	})
}

// State implements frontier.Backlog.
func (db *DB) State(site frontier.Site) (st frontier.SiteState, err error) {
	st.Site = site
	err = db.view(func(tx *bbolt.Tx) error {
		raw := tx.Bucket(bucketSites).Get([]byte(site))
		if raw == nil {
			return nil
		}
		n := siteNum(binary.BigEndian.Uint32(raw))
		var r siteRecord
		if err := decode(bucketStates, n.key(), tx.Bucket(bucketStates).Get(n.key()), &r); err != nil {
			return err
		}
		st = stateOf(tx.Bucket(bucketWaiting), n, &r, nil)
		return nil
	})
	return st, err
}

// Read implements frontier.Backlog.
func (db *DB) Read(site frontier.Site, now time.Time, entries []frontier.Entry) (int, error) {
	// An entry stays out until every reader who might still see it as queued
	// has gone.
	db.reading.RLock()
	defer db.reading.RUnlock()
	n := 0
	err := db.view(func(tx *bbolt.Tx) error {
		raw := tx.Bucket(bucketSites).Get([]byte(site))
		if raw == nil {
			return nil
		}
		num := siteNum(binary.BigEndian.Uint32(raw))
		r := reader{db: db, site: site, num: num, entries: entries, records: tx.Bucket(bucketEntries)}
		err := r.read(tx.Bucket(bucketWaiting), func(key []byte) bool {
			return int64(binary.BigEndian.Uint64(key[4:])) <= now.UnixMilli()
		}, false)
		if err == nil {
			err = r.read(tx.Bucket(bucketReady), func([]byte) bool { return true }, true)
		}
		n = r.n
		return err
	})
	if n == 0 {
		// The site starves: what it may get should not wait for company.
		db.nudge(db.hurry)
	}
	return n, err
}

// A reader fills entries from the rows of one site.
type reader struct {
	db      *DB
	site    frontier.Site
	num     siteNum
	records *bbolt.Bucket
	entries []frontier.Entry
	n       int
}

func (r *reader) read(rows *bbolt.Bucket, due func(key []byte) bool, ready bool) error {
	prefix := r.num.key()
	c := rows.Cursor()
	for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix) && due(key); key, _ = c.Next() {
		if r.n == len(r.entries) {
			return nil
		}
		num := lastNum(key)
		if !r.take(num, ready) {
			continue
		}
		var rec entryRecord
		at := entryKey(r.num, num)
		if err := decode(bucketEntries, at, r.records.Get(at), &rec); err != nil {
			return err
		}
		e, err := rec.entry(r.site, num)
		if err != nil {
			return err
		}
		r.entries[r.n] = e
		r.n++
	}
	return nil
}

// take marks an entry as out, unless it is.
func (r *reader) take(num uint32, ready bool) bool {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	out := r.db.out[r.site]
	if _, ok := out[num]; ok {
		return false
	}
	if out == nil {
		out = map[uint32]bool{}
		r.db.out[r.site] = out
	}
	out[num] = ready
	return true
}

// Submit implements frontier.Backlog.
func (db *DB) Submit(c frontier.Completion) error { return db.enqueue(op{completion: &c}) }

// Grown implements frontier.Backlog.
func (db *DB) Grown() <-chan frontier.Growth { return db.growths.C() }

// Fate says how the crawl's entry for u ended. ok is false if u was never
// queued; the fate is Undecided if it is queued, Waiting if it waits for
// another try.
func (db *DB) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) {
	err = db.view(func(tx *bbolt.Tx) error {
		raw := tx.Bucket(bucketSites).Get([]byte(u.Site()))
		if raw == nil {
			return nil
		}
		n := siteNum(binary.BigEndian.Uint32(raw))
		raw = tx.Bucket(bucketSeen).Get(seenKey(n, fingerprint(u, db.seed)))
		if raw == nil {
			return nil
		}
		ok = true
		key := entryKey(n, binary.BigEndian.Uint32(raw))
		if raw := tx.Bucket(bucketFates).Get(key); raw != nil {
			return decode(bucketFates, key, raw, &fate)
		}
		var rec entryRecord
		if err := decode(bucketEntries, key, tx.Bucket(bucketEntries).Get(key), &rec); err != nil {
			return err
		}
		if rec.Due != 0 {
			fate = frontier.Fate{Code: frontier.Waiting, Until: time.UnixMilli(rec.Due)}
		}
		return nil
	})
	return fate, ok, err
}

// Put keeps a value of the crawl under key, after what was submitted before
// and before what is submitted later. The value is stored as JSON.
func (db *DB) Put(key string, value any) error {
	return db.enqueue(op{key: "put " + key, value: value})
}

// Each calls f with the rest of every key that begins with prefix and that was
// Put and committed.
func (db *DB) Each(prefix string, f func(rest string) error) error {
	return db.view(func(tx *bbolt.Tx) error {
		p := []byte("put " + prefix)
		c := tx.Bucket(bucketMeta).Cursor()
		for k, _ := c.Seek(p); bytes.HasPrefix(k, p); k, _ = c.Next() {
			if err := f(string(k[len(p):])); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get reads what was Put and committed. It reports whether there is anything.
func (db *DB) Get(key string, value any) (ok bool, err error) {
	err = db.view(func(tx *bbolt.Tx) error {
		k := []byte("put " + key)
		raw := tx.Bucket(bucketMeta).Get(k)
		if raw == nil {
			return nil
		}
		ok = true
		return decode(bucketMeta, k, raw, value)
	})
	return ok, err
}
