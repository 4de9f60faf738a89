package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A change collects what one commit does to the buckets, in one transaction. After the
// transaction, DB.acknowledge makes the same changes in memory.
type change struct {
	db *DB
	tx *bbolt.Tx
	writeBuckets
	readers

	row uint64 // number of the last row in the journal
	// rows has the rows of the journal that this change has read, without their checksums. The
	// keys are the low halves of the rows' numbers.
	rows  map[uint32][]byte
	arena arena

	size     int64             // size of the file before the transaction, in bytes
	archived map[string]uint32 // numbers of WARC files that this commit has assigned; added to book.archived after the commit
	merged   []mergedSite
	ended    []uint64             // IDs of entries whose end this commit has merged
	records  []changedSite        // sites whose records this commit has changed
	touched  []frontier.SiteState // the states of the sites in records after the changes
	payloads []string             // keys of the payloads that this commit has put
	upTo     uint64               // all rows of the journal up to this row are merged
	drained  bool                 // this commit ends a pass, and has written the common clocks
	pass     *pass                // the pass that this commit does not finish; nil: none
	at       int                  // index in pass.sites of the first site that is not merged

	payloadsMerged bool // all payloads were merged, including those of the payload journal
}

// writeBuckets are the buckets that a change writes.
type writeBuckets struct{ meta, journal, names, states, entries, common *bbolt.Bucket }

// readers are cursors of three of the writeBuckets. They are reused, because making a cursor
// takes longer than a search. The row that a cursor has found is valid until something is
// written.
type readers struct{ journalRows, stateRows, entryRows *bbolt.Cursor }

// get returns the value of key, found with the cursor rows, or nil.
func get(rows *bbolt.Cursor, key []byte) []byte {
	if is, value := rows.Seek(key); bytes.Equal(is, key) {
		return value
	}
	return nil
}

type changedSite struct {
	num    siteNum
	record *siteRecord
}

type mergedSite struct {
	*pendingSite
	num   siteNum
	count int // number of links of the site that were merged, counted from the first
}

func newChange(db *DB, tx *bbolt.Tx, row uint64) *change {
	c := &change{
		db: db, tx: tx, row: row, size: tx.Size(), rows: map[uint32][]byte{},
		writeBuckets: writeBuckets{
			meta: tx.Bucket(bucketMeta), journal: tx.Bucket(bucketJournal), names: tx.Bucket(bucketNames),
			states: tx.Bucket(bucketStates), entries: tx.Bucket(bucketEntries), common: tx.Bucket(bucketCommon),
		},
	}
	c.readers = readers{journalRows: c.journal.Cursor(), stateRows: c.states.Cursor(), entryRows: c.entries.Cursor()}
	// A merge adds many rows to a leaf at once. bbolt then splits the leaf into leaves that are
	// filled to this fraction.
	c.entries.FillPercent = 0.75
	c.states.FillPercent, c.names.FillPercent = 0.9, 0.9
	return c
}

// Times of merging, in units of the time to merge one link. siteCost is the time for a site
// without its links and ends, endCost the time for the end of an entry.
const (
	siteCost = 4
	endCost  = 4
)

// some returns the links of s that one commit merges: the first MaxSlice.
func (c *change) some(s *pendingSite) []pendingLink {
	if c.whole(s) {
		return s.links
	}
	return s.links[:c.db.limits.MaxSlice]
}

// whole reports whether one commit merges all links of s.
func (c *change) whole(s *pendingSite) bool {
	return len(s.links) <= c.db.limits.MaxSlice
}

// cost returns how long merge takes for s, in units of the time to merge one link.
func (c *change) cost(s *pendingSite) int {
	return siteCost + endCost*len(s.ends) + len(c.some(s))
}

// merge merges what is pending for a site: all completions, and the links that some returns. A
// repeated merge after a kill changes nothing, because the record of the site has the number of
// the last row whose completions were merged, and a link that was queued is not new.
func (c *change) merge(s *pendingSite) error {
	n, err := c.lookUp(s)
	if err != nil {
		return err
	}
	links := c.some(s)
	found, err := c.unseen(n, links)
	if err != nil {
		return err
	}
	if s.done == 0 && len(found) == 0 {
		// No link is new. This is the usual case, because most links to other sites are known.
		c.merged = append(c.merged, mergedSite{s, n, len(links)})
		return nil
	}
	n, r, err := c.site(n, s.name)
	if err != nil {
		return err
	}
	c.merged = append(c.merged, mergedSite{s, n, len(links)})
	if err := c.link(n, r, links, found); err != nil {
		return err
	}
	if s.done > 0 && c.number(s.last) > r.Merged {
		if err := c.complete(s, n, r); err != nil {
			return err
		}
		r.Merged = c.row
	}
	if r.Ready > 0 {
		if key, _ := c.entryRows.Seek(n.prefix(kindReady)); key != nil {
			r.Head = readyRank(key)
		}
	}
	c.records = append(c.records, changedSite{n, r})
	return put(c.states, n.key(), r.value(c.arena.take(256)))
}

