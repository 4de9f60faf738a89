package state

import (
	"encoding/binary"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// requeueAtOnce is how many entries come back with one commit.
const requeueAtOnce = 4096

// Requeue queues those entries again that ended as frontier.OutOfScope and that
// are wanted now, and says how many. What was submitted and is not merged yet is
// not looked at.
func (db *DB) Requeue(wanted func(frontier.Entry) bool) (n int, err error) {
	var after []byte
	for {
		var ids []uint64
		looked := 0
		err := db.file.view(func(tx *bbolt.Tx) error {
			rows := tx.Bucket(bucketAside).Cursor()
			key, value := rows.First()
			if after != nil {
				if key, value = rows.Seek(after); slices.Equal(key, after) {
					key, value = rows.Next()
				}
			}
			for ; key != nil && looked < requeueAtOnce; key, value = rows.Next() {
				looked, after = looked+1, slices.Clone(key)
				e, err := asideEntry(tx, key, value)
				if err != nil {
					return err
				}
				if wanted(e) {
					ids = append(ids, binary.BigEndian.Uint64(key))
				}
			}
			return nil
		})
		if err == nil && len(ids) > 0 {
			n += len(ids)
			err = db.enqueue(op{requeue: ids})
		}
		if err != nil || looked < requeueAtOnce {
			return n, err
		}
	}
}

// asideEntry is the entry that a row of bucketAside names.
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

// setAside notes that an entry ended only because of what the scope is now.
func (c *change) setAside(n siteNum, num uint32) error {
	return put(c.tx.Bucket(bucketAside), rowKey(entryID(n, num)), c.arena.value())
}

// requeue moves entries back into the queue that were set aside.
func (c *change) requeue(ids []uint64) error {
	aside := c.tx.Bucket(bucketAside)
	for same := range sameSite(ids) {
		n, _ := splitID(same[0])
		var r siteRecord
		if err := r.decode(n.key(), c.states.Get(n.key())); err != nil {
			return err
		}
		for _, id := range same {
			if err := c.backToReady(aside, n, &r, id); err != nil {
				return err
			}
		}
		key, _ := c.entries.Cursor().Seek(n.prefix(kindReady))
		r.Head = readyPriority(key)
		c.records = append(c.records, changedSite{n, &r})
		if err := put(c.states, n.key(), r.value(c.arena.take(256))); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) backToReady(aside *bbolt.Bucket, n siteNum, r *siteRecord, id uint64) error {
	_, num := splitID(id)
	from := endedKey(n, num)
	raw, err := unseal(bucketEntries, from, c.entries.Get(from))
	if err != nil {
		return err
	}
	d := decoder{b: raw}
	d.skipEntry()
	raw = slices.Clone(raw[:len(raw)-len(d.b)]) // a row must not be read once rows are written
	if err := c.entries.Delete(from); err != nil {
		return err
	}
	if err := aside.Delete(rowKey(id)); err != nil {
		return err
	}
	r.Ready++
	r.Queued++
	return put(c.entries, readyKey(n, entryPriority(raw), num), c.arena.value(raw))
}

// sameSite are the runs of IDs that belong to one site each.
func sameSite(ids []uint64) func(func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		for len(ids) > 0 {
			n, _ := splitID(ids[0])
			end := slices.IndexFunc(ids, func(id uint64) bool { is, _ := splitID(id); return is != n })
			if end < 0 {
				end = len(ids)
			}
			if !yield(ids[:end]) {
				return
			}
			ids = ids[end:]
		}
	}
}
