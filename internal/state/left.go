package state

import (
	"bytes"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// leftAtOnce is how many entries are read in one transaction. It is small, because bbolt cannot
// reuse freed pages of the file while a transaction lasts.
const leftAtOnce = 256

// Queued iterates over the entries of site that have not ended, including those that the
// frontier has read. First come the entries without a due time, by rank, then the waiting
// entries, by due time. Entries that were submitted and are still pending in the journal are
// left out.
func (db *DB) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return rowsOf(db.file.view, site, kindReady, kindWaiting)
}

// rowsOf iterates over those entries of a site whose rows are of the given kinds, in the order
// of kinds.
func rowsOf(view func(func(*bbolt.Tx) error) error, site frontier.Site, kinds ...byte) iter.Seq2[frontier.Entry, error] {
	return func(yield func(frontier.Entry, error) bool) {
		for _, kind := range kinds {
			var after []byte
			for {
				some, last, err := someRows(view, site, kind, after)
				for _, e := range some {
					if !yield(e, nil) {
						return
					}
				}
				if err != nil {
					yield(frontier.Entry{}, err)
					return
				}
				if after = last; len(some) < leftAtOnce {
					break
				}
			}
		}
	}
}

// someRows returns the next entries of a site whose rows are of the given kind. It begins after
// the row with the key in after, or with the first row if after is nil. last is the key of the
// last row that was read.
func someRows(view func(func(*bbolt.Tx) error) error, site frontier.Site, kind byte, after []byte) (some []frontier.Entry, last []byte, err error) {
	err = view(func(tx *bbolt.Tx) error {
		n, err := siteNumber(tx.Bucket(bucketNames), site)
		if n == 0 || err != nil {
			return err
		}
		prefix := n.prefix(kind)
		rows := tx.Bucket(bucketEntries).Cursor()
		from := prefix
		if after != nil {
			from = after
		}
		key, value := rows.Seek(from)
		if after != nil && bytes.Equal(key, after) {
			key, value = rows.Next()
		}
		for ; bytes.HasPrefix(key, prefix) && len(some) < leftAtOnce; key, value = rows.Next() {
			e, err := rowEntry(site, n, key, value)
			if err != nil {
				return err
			}
			some, last = append(some, e), bytes.Clone(key)
		}
		return nil
	})
	return some, last, err
}

// rowEntry returns the entry in a row of kindReady, kindWaiting or kindEnded, with its ID.
func rowEntry(site frontier.Site, n siteNum, key, value []byte) (frontier.Entry, error) {
	raw, err := unseal(bucketEntries, key, value)
	if err != nil {
		return frontier.Entry{}, err
	}
	d := decoder{b: raw}
	e, err := d.entry(site)
	if err != nil {
		return e, recordError(bucketEntries, key, err)
	}
	num := lastNum(key)
	e.ID = entryID(n, num)
	if key[4] == kindWaiting {
		e.Due = time.UnixMilli(waitingDue(key))
	}
	return e, nil
}