// updateStates sets c.touched: the new states, for the frontier, of the sites that were
// changed.
func (c *change) updateStates() {
	c.db.handedOut.mu.Lock()
	defer c.db.handedOut.mu.Unlock()
	c.touched = make([]frontier.SiteState, 0, len(c.records))
	gone := make(map[uint64]bool, len(c.ended))
	for _, id := range c.ended {
		gone[id] = true
	}
	for _, s := range c.records {
		out := c.db.handedOut.sites[s.num]
		still := func(num uint32) bool { return out.has(num) && !gone[entryID(s.num, num)] }
		c.touched = append(c.touched, stateOf(c.entryRows, s.num, s.record, out.count(still), still))
	}
}

// complete merges the completions of a site into its record and rows.
func (c *change) complete(s *pendingSite, n siteNum, r *siteRecord) error {
	for _, e := range s.ends {
		if err := c.take(n, r, e); err != nil {
			return err
		}
	}
	if s.clocks == (place{}) {
		return nil
	}
	j, err := c.journaled(s.clocks)
	r.Clocks, r.Spent, r.Given = j.clocks, j.spent, j.given
	return err
}

// take merges a pendingEnd, which is the end of an entry, its return to the queue, or its new
// due time.
func (c *change) take(n siteNum, r *siteRecord, e pendingEnd) error {
	if e.what == comesForward {
		return c.bringForward(n, r, e)
	}
	j, err := c.journaled(e.place)
	switch {
	case err != nil:
		return err
	case e.num == 0:
		return fmt.Errorf("an entry of %s ended, with the fingerprint %x, that was never queued", r.Site, e.fp)
	case e.what == comesBack:
		return c.requeue(n, r, e.num)
	}
	return c.end(n, r, e.num, &j)
}

// end moves the row of an entry to the ended entries. If the fate says that the entry waits,
// end moves it to the waiting entries.
func (c *change) end(n siteNum, r *siteRecord, num uint32, j *journaled) error {
	from := readyKey(n, j.rank, num)
	if j.due != 0 {
		from = waitingKey(n, j.due, num)
	}
	value := get(c.entryRows, from)
	if value == nil && j.due != 0 {
		// The entry has no row under its old due time, because a list of page changes,
		// submitted before the entry ended, has made the due time earlier. Search for the row.
		from, value = c.waiting(n, num)
	}
	if value == nil {
		return fmt.Errorf("entry %d of %s ended, which is not queued", num, r.Site)
	}
	raw, err := unseal(bucketEntries, from, value)
	if err != nil {
		return err
	}
	if err := c.entries.Delete(from); err != nil {
		return err
	}
	c.ended = append(c.ended, entryID(n, num))
	if j.due == 0 {
		r.Ready--
	} else if r.Waiting--; waitsAgain(raw) {
		r.Again--
	}
	if j.fate.Waits() {
		var waits []byte
		if j.visits == nil {
			waits = retried(nil, raw, j.tries, j.byGet)
		} else if waits, err = visited(nil, raw, r.Site, j.visits); err != nil {
			return recordError(bucketEntries, from, err)
		}
		if r.Waiting++; waitsAgain(waits) {
			r.Again++
		}
		return put(c.entries, waitingKey(n, dueMillis(j.fate.Until), num), c.arena.value(waits))
	}
	r.Queued--
	if j.fate.Code.Aside() {
		if err := c.setAside(n, num); err != nil {
			return err
		}
	}
	ended, err := c.appendEnded(c.arena.take(160), j.fate)
	if err != nil {
		return err
	}
	return put(c.entries, endedKey(n, num), c.arena.value(raw, ended))
}

// waiting looks for the row of a waiting entry whose due time is not known. It returns nil if
// there is no such row.
func (c *change) waiting(n siteNum, num uint32) (key, value []byte) {
	rows, prefix := c.entryRows, n.prefix(kindWaiting)
	for key, value = rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = rows.Next() {
		if lastNum(key) == num {
			return bytes.Clone(key), value
		}
	}
	return nil, nil
}

