package state

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// requeueAtOnce is how many entries Requeue reads in one transaction.
const requeueAtOnce = 4096

// Requeue queues again those entries that were put aside (frontier.Code.Aside) and for which
// wanted returns true. It returns their number. It does not consider an entry whose end was
// submitted but is still pending in the journal. Read returns the entries after the next
// commit.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	var after []byte
	for {
		var looked []frontier.Entry
		err := db.file.view(func(tx *bbolt.Tx) error {
			rows := tx.Bucket(bucketAside).Cursor()
			key, value := rows.First()
			if after != nil {
				if key, value = rows.Seek(after); slices.Equal(key, after) {
					key, value = rows.Next()
				}
			}
			for ; key != nil && len(looked) < requeueAtOnce; key, value = rows.Next() {
				e, err := asideEntry(tx, key, value)
				if err != nil {
					return err
				}
				after = slices.Clone(key)
				looked = append(looked, e)
			}
			return nil
		})
		if err != nil {
			return n, err
		}
		var back []asideSite
		for _, e := range looked { // outside the transaction, because wanted may be slow
			if !wanted(e) {
				continue
			}
			n++
			site, num := splitID(e.ID)
			if len(back) == 0 || back[len(back)-1].num != site {
				back = append(back, asideSite{name: e.URL.Site(), num: site})
			}
			last := &back[len(back)-1]
			last.back = append(last.back, named{fingerprint(e.Key(), db.seed), num})
		}
		for _, s := range back {
			if err != nil {
				break
			}
			e := encodeBack(s.name, s.num, s.back)
			err = db.enqueue(op{completion: &e})
			db.queue.starve(s.name)
			nudge(db.queue.wake)
		}
		if err != nil || len(looked) < requeueAtOnce {
			return n, err
		}
	}
}

// Aside reports whether the crawl has entries that were put aside (frontier.Code.Aside). Only
// then has Requeue anything to do.
func (r *Reader) Aside() (some bool, err error) {
	err = r.db.file.view(func(tx *bbolt.Tx) error {
		key, _ := tx.Bucket(bucketAside).Cursor().First()
		some = key != nil
		return nil
	})
	return some, err
}

// An asideSite is a site with entries that Requeue queues again.
type asideSite struct {
	name frontier.Site
	num  siteNum
	back []named
}

// asideEntry returns the entry that a row of bucketAside names.
func asideEntry(tx *bbolt.Tx, key, value []byte) (frontier.Entry, error) {
	_, err := unseal(bucketAside, key, value)
	if err == nil && len(key) != 8 {
		err = recordError(bucketAside, key, errRecord)
	}
	if err != nil {
		return frontier.Entry{}, err
	}
	n, num := splitID(binary.BigEndian.Uint64(key))
	var r siteRecord
	if err := r.decode(n.key(), tx.Bucket(bucketStates).Get(n.key())); err != nil {
		return frontier.Entry{}, err
	}
	ended := endedKey(n, num)
	return rowEntry(r.Site, n, ended, tx.Bucket(bucketEntries).Get(ended))
}

// setAside adds an ended entry to bucketAside. The entry was only put aside
// (frontier.Code.Aside), so Requeue may queue it again.
func (c *change) setAside(n siteNum, num uint32) error {
	return put(c.tx.Bucket(bucketAside), rowKey(entryID(n, num)), c.arena.value())
}

// requeue moves an entry that was put aside back into the queue.
func (c *change) requeue(n siteNum, r *siteRecord, num uint32) error {
	aside, id := c.tx.Bucket(bucketAside), rowKey(entryID(n, num))
	if aside.Get(id) == nil {
		return nil // an earlier completion has already requeued the entry
	}
	from := endedKey(n, num)
	raw, err := unseal(bucketEntries, from, get(c.entryRows, from))
	if err != nil {
		return err
	}
	d := decoder{b: raw}
	d.skipEntry()
	raw = slices.Clone(raw[:len(raw)-len(d.b)]) // copy the row, because its bytes must not be read after rows are written
	r.Ready++
	r.Queued++
	return errors.Join(c.entries.Delete(from), aside.Delete(id), put(c.entries, readyKey(n, entryRank(raw), num), c.arena.value(raw)))
}
