package state

import (
	"errors"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// ErrUnsettled says that the last run did not close the state. Before rows can be changed, the
// journal must be merged into the other buckets.
var ErrUnsettled = errors.New("the last run did not end by itself")

// Files are the marks of all files of a crawl except the state file.
type Files struct {
	Growing, Finished Marks
	Index             IndexMarks
}

// Files returns the marks of all files. It returns ErrUnsettled if a journal has rows, or if
// the last run did not close the state.
func (o *Outline) Files() (f Files, err error) {
	err = o.bolt.View(func(tx *bbolt.Tx) (err error) {
		row, _ := tx.Bucket(bucketJournal).Cursor().First()
		payload, _ := tx.Bucket(bucketPayloadJournal).Cursor().First()
		if row != nil || payload != nil || tx.Bucket(bucketMeta).Get(keyOpen) != nil {
			return callbackError(ErrUnsettled)
		}
		f, err = getFiles(tx)
		return err
	})
	return f, damaged(o.bolt.Path(), err, nil)
}

// Files returns the marks of all files.
func (r *Reader) Files() (f Files, err error) {
	err = r.db.file.view(func(tx *bbolt.Tx) (err error) {
		f, err = getFiles(tx)
		return err
	})
	return f, err
}

func getFiles(tx *bbolt.Tx) (f Files, err error) {
	if f.Growing, f.Index, err = getMarks(tx.Bucket(bucketMeta)); err != nil {
		return f, err
	}
	f.Finished = Marks{}
	return f, tx.Bucket(bucketFinished).ForEach(func(key, value []byte) error {
		var m Mark
		err := decode(bucketFinished, key, value, &m)
		f.Finished[string(key)] = m
		return err
	})
}

// PutFiles stores the marks of all files in one transaction.
func (o *Outline) PutFiles(f Files) error {
	return o.bolt.Update(func(tx *bbolt.Tx) error {
		return errors.Join(keepOutputs(tx, f.Growing, f.Finished), putIndex(tx.Bucket(bucketMeta), f.Index))
	})
}

// purgeAtOnce is how many rows sweep changes in one transaction.
const purgeAtOnce = 4096

// A purgeRow is a new row for a key. If it has no value, the row with the key is deleted.
type purgeRow struct{ key, value []byte }

// sweep calls f for all rows of a bucket, and put for each result of f that is not nil. If f
// returns an error, sweep passes it to problem, and the row stays unchanged. sweep returns the
// number of changed rows. After a kill it may be called again.
func (o *Outline) sweep(name []byte, problem func(error), f func(tx *bbolt.Tx, key, value []byte) (*purgeRow, error), put func(*bbolt.Tx, *purgeRow) error) (n int, err error) {
	var after []byte
	for more := true; more; {
		var rows []*purgeRow
		err := o.bolt.Update(func(tx *bbolt.Tx) error {
			c := tx.Bucket(name).Cursor()
			key, value := rowAfter(c, after)
			looked := 0
			for ; key != nil && len(rows) < purgeAtOnce && looked < 16*purgeAtOnce; key, value = c.Next() {
				looked++
				row, err := f(tx, key, value)
				if err != nil {
					problem(&DamagedError{o.bolt.Path(), err})
				} else if row != nil {
					rows = append(rows, row)
				}
				after = append(after[:0], key...)
			}
			more = key != nil
			for _, row := range rows {
				if err := put(tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, damaged(o.bolt.Path(), err, nil)
		}
		n += len(rows)
	}
	return n, nil
}

// PurgePayloads deletes the payloads for whose URL purged returns true, so that no later answer
// refers to the answers with these URLs. It returns the number of deleted payloads.
func (o *Outline) PurgePayloads(purged func(url string) bool, problem func(error)) (n int, err error) {
	return o.sweep(bucketPayloads, problem, func(_ *bbolt.Tx, key, value []byte) (*purgeRow, error) {
		p, err := getPayload(key, value)
		if err != nil || !purged(p.URL) {
			return nil, err
		}
		return &purgeRow{key: slices.Clone(key)}, nil
	}, func(tx *bbolt.Tx, row *purgeRow) error { return tx.Bucket(bucketPayloads).Delete(row.key) })
}

// PurgeEntries calls f for each fate that may have an answer: that of an entry that has ended,
// and that of the last visit of an entry that will be fetched again. If f returns true, the
// entry ends with the fate that f returns, which must have no answer, and is put aside.
// PurgeEntries returns the number of these entries.
func (o *Outline) PurgeEntries(f func(frontier.URL, frontier.Fate) (frontier.Fate, bool), problem func(error)) (n int, err error) {
	sites := map[siteNum]frontier.Site{}
	return o.sweep(bucketEntries, problem, func(tx *bbolt.Tx, key, value []byte) (*purgeRow, error) {
		if len(key) < 9 || key[4] == kindSeen {
			return nil, nil
		}
		site := keySite(key)
		if _, known := sites[site]; !known {
			var r siteRecord
			if err := r.decode(site.key(), tx.Bucket(bucketStates).Get(site.key())); err != nil {
				return nil, err
			}
			clear(sites) // clear the map now and then; the rows of a site are next to each other, so few sites are looked up again
			sites[site] = r.Site
		}
		e, err := rowEntry(sites[site], site, key, value)
		if err != nil {
			return nil, err
		}
		raw, _ := unseal(bucketEntries, key, value) // ignore the error, because rowEntry has checked the row
		d := decoder{b: raw}
		d.skipEntry()
		head := raw[:len(raw)-len(d.b)]
		var now frontier.Fate
		var ok bool
		if key[4] == kindEnded {
			fate, err := d.ended(tx.Bucket(bucketArchives))
			if err != nil {
				return nil, recordError(bucketEntries, key, err)
			}
			now, ok = f(e.URL, fate)
		}
		if !ok && e.Visits != nil {
			now, ok = f(e.URL, e.Visits.Last)
		}
		if !ok {
			return nil, nil
		}
		row := append(make([]byte, checksumSize, checksumSize+len(head)+64), head...)
		if e.Visits != nil { // the fate of the last visit may have an answer, too
			row, err = visited(row[:checksumSize], head, sites[site], nil)
		}
		return &purgeRow{slices.Clone(key), appendFate(row, &now)}, err
	}, purgeEntry)
}

// purgeEntry replaces a row by the row of an entry that has ended and was put aside.
func purgeEntry(tx *bbolt.Tx, row *purgeRow) error {
	entries, site, num := tx.Bucket(bucketEntries), keySite(row.key), lastNum(row.key)
	if row.key[4] != kindEnded {
		raw, err := unseal(bucketEntries, row.key, entries.Get(row.key))
		again := err == nil && row.key[4] == kindWaiting && waitsAgain(raw) // read this first, because raw is not valid after a write
		if err := errors.Join(err, entries.Delete(row.key), leaveQueue(tx, row.key, again)); err != nil {
			return err
		}
	}
	return errors.Join(
		put(entries, endedKey(site, num), row.value),
		put(tx.Bucket(bucketAside), rowKey(entryID(site, num)), make([]byte, checksumSize)))
}

// leaveQueue updates the record of a site after the row of a queued entry was deleted. key is
// the key of that row; again says whether the entry was waiting to be fetched again.
func leaveQueue(tx *bbolt.Tx, key []byte, again bool) error {
	var r siteRecord
	site, states := keySite(key), tx.Bucket(bucketStates)
	if err := r.decode(site.key(), states.Get(site.key())); err != nil {
		return err
	}
	if key[4] == kindWaiting {
		if r.Waiting--; again {
			r.Again--
		}
	} else if r.Ready--; r.Ready > 0 {
		if first, _ := tx.Bucket(bucketEntries).Cursor().Seek(site.prefix(kindReady)); first != nil {
			r.Head = readyRank(first)
		}
	}
	return put(states, site.key(), r.value(make([]byte, checksumSize)))
}