// unseen returns the indexes of those links that the site n does not have yet, sorted. If
// several links have the same URL, it returns only the index of the first. The result is valid
// until the next call.
func (c *change) unseen(n siteNum, links []pendingLink) ([]int32, error) {
	if len(links) == 0 {
		return nil, nil
	}
	w := &c.db.book.workspace
	w.order, w.found = w.order[:0], w.found[:0]
	for i, l := range links {
		w.order = append(w.order, finger{l.fp, int32(i)})
	}
	slices.SortFunc(w.order, func(a, b finger) int { return cmp.Or(cmp.Compare(a.fp, b.fp), cmp.Compare(a.i, b.i)) })
	w.order = slices.CompactFunc(w.order, func(a, b finger) bool { return a.fp == b.fp })
	if n == 0 {
		for _, f := range w.order {
			w.found = append(w.found, f.i)
		}
	} else if err := unseen(c.entryRows, n, w.order, func(i int32) { w.found = append(w.found, i) }); err != nil {
		return nil, err
	}
	slices.Sort(w.found)
	return w.found, nil
}

// A workspace is memory that merging reuses.
type workspace struct {
	order []finger
	found []int32
	news  []numbered

	// room and all are reused for the operations of a commit group.
	room batch
	all  []encoded
}

// maxSpareOps is the largest capacity of a slice that is kept for the next commit group.
const maxSpareOps = 1 << 10

// reuse keeps the memory of a finished commit group for the next group.
func (w *workspace) reuse(g *commitGroup, rowSize int) {
	if ops := g.ops; cap(ops) <= maxSpareOps {
		clear(ops)
		w.room.ops = ops[:0]
	}
	if cap(g.all) <= maxSpareOps {
		clear(g.all)
		w.all = g.all[:0]
	}
	spare := rowsBuilder{size: rowSize}
	spare.reuse(g.rows)
	w.room.rows = spare.spare
}

// A finger is the fingerprint of a link, and the index i of the link.
type finger struct {
	fp uint64
	i  int32
}

// link queues the links whose indexes are in found, in the order in which they were found.
func (c *change) link(n siteNum, r *siteRecord, links []pendingLink, found []int32) error {
	news := c.db.book.workspace.news[:0]
	for _, k := range found {
		r.Entries++
		news = append(news, numbered{links[k].fp, r.Entries})
		raw, err := c.entry(links[k].place)
		if err != nil {
			return err
		}
		if err := put(c.entries, readyKey(n, entryRank(raw), r.Entries), c.arena.value(raw)); err != nil {
			return err
		}
	}
	c.db.book.workspace.news = news
	r.Ready += len(found)
	r.Queued += len(found)
	slices.SortFunc(news, func(a, b numbered) int { return cmp.Compare(a.fp, b.fp) })
	return insert(c.entries, c.entryRows, n, news, c.db.limits.MaxBlock, &c.arena)
}

// number returns the number of the row that p names, in all its 64 bits. A place has only the
// low half of them. The result is the number of the newest row of the journal with this low
// half.
func (c *change) number(p place) uint64 {
	n := c.row&^0xffffffff | uint64(p.row)
	if n > c.row {
		n -= 1 << 32
	}
	return n
}

// text returns the part of a row of the journal that begins at p.
func (c *change) text(p place) ([]byte, error) {
	text, ok := c.rows[p.row]
	if !ok {
		var err error
		if text, err = c.readRow(c.number(p)); err != nil {
			return nil, err
		}
		c.rows[p.row] = text
	}
	if int(p.at) > len(text) {
		return nil, recordError(bucketJournal, rowKey(c.number(p)), errRecord)
	}
	return text[p.at:], nil
}

// readRow returns a row of the journal without its checksum. It checks the checksum of each row
// only once in a pass, because each commit of a pass reads nearly all rows.
func (c *change) readRow(number uint64) ([]byte, error) {
	key, low, checked := rowKey(number), uint32(number), c.db.book.checked
	value := get(c.journalRows, key)
	if checked[low] && value != nil {
		return value[checksumSize:], nil
	}
	text, err := unseal(bucketJournal, key, value)
	if err == nil {
		checked[low] = true
	}
	return text, err
}

func (c *change) journaled(p place) (journaled, error) {
	raw, err := c.text(p)
	d := decoder{b: raw}
	j := d.completion()
	if err == nil && d.bad {
		err = recordError(bucketJournal, rowKey(c.number(p)), errRecord)
	}
	return j, err
}

// entry returns the encoded entry of the pending link at p.
func (c *change) entry(p place) ([]byte, error) {
	raw, err := c.text(p)
	d := decoder{b: raw}
	e := d.lengthed()
	if err == nil && d.bad {
		err = recordError(bucketJournal, rowKey(c.number(p)), errRecord)
	}
	return e, err
}

