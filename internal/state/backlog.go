package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"
)

// sitesAtOnce is how many sites, clocks or keys are read in one transaction.
const sitesAtOnce = 256

// Sites implements frontier.Backlog. It reads some hundred sites at a time, and holds no
// lock while the body of the loop runs.
func (db *DB) Sites() iter.Seq2[frontier.SiteState, error] {
	return func(yield func(frontier.SiteState, error) bool) {
		var r siteReader
		for more := true; more; {
			some, left, err := r.next(db)
			for _, st := range some {
				if !yield(st, nil) {
					return
				}
			}
			if err != nil {
				yield(frontier.SiteState{}, err)
				return
			}
			more = left
		}
	}
}

// A siteReader reads the records of all sites, some in each transaction. The records have the
// order of their numbers. A site that is added between two transactions gets the highest number,
// so it is read later.
type siteReader struct {
	some  []frontier.SiteState // reused for the result of next
	last  []byte               // key of the last record that was read; nil: no record was read
	named uint64               // sum of nameSum over the records that were read
}

// next returns the next sites, which are valid until the next call. more is true if further sites
// may follow.
func (r *siteReader) next(db *DB) (some []frontier.SiteState, more bool, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	some = r.some[:0]
	defer func() { r.some = some }()
	err = db.file.view(func(tx *bbolt.Tx) error {
		v := db.newView(tx)
		if r.last == nil {
			db.file.prefetch(tx, v.names, v.states)
		}
		c := v.states.Cursor()
		key, raw := rowAfter(c, r.last)
		for ; key != nil && len(some) < sitesAtOnce; key, raw = c.Next() {
			var record siteRecord
			if err := record.decode(key, raw); err != nil {
				return err
			}
			r.last, r.named = append(r.last[:0], key...), r.named+nameSum(record.Site, keySite(key))
			st, err := v.state(keySite(key), &record)
			if err != nil {
				return err
			}
			some = append(some, st)
		}
		if more = key != nil; more {
			return nil
		}
		if named, err := namesOf(v.names); err != nil || named != r.named {
			return cmp.Or(err, v.misnamed())
		}
		pending, err := v.pendingSites()
		some = append(some, pending...)
		return err
	})
	return some, more, err
}

// rowAfter moves a cursor to the first row whose key is greater than last, or to the first row of
// the bucket if last is nil. It returns that row.
func rowAfter(c *bbolt.Cursor, last []byte) (key, value []byte) {
	if last == nil {
		return c.First()
	}
	if key, value = c.Seek(last); bytes.Equal(key, last) {
		return c.Next()
	}
	return key, value
}

// pendingSites returns the sites that have no record yet, but completions in the journal. In a
// Reader, links in the journal are enough.
func (v *view) pendingSites() (all []frontier.SiteState, err error) {
	for _, s := range v.db.book.pending.sites {
		if n, err := siteNumber(v.names, s.name); err != nil {
			return all, err
		} else if n != 0 || s.done == 0 && (len(s.links) == 0 || !v.db.file.reads) {
			continue
		}
		st, err := v.state(0, &siteRecord{Site: s.name})
		if err != nil {
			return all, err
		}
		all = append(all, st)
	}
	return all, nil
}

// nameSum returns a hash of a site's name and number. The sum over all rows of bucketNames must
// equal the sum over all records of sites. This check finds a lost name: without its name a
// site would get a new number, and its queued entries would never be fetched.
func nameSum(site frontier.Site, n siteNum) uint64 {
	return xxh3.HashStringSeed(string(site), uint64(n))
}

// namesOf returns the sum of nameSum over all rows of bucketNames.
func namesOf(names *bbolt.Bucket) (sum uint64, err error) {
	err = names.ForEach(func(key, value []byte) error {
		n, err := decodeNumber(key, value)
		sum += nameSum(frontier.Site(key), n)
		return err
	})
	return sum, err
}

