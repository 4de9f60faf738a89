package state

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"
)

// muchAhead is how far the wall clock must have been ahead before times are corrected. Smaller
// differences are ignored, because many clocks are set back a little every day.
const muchAhead = time.Second

// clock returns the time that a commit stores as its own. turnBack corrects stored times if the
// wall clock was ahead at the last commit of the run before. Until turnBack has ended, clock
// returns the time of that last commit. So if this run is killed before, the next run also sees
// that the clock was ahead, and corrects the times.
func (db *DB) clock() time.Time {
	if db.book.turning {
		return db.begun.Committed
	}
	return time.Now()
}

// turnBack makes the due times of waiting entries earlier, if the wall clock was ahead when
// they were set. Each entry then waits for the time that it still had to wait at the last
// commit. turnBack does not change the clocks of sites, because the frontier corrects those
// itself.
func (db *DB) turnBack() error {
	ahead := time.Until(db.begun.Committed)
	if ahead < muchAhead {
		return nil
	}
	db.book.turning = true
	defer func() { db.book.turning = false }()
	// Merge first, because rows of the journal have the old due times of entries.
	for !db.book.pending.empty() {
		if err := db.commitGroup(false, true); err != nil {
			return err
		}
	}
	select {
	case <-db.growths.C(): // discard the value, because the frontier does not read growths yet
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

// sooner makes the due times of a site's waiting entries earlier by the given duration. No due
// time becomes earlier than now.
func (c *change) sooner(n siteNum, by time.Duration) error {
	var keys, values [][]byte // collect the rows first, because changes invalidate a cursor
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
