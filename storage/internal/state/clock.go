package state

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"
)

// muchAhead is how far a clock must have run ahead before times are corrected: many clocks
// are set back by less every day.
const muchAhead = time.Second

// clock returns the time for a commit. Until turnBack has ended it is that of the commit
// before, so that a kill in between does not stop the correction.
func (db *DB) clock() time.Time {
	if db.book.turning {
		return db.begun.Committed
	}
	return time.Now()
}

// turnBack shifts the due times of waiting entries, if the clock that set them ran ahead:
// the time left to wait is what it was at the last commit. The frontier shifts the clocks
// of sites.
func (db *DB) turnBack() error {
	ahead := time.Until(db.begun.Committed)
	if ahead < muchAhead {
		return nil
	}
	db.book.turning = true
	defer func() { db.book.turning = false }()
	// The journal identifies entries by their due times.
	for !db.book.pending.empty() {
		if err := db.commitGroup(false, true); err != nil {
			return err
		}
	}
	select {
	case <-db.growths.C(): // discard the news: nothing has read it yet
	default:
	}
	return db.file.bolt.Update(func(tx *bbolt.Tx) error {
		c := newChange(db, tx, db.book.row)
		err := c.states.ForEach(func(key, raw []byte) error {
			var r siteRecord
			err := r.decode(key, raw)
			if err == nil && r.Waiting > 0 {
				err = c.sooner(keySite(key), ahead)
			}
			return err
		})
		if err != nil {
			return err
		}
		return putCommit(c.meta, lastCommit{db.book.commits, db.book.row, time.Now()})
	})
}

// sooner shifts the waiting entries of a site.
func (c *change) sooner(n siteNum, by time.Duration) error {
	var keys, values [][]byte // collected first: changes invalidate a cursor
	prefix := n.prefix(kindWaiting)
	rows := c.entryRows
	now := time.Now().UnixMilli()
	for key, value := rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = rows.Next() {
		if waitingDue(key) <= now {
			continue
		}
		raw, err := unseal(bucketEntries, key, value)
		if err != nil {
			return err
		}
		keys, values = append(keys, bytes.Clone(key)), append(values, bytes.Clone(raw))
	}
	for _, key := range keys {
		if err := c.entries.Delete(key); err != nil {
			return err
		}
	}
	for i, key := range keys {
		due := max(now, waitingDue(key)-by.Milliseconds())
		if err := put(c.entries, waitingKey(n, due, lastNum(key)), c.arena.value(values[i])); err != nil {
			return err
		}
	}
	return nil
}
