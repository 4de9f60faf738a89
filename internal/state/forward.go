package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A list of page changes (frontier.Changes) makes entries due earlier, or "brings them
// forward". When the list is submitted, the goroutine of the caller looks up the entries of the
// pages. It writes them to the journal with their old and new due times. When the row of the
// journal is merged, an entry may no longer have the old due time, because it was fetched or
// brought forward meanwhile. Then the merge does not change its due time. So the effect of a
// row does not depend on how much was merged when the row was written.

// A forward is an entry that waits to be fetched again, with a new, earlier due time.
type forward struct {
	named
	site     frontier.Site
	from, to int64  // old and new due time, in Unix milliseconds
	at       uint32 // position in encoded.raw at which appendForward has written the forward
}

// forwards returns the entries whose due times the list of page changes makes earlier, sorted
// by site. It does not consider changes that are pending in the journal. It fails if the file
// cannot be read.
func (db *DB) forwards(changes *frontier.Changes) (all []forward, err error) {
	if changes == nil {
		return nil, nil
	}
	pages := slices.Clone(changes.Pages)
	slices.SortStableFunc(pages, func(a, b frontier.Change) int { return cmp.Compare(a.Site, b.Site) })
	for len(pages) > 0 {
		site, n := pages[0].Site, 1
		for n < len(pages) && pages[n].Site == site {
			n++
		}
		w := waiters{db: db, changes: changes, site: site, pages: pages[:n]}
		pages = pages[n:]
		err := db.file.view(w.find)
		for err == nil && len(w.wanted) > 0 && !w.done {
			err = db.file.view(w.some)
		}
		if err != nil {
			return nil, err
		}
		// Many entries may get the same due time. In this order their new rows are next to each
		// other in the file.
		slices.SortFunc(w.found, func(a, b forward) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.num, b.num)) })
		all = append(all, w.found...)
	}
	return all, nil
}

// waiters finds the entries of one site that wait to be fetched again, and whose pages have
// changed according to a list of page changes.
type waiters struct {
	db      *DB
	changes *frontier.Changes
	site    frontier.Site
	pages   []frontier.Change

	num    siteNum
	wanted map[uint32]waiter
	after  []byte // key of the last row that was read
	done   bool
	found  []forward
}

// A waiter is an entry that waits, and the change of its page in a list of page changes.
type waiter struct {
	fp uint64
	*frontier.Change
}

// find looks up the numbers of the entries of the pages w.pages, and sets w.wanted.
func (w *waiters) find(tx *bbolt.Tx) (err error) {
	if w.num, err = siteNumber(tx.Bucket(bucketNames), w.site); w.num == 0 || err != nil {
		return err
	}
	w.wanted = map[uint32]waiter{}
	rows := tx.Bucket(bucketEntries).Cursor()
	for i := range w.pages {
		p := &w.pages[i]
		fp := fingerprint(p.Key, w.db.seed)
		num, ok, err := seenNum(rows, w.num, fp)
		if err != nil {
			return err
		}
		if is, twice := w.wanted[num]; ok && (!twice || p.Time.After(is.Time)) {
			w.wanted[num] = waiter{fp, p}
		}
	}
	return nil
}

// waitersAtOnce is how many rows are read in one transaction. It is larger than leftAtOnce,
// because for most rows only the key is read.
const waitersAtOnce = 4096

// some reads the next rows of waiting entries, and sets w.done after the last row.
func (w *waiters) some(tx *bbolt.Tx) error {
	prefix, rows := w.num.prefix(kindWaiting), tx.Bucket(bucketEntries).Cursor()
	key, value := rows.Seek(prefix)
	if w.after != nil {
		if key, value = rows.Seek(w.after); bytes.Equal(key, w.after) {
			key, value = rows.Next()
		}
	}
	for range waitersAtOnce {
		if !bytes.HasPrefix(key, prefix) {
			w.done = true
			return nil
		}
		num := lastNum(key)
		if p, ok := w.wanted[num]; ok && !w.db.handedOut.isOut(w.num, num) {
			e, err := rowEntry(w.site, w.num, key, value)
			if err != nil {
				return err
			}
			due, sooner := w.changes.Due(&e, p.Time)
			if to, from := dueMillis(due), waitingDue(key); sooner && to < from {
				w.found = append(w.found, forward{named: named{p.fp, num}, site: w.site, from: from, to: to})
			}
		}
		w.after = append(w.after[:0], key...)
		key, value = rows.Next()
	}
	return nil
}

// addForwards appends the entries whose due times a completion makes earlier to the encoded
// completion.
func (e *encoded) addForwards(all []forward) {
	if len(all) == 0 {
		return
	}
	e.forwards = all
	e.raw[0] |= ofForward
	e.raw = binary.AppendUvarint(e.raw, uint64(len(all)))
	for i := range all {
		f := &all[i]
		if f.site == e.site {
			e.raw = append(e.raw, 0)
		} else {
			e.raw = appendString(e.raw, string(f.site))
		}
		f.at = uint32(len(e.raw))
		e.raw = appendForward(e.raw, f)
	}
}

func appendForward(b []byte, f *forward) []byte {
	b = binary.BigEndian.AppendUint64(b, f.fp)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(f.from)), uint64(f.to))
}

// forward reads a forward that appendForward has encoded.
func (d *decoder) forward() forward {
	return forward{named: named{fp: d.uint64()}, from: int64(d.uint64()), to: int64(d.uint64())}
}

// forwards reads the entries whose due times a completion of the site makes earlier. They come
// after the links of the completion. whole is the length of the encoded completion, in bytes.
func (d *decoder) forwards(site frontier.Site, whole int) (all []forward) {
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		of := site
		if s := d.lengthed(); len(s) > 0 {
			of = frontier.Site(s)
		}
		at := uint32(whole - len(d.b))
		f := d.forward()
		f.site, f.at = of, at
		all = append(all, f)
	}
	return all
}

// forwarded returns the forward at a place of the journal.
func (c *change) forwarded(p place) (forward, error) {
	raw, err := c.text(p)
	d := decoder{b: raw}
	f := d.forward()
	if err == nil && d.bad {
		err = recordError(bucketJournal, rowKey(c.number(p)), errRecord)
	}
	return f, err
}

// bringForward changes the due time of an entry, unless its row no longer has the old due time.
func (c *change) bringForward(n siteNum, r *siteRecord, e pendingEnd) error {
	f, err := c.forwarded(e.place)
	if err != nil {
		return err
	}
	from := waitingKey(n, f.from, e.num)
	value := get(c.entryRows, from)
	if value == nil || f.to >= f.from {
		return nil
	}
	raw, err := unseal(bucketEntries, from, value)
	if err != nil {
		return fmt.Errorf("an entry of %s: %w", r.Site, err)
	}
	row := c.arena.value(raw) // a copy, because the row must not be read after rows are written
	if err := c.entries.Delete(from); err != nil {
		return err
	}
	return put(c.entries, waitingKey(n, f.to, e.num), row)
}