// site returns the number and the record of a site. If n is 0 the site is new, and gets a
// number and an empty record.
func (c *change) site(n siteNum, name frontier.Site) (siteNum, *siteRecord, error) {
	r := &siteRecord{Site: name}
	if n != 0 {
		return n, r, r.decodeOf(name, n, get(c.stateRows, n.key()))
	}
	next, err := c.names.NextSequence()
	if err != nil {
		return 0, nil, err
	}
	n = siteNum(next)
	if n == 0 || uint64(n) != next {
		return 0, nil, errors.New("more sites than there are numbers")
	}
	if c.states.Get(n.key()) != nil {
		return 0, nil, recordError(bucketStates, n.key(), errTwice)
	}
	return n, r, put(c.names, []byte(name), c.arena.value(n.key()))
}

func (c *change) lookUp(s *pendingSite) (siteNum, error) {
	if s.num != 0 {
		return s.num, nil
	}
	return siteNumber(c.names, s.name)
}

// siteNumber returns the number of a site, or 0 if the site is not known.
func siteNumber(names *bbolt.Bucket, site frontier.Site) (siteNum, error) {
	value := names.Get([]byte(site))
	if value == nil {
		return 0, nil
	}
	return decodeNumber([]byte(site), value)
}

func decodeNumber(name, value []byte) (siteNum, error) {
	raw, err := unseal(bucketNames, name, value)
	if err == nil && len(raw) != 4 {
		err = recordError(bucketNames, name, errRecord)
	}
	if err != nil {
		return 0, err
	}
	return siteNum(binary.BigEndian.Uint32(raw)), nil
}

// keepCommon writes the clocks that several sites share. It never moves such a clock to an
// earlier time.
func (c *change) keepCommon(clocks map[string]time.Time) error {
	for name, due := range clocks {
		is, err := commonClock(c.common, []byte(name))
		if err != nil {
			return err
		}
		if !due.After(is) {
			continue
		}
		if err := put(c.common, []byte(name), appendTime(c.arena.take(16)[:checksumSize], due)); err != nil {
			return err
		}
	}
	return nil
}

// commonClock returns the due time of a clock that several sites share, or the zero time if
// the clock is not known.
func commonClock(common *bbolt.Bucket, name []byte) (time.Time, error) {
	value := common.Get(name)
	if value == nil {
		return time.Time{}, nil
	}
	raw, err := unseal(bucketCommon, name, value)
	if err != nil {
		return time.Time{}, err
	}
	d := decoder{b: raw}
	due := d.time()
	if d.bad {
		return due, recordError(bucketCommon, name, errRecord)
	}
	return due, nil
}

// forget deletes the rows of the journal up to the number upTo.
func (c *change) forget(upTo uint64) error {
	var keys [][]byte // collected first, because deleting invalidates a cursor
	rows := c.journal.Cursor()
	for key, _ := rows.First(); key != nil && binary.BigEndian.Uint64(key) <= upTo; key, _ = rows.Next() {
		keys = append(keys, key)
	}
	for _, key := range keys {
		if err := c.journal.Delete(key); err != nil {
			return err
		}
	}
	c.upTo = upTo
	return nil
}

// mostPassed limits the search of firstWaiting for the first entry that waits to be fetched
// again: it skips at most this number of entries that wait for another try.
const mostPassed = 64

// stateOf returns the state of a site, from its record r. out reports whether an entry was read
// and has not ended; ready is the number of such entries with kindReady.
func stateOf(rows *bbolt.Cursor, n siteNum, r *siteRecord, ready int, out func(num uint32) bool) frontier.SiteState {
	st := frontier.SiteState{
		Site: r.Site, Clocks: r.Clocks, Known: int(r.Entries), Queued: r.Queued - r.Again, Again: r.Again, Ready: r.Ready > ready, Spent: r.Spent, Fate: r.Given,
	}
	if st.Ready {
		st.Head = r.Head
	}
	if r.Waiting > 0 {
		firstWaiting(rows, n, r.Again > 0, out, &st)
	}
	return st
}

// firstWaiting looks at those waiting entries of a site for which out returns false. It sets
// st.Waiting to the due time of the first of these entries. If the parameter again is set, it
// also sets st.NextAgain, to the due time of the first one that waits to be fetched again.
func firstWaiting(rows *bbolt.Cursor, n siteNum, again bool, out func(num uint32) bool, st *frontier.SiteState) {
	prefix, passed := n.prefix(kindWaiting), 0
	for key, value := rows.Seek(prefix); bytes.HasPrefix(key, prefix) && passed < mostPassed; key, value = rows.Next() {
		if out(lastNum(key)) {
			continue
		}
		due := time.UnixMilli(waitingDue(key))
		if passed == 0 {
			st.Waiting = due
		}
		if again && len(value) > checksumSize && waitsAgain(value[checksumSize:]) { // do not check the checksum here, because it is checked when the entry is read
			st.NextAgain = due
			return
		}
		if passed++; !again {
			return
		}
	}
}