// misnamed returns an error that names the first site whose record and whose row in bucketNames
// have different numbers. If there is no such site, the error says that a site in bucketNames
// has no record.
func (v *view) misnamed() error {
	err := v.states.ForEach(func(key, raw []byte) error {
		var r siteRecord
		if err := r.decode(key, raw); err != nil {
			return err
		}
		if n, err := siteNumber(v.names, r.Site); err != nil || n != keySite(key) {
			return errors.Join(err, recordError(bucketNames, []byte(r.Site), fmt.Errorf("site %d has the number %d there", keySite(key), n)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("bucket %s has sites that have no record in bucket %s", bucketNames, bucketStates)
}

// State implements frontier.Backlog.
func (db *DB) State(site frontier.Site) (st frontier.SiteState, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		v := db.newView(tx)
		n, r, err := v.site(site)
		if err == nil {
			st, err = v.state(n, &r)
		}
		return err
	})
	return st, err
}

// Common implements frontier.Backlog. It reads some hundred clocks at a time, and holds no
// lock while the body of the loop runs.
func (db *DB) Common() iter.Seq2[frontier.CommonClock, error] {
	return func(yield func(frontier.CommonClock, error) bool) {
		var r commonReader
		for more := true; more; {
			some, left, err := r.next(db)
			for _, c := range some {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(frontier.CommonClock{}, err)
				return
			}
			more = left
		}
	}
}

// A commonReader reads all clocks that several sites share, some in each transaction. The
// clocks that are only in the journal come first. If they came last, a merge between two
// transactions could write them before the last key that was read, and they would be left out.
type commonReader struct {
	last  []byte          // the last key that was read from bucketCommon; nil: no key was read
	early map[string]bool // names of the clocks that came first, because they were only in the journal; nil: before the first transaction
}

// next returns the next clocks. more is true if further clocks may follow.
func (r *commonReader) next(db *DB) (some []frontier.CommonClock, more bool, err error) {
	db.merging.Lock()
	defer db.merging.Unlock()
	err = db.file.view(func(tx *bbolt.Tx) error {
		common, pending := tx.Bucket(bucketCommon), db.book.pending.common
		if r.early == nil {
			r.early = map[string]bool{}
			for name, due := range pending {
				if common.Get([]byte(name)) == nil {
					r.early[name] = true
					some = append(some, frontier.CommonClock{Name: name, Due: due})
				}
			}
		}
		c := common.Cursor()
		key, _ := rowAfter(c, r.last)
		for ; key != nil && len(some) < sitesAtOnce; key, _ = c.Next() {
			r.last = append(r.last[:0], key...)
			if r.early[string(key)] {
				continue
			}
			due, err := commonClock(common, key)
			if err != nil {
				return err
			}
			if later := pending[string(key)]; later.After(due) {
				due = later
			}
			some = append(some, frontier.CommonClock{Name: string(key), Due: due})
		}
		more = key != nil
		return nil
	})
	return some, more, err
}

// A view reads buckets, and changes the results as if the journal were merged already. The
// caller holds DB.merging.
type view struct {
	db                     *DB
	tx                     *bbolt.Tx
	names, states, entries *bbolt.Bucket
	change                 *change // not committed; used only because its methods read the journal
}

func (db *DB) newView(tx *bbolt.Tx) *view {
	return &view{
		db: db, tx: tx, names: tx.Bucket(bucketNames), states: tx.Bucket(bucketStates), entries: tx.Bucket(bucketEntries),
		change: newChange(db, tx, db.book.row),
	}
}

// site returns the number and the record of a site. For an unknown site it returns 0 and a
// record with only the name.
func (v *view) site(site frontier.Site) (siteNum, siteRecord, error) {
	r := siteRecord{Site: site}
	n, err := siteNumber(v.names, site)
	if n != 0 {
		err = r.decodeOf(site, n, v.states.Get(n.key()))
	}
	return n, r, err
}

// state returns the state of the site with the record r, with the pending changes applied. It
// changes r. Only a Reader counts pending links. In a running crawl they cannot be read before they
// are merged; then the frontier gets a Growth.
func (v *view) state(n siteNum, r *siteRecord) (frontier.SiteState, error) {
	ended, again, added := 0, 0, 0
	s := v.db.book.pending.sites[r.Site]
	if s != nil && v.db.file.reads {
		links, err := v.newLinks(n, s)
		if err != nil {
			return frontier.SiteState{}, err
		}
		added = len(links)
	}
	if s != nil && s.done > 0 {
		queued := map[uint64]revisitState{}
		for _, e := range s.ends {
			if e.what == comesForward {
				continue
			}
			j, err := v.change.journaled(e.place)
			if err != nil {
				return frontier.SiteState{}, err
			}
			switch {
			case e.what == comesBack:
				ended--
				continue
			case j.fate.Ends():
				ended++
			}
			was, known := queued[e.fp]
			if !known {
				if was, err = v.revisitState(n, &e, &j); err != nil {
					return frontier.SiteState{}, err
				}
			}
			is := was.after(&j)
			again += is.count() - was.count()
			queued[e.fp] = is
		}
		if s.clocks != (place{}) {
			j, err := v.change.journaled(s.clocks)
			if err != nil {
				return frontier.SiteState{}, err
			}
			r.Clocks, r.Spent, r.Given = j.clocks, j.spent, j.given
		}
	}
	v.db.handedOut.mu.Lock()
	defer v.db.handedOut.mu.Unlock()
	out := v.db.handedOut.sites[n]
	st := stateOf(v.entries.Cursor(), n, r, out.count(out.has), out.has)
	st.Queued += added - ended - again
	st.Again += again
	st.Known += added
	st.Ready = st.Ready || added > 0
	return st, nil
}

// A revisitState has the two facts about a queued entry that decide whether the entry counts
// for siteRecord.Again.
type revisitState struct {
	visited bool // the entry was fetched before (frontier.Entry.Visits)
	again   bool // the entry waits to be fetched again
}

func (s revisitState) count() int {
	if s.again {
		return 1
	}
	return 0
}

// after returns the state that an entry with state s has after the completion j.
func (s revisitState) after(j *journaled) revisitState {
	s.visited = s.visited || j.visits != nil
	s.again = j.fate.Waits() && s.visited && (j.visits != nil || j.tries == 0)
	return s
}

// revisitState returns the state that an entry has in its row, without the pending changes. j
// is the first pending completion of the entry, and says where the row is.
func (v *view) revisitState(n siteNum, e *pendingEnd, j *journaled) (s revisitState, err error) {
	key := readyKey(n, j.rank, e.num)
	if j.due != 0 {
		key = waitingKey(n, j.due, e.num)
	}
	value := v.entries.Get(key)
	if value == nil && j.due != 0 {
		key, value = v.change.waiting(n, e.num)
	}
	if value == nil {
		return s, nil // ignore the missing row, because merging will report the damage
	}
	raw, err := unseal(bucketEntries, key, value)
	if err != nil {
		return s, err
	}
	return revisitState{wasVisited(raw), j.due != 0 && waitsAgain(raw)}, nil
}

// Read implements frontier.Backlog.
func (db *DB) Read(site frontier.Site, now time.Time, entries []frontier.Entry) (int, error) {
	return db.readBy(&reader{site: site, now: now.UnixMilli(), entries: entries})
}

// ReadRequisites implements frontier.Backlog.
func (db *DB) ReadRequisites(site frontier.Site, now time.Time, entries []frontier.Entry) (n int, waiting time.Time, err error) {
	r := reader{site: site, now: now.UnixMilli(), entries: entries, requisites: true}
	n, err = db.readBy(&r)
	return n, r.waiting, err
}

func (db *DB) readBy(r *reader) (int, error) {
	// acknowledge waits for this lock before it forgets that an entry was read. So this
	// transaction, which may still see an ended entry as queued, does not return it a second
	// time.
	db.reading.RLock()
	defer db.reading.RUnlock()
	err := db.file.view(func(tx *bbolt.Tx) error {
		num, err := siteNumber(tx.Bucket(bucketNames), r.site)
		if num == 0 || err != nil {
			return err
		}
		r.handedOut, r.num = &db.handedOut, num
		rows := tx.Bucket(bucketEntries).Cursor()
		if err = r.readWaiting(rows); err == nil {
			err = r.readReady(rows)
		}
		db.handedOut.read(num, r.n, r.n < len(r.entries), r.upTo)
		return err
	})
	if r.n == 0 {
		// No entry of the site is left to read: let the next commit merge the completions and
		// links of the site, which may add entries.
		db.queue.starve(r.site)
		nudge(db.queue.hurry)
	}
	return r.n, err
}

// A reader fills entries from the rows of one site in bucketEntries.
type reader struct {
	handedOut  *handedOut
	site       frontier.Site
	num        siteNum
	now        int64 // the current time in Unix milliseconds; a waiting entry is returned only if it is due by then
	requisites bool  // return only entries that may be fetched after the limit of pages (frontier.Entry.AfterPages)
	entries    []frontier.Entry
	n          int       // number of entries returned so far
	upTo       []byte    // the last read key of kindReady: all entries up to it were returned before; not used if requisites is set
	waiting    time.Time // only if requisites is set: due time of the first waiting entry that was not returned
}

func (r *reader) readWaiting(rows *bbolt.Cursor) error {
	prefix := r.num.prefix(kindWaiting)
	for key, value := rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = rows.Next() {
		due := waitingDue(key)
		if full := r.n == len(r.entries); full || due > r.now {
			if !r.requisites {
				return nil
			}
			found, err := r.leave(key, value)
			if found {
				r.waiting = time.UnixMilli(due)
			}
			if found || err != nil {
				return err
			}
		} else if err := r.take(key, value, false); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readReady(rows *bbolt.Cursor) error {
	prefix := r.num.prefix(kindReady)
	if r.requisites {
		prefix = append(prefix, frontier.RequisiteRank)
	}
	begin := prefix
	if upTo := r.handedOut.begin(r.num, make([]byte, 0, 24)); bytes.Compare(upTo, begin) > 0 {
		begin = upTo
	}
	for key, value := rows.Seek(begin); bytes.HasPrefix(key, prefix) && r.n < len(r.entries); key, value = rows.Next() {
		if err := r.take(key, value, true); err != nil {
			return err
		}
		if !r.requisites {
			r.upTo = key
		}
	}
	return nil
}

// take returns the entry of a row to the caller of Read, and records that Read has returned it,
// so that no later Read does. It does nothing if Read has returned the entry before, or if this
// reader must not return it.
func (r *reader) take(key, value []byte, ready bool) error {
	if r.requisites {
		if is, err := r.leave(key, value); !is || err != nil {
			return err
		}
	}
	num := lastNum(key)
	if !r.handedOut.take(r.num, num, ready) {
		return nil
	}
	e, err := rowEntry(r.site, r.num, key, value)
	if err != nil {
		return err
	}
	r.entries[r.n] = e
	r.n++
	return nil
}

// leave reports whether the entry of a row may be fetched after the limit of pages, and was not
// returned by Read yet. Unlike take, it records nothing.
func (r *reader) leave(key, value []byte) (bool, error) {
	if r.handedOut.isOut(r.num, lastNum(key)) {
		return false, nil
	}
	e, err := rowEntry(r.site, r.num, key, value)
	return err == nil && e.AfterPages(), err
}

// Submit implements frontier.Backlog.
func (db *DB) Submit(c frontier.Completion) error {
	forwards, err := db.forwards(c.Changes)
	if err != nil {
		return err
	}
	draft := drafts.Get().(*draft)
	defer draft.release()
	e := db.encodeCompletion(&c, draft)
	e.addForwards(forwards)
	if err := db.enqueue(op{completion: &e}); err != nil {
		return err
	}
	for _, l := range e.links {
		db.cache.note(l.fp)
	}
	return nil
}

// Grown implements frontier.Backlog.
func (db *DB) Grown() <-chan frontier.Growth { return db.growths.C() }
