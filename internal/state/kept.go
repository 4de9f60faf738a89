package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A Kept is an entry and its fate. The fate is Undecided while the entry is queued. After a
// failed try that will be repeated it is Waiting. If the entry was fetched, and will be fetched
// again later, the fate is that of its last visit, with the time of the next visit as Until
// (frontier.Fate.Again).
type Kept struct {
	frontier.Entry
	Fate frontier.Fate
	// Number counts the entries of the site from 1, in the order in which they were found. 0:
	// the entry is pending in the journal, and has no number yet.
	Number int
}

// Entry returns the entry of a site that has the first of the keys (see frontier.Entry.Key), or
// else that with the second, and so on. ok is false if no such entry was ever queued. Submitted
// entries are found only after they are committed.
func (db *DB) Entry(site frontier.Site, keys ...string) (k Kept, ok bool, err error) {
	for _, key := range keys {
		if k, ok, err = db.entryOf(site, key); ok || err != nil {
			break
		}
	}
	return k, ok, err
}

// entryOf returns the entry of a site that has the key.
func (db *DB) entryOf(site frontier.Site, key string) (k Kept, ok bool, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		s, err := db.newView(tx).keptSite(site)
		if err != nil {
			return err
		}
		fp := fingerprint(key, db.seed)
		num := uint32(0)
		if s.n != 0 {
			if num, ok, err = seenNum(s.entries.Cursor(), s.n, fp); err != nil {
				return err
			}
		}
		if !ok {
			k, ok, err = s.link(fp)
			return err
		}
		key, value, err := s.row(num)
		if err != nil {
			return err
		}
		k, err = s.kept(key, value)
		return err
	})
	return k, ok, err
}

// keptAtOnce is how many entries are read in one transaction, and held in memory at once.
const keptAtOnce = 1024

