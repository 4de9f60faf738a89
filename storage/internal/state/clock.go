package state

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"
)

// muchAhead is by how much a clock must have run ahead to be put right: many are
// set by less every day.
const muchAhead = time.Second

// clock is the time of a commit. Until turnBack has ended it is that of the last
// one before, so that a kill meanwhile is no end of it.
func (db *DB) clock() time.Time {
	if db.book.turning {
		return db.begun.Committed
	}
	return time.Now()
}

// turnBack shifts what waits until some time, if the clock that set it ran ahead:
// it waits as long as it had to when the crawl was last committed. The clocks of
// sites are the frontier's to shift.
func (db *DB) turnBack() error {
	ahead := time.Until(db.begun.Committed)
	if ahead < muchAhead {
		return nil
	}
	db.book.turning = true
	defer func() { db.book.turning = false }()
	// The journal names entries by what they wait for.
	for !db.book.pending.empty() {
		if err := db.commitGroup(false, true); err != nil {
			return err
		}
	}
	select {
	case <-db.growths.C(): // nobody has asked yet
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

// sooner shifts the entries of a site that wait.
func (c *change) sooner(n siteNum, by time.Duration) error {
	var keys, values [][]byte // a cursor does not go on behind what is changed
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