// Entries iterates over all entries of site, in the order in which they were found. If the
// crawl runs during the iteration, each entry is as it was when Entries read it.
func (db *DB) Entries(site frontier.Site) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		after := uint32(0)
		for {
			some, more, err := db.keptAfter(site, &after)
			for _, k := range some {
				if !yield(k, nil) {
					return
				}
			}
			if err != nil {
				yield(Kept{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// keptAfter returns the next entries of a site, whose numbers are greater than *after, and sets
// *after to the last of these numbers. more is true if there may be further entries.
func (db *DB) keptAfter(site frontier.Site, after *uint32) (some []Kept, more bool, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		s, err := db.newView(tx).keptSite(site)
		if err != nil {
			return err
		}
		rows := s.rowsAfter(*after)
		for len(some) < keptAtOnce {
			key, value, num := rows.next()
			if key == nil {
				links, err := s.links()
				some = append(some, links...)
				return err
			}
			k, err := s.kept(key, value)
			if err != nil {
				return err
			}
			some, *after = append(some, k), num
		}
		more = true
		return nil
	})
	return some, more, err
}

// A keptSite reads the entries of one site, and applies the changes that are pending in the
// journal to them. The caller holds DB.merging.
type keptSite struct {
	*view
	n       siteNum // number of the site; 0 if the site has no record yet
	record  siteRecord
	pending *pendingSite          // what the journal has for the site and is not merged; nil: nothing
	ends    map[uint32]pendingEnd // the last unmerged end of each entry, by the number of the entry
	forward map[uint64][]place    // places in the journal that make an entry due earlier after its last end, by the fingerprint of the entry
}

func (v *view) keptSite(site frontier.Site) (*keptSite, error) {
	s := &keptSite{view: v, ends: map[uint32]pendingEnd{}, forward: map[uint64][]place{}}
	var err error
	if s.n, s.record, err = v.site(site); err != nil {
		return nil, err
	}
	if s.pending = v.db.book.pending.sites[site]; s.pending == nil {
		return s, nil
	}
	for _, e := range s.pending.ends {
		if e.what == comesForward {
			s.forward[e.fp] = append(s.forward[e.fp], e.place)
			continue
		}
		delete(s.forward, e.fp)
		s.ends[e.num] = e
	}
	return s, nil
}

// row returns the row of an entry. It may be of any kind except kindSeen.
func (s *keptSite) row(num uint32) (key, value []byte, err error) {
	if key = endedKey(s.n, num); s.entries.Get(key) != nil {
		return key, s.entries.Get(key), nil
	}
	rows := s.entries.Cursor()
	for _, rank := range s.ranks(rows) {
		if key = readyKey(s.n, rank, num); s.entries.Get(key) != nil {
			return key, s.entries.Get(key), nil
		}
	}
	prefix := s.n.prefix(kindWaiting)
	for key, value = rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = rows.Next() {
		if lastNum(key) == num {
			return key, value, nil
		}
	}
	return nil, nil, recordError(bucketEntries, endedKey(s.n, num), errRecord)
}

// ranks returns the ranks of those entries of the site that are ready: queued without a due
// time.
func (s *keptSite) ranks(rows *bbolt.Cursor) (ranks []uint8) {
	prefix := s.n.prefix(kindReady)
	for key, _ := rows.Seek(prefix); bytes.HasPrefix(key, prefix); {
		rank := readyRank(key)
		if ranks = append(ranks, rank); rank == 255 {
			break
		}
		key, _ = rows.Seek(append(slices.Clip(prefix), rank+1))
	}
	return ranks
}

// kept returns the entry in a row, as it will be when the journal is merged.
func (s *keptSite) kept(key, value []byte) (Kept, error) {
	e, err := rowEntry(s.record.Site, s.n, key, value)
	if err != nil {
		return Kept{}, err
	}
	k := Kept{Entry: e, Number: int(lastNum(key))}
	switch key[4] {
	case kindEnded:
		raw, _ := unseal(bucketEntries, key, value)
		d := decoder{b: raw}
		d.skipEntry()
		if k.Fate, err = d.ended(s.tx.Bucket(bucketArchives)); err != nil {
			return k, recordError(bucketEntries, key, err)
		}
	case kindWaiting:
		k.Fate = waits(&k.Entry)
	}
	if end, ok := s.ends[lastNum(key)]; ok {
		err = s.take(&k, end)
	}
	if err == nil && len(s.forward) > 0 {
		err = s.bringForward(&k, fingerprint(k.Key(), s.db.seed))
	}
	return k, err
}

// bringForward applies the pending changes of the due time of k.
func (s *keptSite) bringForward(k *Kept, fp uint64) error {
	for _, at := range s.forward[fp] {
		f, err := s.change.forwarded(at)
		if err != nil {
			return err
		}
		if !k.Due.IsZero() && k.Due.UnixMilli() == f.from {
			k.Due = time.UnixMilli(f.to)
			k.Fate = waits(&k.Entry)
		}
	}
	return nil
}

// take applies the pending end of the entry k.
func (s *keptSite) take(k *Kept, end pendingEnd) error {
	j, err := s.change.journaled(end.place)
	k.Fate, k.Due = j.fate, time.Time{}
	k.Tries = max(k.Tries, j.tries)
	if j.fate.Waits() { // when the end is merged, the new row of the entry gets these values, too
		k.Due = time.UnixMilli(dueMillis(j.fate.Until))
		if j.visits != nil {
			k.Visits, k.Tries = j.visits, 0
		}
		k.Fate = waits(&k.Entry)
	}
	return err
}

// waits returns the fate of an entry that waits. If it waits to be fetched again, this is the
// fate of its last visit, otherwise Waiting. In both cases Until is the due time.
func waits(e *frontier.Entry) frontier.Fate {
	fate := frontier.Fate{Code: frontier.Waiting}
	if e.Visits != nil && e.Tries == 0 {
		fate = e.Visits.Last
	}
	fate.Until = e.Due
	return fate
}

// link returns the entry of a link that is in the journal and not merged. fp is the fingerprint
// of the entry. ok is false if there is no such link.
func (s *keptSite) link(fp uint64) (k Kept, ok bool, err error) {
	if s.pending == nil {
		return k, false, nil
	}
	i := slices.IndexFunc(s.pending.links, func(l pendingLink) bool { return l.fp == fp })
	if i < 0 {
		return k, false, nil
	}
	k, err = s.linked(s.pending.links[i])
	return k, err == nil, err
}

// linked returns the entry of a link that is in the journal.
func (s *keptSite) linked(l pendingLink) (k Kept, err error) {
	raw, err := s.change.entry(l.place)
	if err != nil {
		return k, err
	}
	d := decoder{b: raw}
	k.Entry, err = d.entry(s.record.Site)
	return k, err
}

// links returns the entries of the links that are in the journal and have no row yet. Each
// entry comes only once.
func (s *keptSite) links() ([]Kept, error) {
	if s.pending == nil {
		return nil, nil
	}
	links, err := s.newLinks(s.n, s.pending)
	if err != nil {
		return nil, err
	}
	all := make([]Kept, len(links))
	for i, l := range links {
		if all[i], err = s.linked(l); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// newLinks returns the links of a site that are in the journal and whose entries have no row yet,
// one for each entry.
func (v *view) newLinks(n siteNum, pending *pendingSite) (all []pendingLink, err error) {
	seen, rows := map[uint64]bool{}, v.entries.Cursor()
	for _, l := range pending.links {
		known := seen[l.fp]
		if !known && n != 0 {
			if _, known, err = seenNum(rows, n, l.fp); err != nil {
				return nil, err
			}
		}
		if seen[l.fp] = true; !known {
			all = append(all, l)
		}
	}
	return all, nil
}

// rows iterates over the rows of one site, sorted by the numbers of the entries in the rows.
type rows struct {
	sources []*rowSource
	waiting []waitingRow // rows of the waiting entries with the lowest numbers, sorted by number
	entries *bbolt.Bucket
	n       siteNum
}

// A rowSource iterates over the rows of a site of one kind and one rank. They are sorted by
// number.
type rowSource struct {
	cursor     *bbolt.Cursor
	prefix     []byte
	key, value []byte
}

type waitingRow struct {
	num uint32
	due int64
}

// rowsAfter returns the rows of the entries with numbers above a given one: all of them, or at
// least the first keptAtOnce.
func (s *keptSite) rowsAfter(after uint32) *rows {
	r := &rows{entries: s.entries, n: s.n}
	if s.n == 0 {
		return r
	}
	add := func(prefix []byte) {
		source := &rowSource{cursor: s.entries.Cursor(), prefix: prefix}
		source.move(source.cursor.Seek(binary.BigEndian.AppendUint32(slices.Clip(prefix), after+1)))
		if source.key != nil {
			r.sources = append(r.sources, source)
		}
	}
	add(s.n.prefix(kindEnded))
	for _, rank := range s.ranks(s.entries.Cursor()) {
		add(append(s.n.prefix(kindReady), rank))
	}
	first := func() {
		slices.SortFunc(r.waiting, func(a, b waitingRow) int { return cmp.Compare(a.num, b.num) })
		r.waiting = r.waiting[:min(len(r.waiting), keptAtOnce)]
	}
	prefix, c := s.n.prefix(kindWaiting), s.entries.Cursor()
	for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		if num := lastNum(key); num > after {
			if r.waiting = append(r.waiting, waitingRow{num, waitingDue(key)}); len(r.waiting) == 2*keptAtOnce {
				first()
			}
		}
	}
	first()
	return r
}

func (s *rowSource) move(key, value []byte) {
	if s.key, s.value = key, value; !bytes.HasPrefix(key, s.prefix) {
		s.key = nil
	}
}

// next returns the next row and the number of its entry. After the last row key is nil.
func (r *rows) next() (key, value []byte, num uint32) {
	var first *rowSource
	for _, s := range r.sources {
		if s.key != nil && (first == nil || lastNum(s.key) < lastNum(first.key)) {
			first = s
		}
	}
	if len(r.waiting) > 0 && (first == nil || r.waiting[0].num < lastNum(first.key)) {
		w := r.waiting[0]
		r.waiting = r.waiting[1:]
		key = waitingKey(r.n, w.due, w.num)
		return key, r.entries.Get(key), w.num
	}
	if first == nil {
		return nil, nil, 0
	}
	key, value = first.key, first.value
	first.move(first.cursor.Next())
	return key, value, lastNum(key)
}

// MostAhead is the largest number that Ahead returns.
const MostAhead = 100_000

// Ahead returns how many entries of the same site are fetched before k, or MostAhead if there
// are more. k must be queued and due. Entries that are pending in the journal are not counted.
func (db *DB) Ahead(k Kept) (n int, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		site, err := siteNumber(tx.Bucket(bucketNames), k.URL.Site())
		if site == 0 || err != nil {
			return err
		}
		c, end := tx.Bucket(bucketEntries).Cursor(), readyKey(site, k.Rank, uint32(k.Number))
		for key, _ := c.Seek(site.prefix(kindReady)); key != nil && bytes.Compare(key, end) < 0 && n < MostAhead; key, _ = c.Next() {
			n++
		}
		return nil
	})
	return n, err
}

// namesAtOnce is how many names of sites are read in one transaction.
const namesAtOnce = 256

// Names iterates over the sites that have entries, in byte order.
func (db *DB) Names() iter.Seq2[frontier.Site, error] {
	return func(yield func(frontier.Site, error) bool) {
		var after frontier.Site
		for {
			some, err := db.namesAfter(after)
			for _, name := range some {
				if !yield(name, nil) {
					return
				}
				after = name
			}
			if err != nil {
				yield("", err)
			}
			if err != nil || len(some) == 0 {
				return
			}
		}
	}
}

// namesAfter returns the next sites, in byte order, that come after a given one.
func (db *DB) namesAfter(after frontier.Site) (some []frontier.Site, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		names := tx.Bucket(bucketNames)
		c := names.Cursor()
		for key, _ := c.Seek([]byte(after)); key != nil && len(some) < namesAtOnce; key, _ = c.Next() {
			if name := frontier.Site(key); name > after {
				some = append(some, name)
			}
		}
		whole := len(some) < namesAtOnce
		for name, s := range db.book.pending.sites {
			if name > after && len(s.links) > 0 && names.Get([]byte(name)) == nil && (whole || name < some[len(some)-1]) {
				some = append(some, name)
			}
		}
		slices.Sort(some)
		return nil
	})
	return some, err
}
