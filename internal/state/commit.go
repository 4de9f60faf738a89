package state

import (
	"encoding/binary"
	"errors"
	"maps"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A book has the values that the committer, the goroutine that commits, must remember between
// two commits. Only the committer changes it, and holds DB.merging meanwhile. It reads the book
// without the lock.
type book struct {
	marks     Marks             // marks of all outputs at their last flush, including outputs that this run does not write
	committed Marks             // the marks in the last commit
	commits   uint64            // number of the last commit
	row       uint64            // number of the newest row that was ever in the journal; it never decreases
	pending   *pending          // completions and links that are in the journal and not yet merged into other buckets
	pass      *pass             // the merge of the whole journal that has begun and not ended; nil: none
	checked   map[uint32]bool   // rows of the journal whose checksum was checked since the last pass ended, by the low half of their numbers
	payloads  []string          // keys of the payloads in the payload journal
	archived  map[string]uint32 // numbers of the WARC files with answers of ended entries, by name
	unknown   bool              // the last commit failed, but may be on disk, so the outputs must not be truncated
	drained   bool              // a pass has ended since Begin; before that, every commit merges, because the frontier has nothing to read
	turning   bool              // turnBack has not ended yet
	workspace
}

// commit is the main loop of the committer. After the last group it merges everything that is
// pending in the journal.
func (db *DB) commit() {
	defer close(db.ended)
	for last := false; !last; {
		quiet := false
		last, quiet = db.wait()
		if err := db.commitGroup(last, quiet); err != nil {
			db.growths.Put(frontier.Growth{Err: err})
			return
		}
	}
	for !db.book.pending.empty() {
		if err := db.commitGroup(true, true); err != nil {
			return
		}
	}
}

// wait waits until there is something to commit, or until it is time to merge. last is true if
// the DB is being closed. quiet is true if no caller waits for the commit.
func (db *DB) wait() (last, quiet bool) {
	var rest <-chan time.Time
	if !db.book.pending.empty() {
		d := idle
		if db.book.pass != nil {
			d = time.Millisecond
		}
		t := time.NewTimer(d)
		defer t.Stop()
		rest = t.C
	}
	select {
	case <-db.queue.wake:
		return db.gather(), false
	case <-rest:
		return false, true
	case <-db.closing:
		return true, true
	}
}

// gather waits for Options.Gather, so that more operations join the group. It returns earlier
// if a caller waits for the commit. last is true if the DB is being closed.
func (db *DB) gather() (last bool) {
	select {
	case <-db.queue.hurry:
	default:
	}
	if db.opts.Gather < 0 {
		return false
	}
	t := time.NewTimer(db.opts.Gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-db.queue.hurry:
	case <-db.closing:
		return true
	}
	return false
}

// A commitGroup has the operations that one commit takes from the queue, together with the
// marks of the outputs at one moment.
type commitGroup struct {
	batch
	all    []encoded // the completions in ops
	row    uint64    // number of the last of the new rows of the journal
	last   bool      // this is the last group of the run; later commits only merge
	quiet  bool      // no caller waits for the commit, so there is time to merge
	moment Moment
}

// take takes a group from the queue of the DB.
func (db *DB) take(last bool) *commitGroup {
	w := &db.book.workspace
	g := &commitGroup{batch: db.queue.take(last, w.room), all: w.all, last: last}
	w.room, w.all = batch{}, nil
	first := db.book.row + 1
	g.row = db.book.row + uint64(len(g.rows))
	for _, o := range g.ops {
		if o.completion != nil {
			g.all = append(g.all, *o.completion)
			g.all[len(g.all)-1].row += uint32(first)
		}
	}
	return g
}

// number returns the number of rows[i] in the journal.
func (g *commitGroup) number(i int) uint64 { return g.row - uint64(len(g.rows)-1-i) }

// commitGroup commits the operations in the queue. After an error no further commit is
// possible, and later submits return the same error.
func (db *DB) commitGroup(last, quiet bool) error {
	err := db.file.guarded(true, func() error {
		g := db.take(last)
		g.quiet = quiet || db.opts.Gather < 0
		err := db.commitTaken(g)
		if err == nil {
			db.book.reuse(g, db.limits.RowSize)
		}
		return err
	})
	if err != nil {
		db.queue.fail(err)
	}
	return err
}

func (db *DB) commitTaken(g *commitGroup) (err error) {
	if g.moment, err = db.outputs.Flush(); err != nil {
		return err
	}
	db.merging.Lock()
	defer db.merging.Unlock()
	b := &db.book
	maps.Copy(b.marks, g.moment.Marks)
	b.pending.add(g.row, g.all, time.Now())
	db.file.bolt.AllocSize = db.file.step
	if d := db.opts.SyncDelay; d > 0 {
		time.Sleep(2 * d) // twice, because bbolt syncs twice
	}
	c, err := db.transact(g)
	if db.opts.Fault != nil {
		err = db.opts.Fault(err)
	}
	if err != nil && !DiskFull(err) {
		// After this error the commit may be on disk or not. again finds that out.
		c, err = db.again(g, c, err)
		b.unknown = err != nil && !DiskFull(err)
	}
	if err != nil {
		return err
	}
	db.file.step = growth(c.size)
	db.file.size.Store(c.size)
	b.row, b.commits = g.row, b.commits+1
	b.committed = maps.Clone(b.marks)
	maps.Copy(b.archived, c.archived)
	db.acknowledge(g, c)
	if len(g.moment.Full) == 0 {
		return nil
	}
	if err := db.outputs.Finish(g.moment.Full); err != nil {
		return err
	}
	for _, name := range g.moment.Full { // transact has stored the mark of this file in bucketFinished
		delete(b.marks, name)
	}
	return nil
}

// transact commits a group. In the same transaction it merges a part of the journal into the
// other buckets.
func (db *DB) transact(g *commitGroup) (c *change, err error) {
	err = db.file.bolt.Update(func(tx *bbolt.Tx) error {
		c = newChange(db, tx, g.row)
		for i, row := range g.rows {
			c.rows[uint32(g.number(i))] = row[checksumSize:]
		}
		for _, o := range g.ops {
			if err := c.apply(o); err != nil {
				return err
			}
		}
		if err := errors.Join(c.keepPayloads(g), c.mergeSome(g)); err != nil {
			return err
		}
		if c.upTo < g.row {
			c.journal.FillPercent = 1
			for i, row := range g.rows {
				if err := put(c.journal, rowKey(g.number(i)), row); err != nil {
					return err
				}
			}
		}
		c.updateStates()
		for _, name := range g.moment.Full {
			if err := putFinished(tx, name, db.book.marks[name]); err != nil {
				return err
			}
		}
		return c.finish(db.book.commits+1, db.book.marks)
	})
	return c, err
}

func (c *change) apply(o op) error {
	switch {
	case o.completion != nil, o.payload != nil: // handled elsewhere: these go into the journal, or into the journal of payloads
		return nil
	case o.snapshot != nil:
		return putSnapshot(c.tx, o.site, o.snapshot)
	default:
		return put(c.meta, []byte(o.key), o.value)
	}
}

// finish writes into bucketMeta what every commit writes there.
func (c *change) finish(commit uint64, now Marks) error {
	if err := putCommit(c.meta, lastCommit{commit, c.row, c.db.clock()}); err != nil {
		return err
	}
	return putMarks(c.meta, now)
}

// A lastCommit describes the last commit: its number, the last row of the journal, and its
// time.
type lastCommit struct {
	number, row uint64
	at          time.Time
}

func putCommit(meta *bbolt.Bucket, c lastCommit) error {
	b := binary.BigEndian.AppendUint64(make([]byte, checksumSize, 28), c.number)
	return put(meta, keyCommit, appendTime(binary.BigEndian.AppendUint64(b, c.row), c.at))
}

func getCommit(meta *bbolt.Bucket) (c lastCommit, err error) {
	raw, err := unseal(bucketMeta, keyCommit, meta.Get(keyCommit))
	d := decoder{b: raw}
	c.number, c.row, c.at = d.uint64(), d.uint64(), d.time()
	if err == nil {
		err = d.err()
	}
	return c, err
}

// again is called after an error that does not say whether the group is on disk. It closes the
// file and opens it, to find that out. If the group is not on disk, it is committed once more.
func (db *DB) again(g *commitGroup, c *change, cause error) (*change, error) {
	if err := db.file.reopen(); err != nil {
		return nil, errors.Join(cause, err)
	}
	clear(db.book.checked)
	var last lastCommit
	err := db.file.bolt.View(func(tx *bbolt.Tx) (err error) {
		last, err = getCommit(tx.Bucket(bucketMeta))
		return err
	})
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if last.number == db.book.commits+1 {
		return c, nil
	}
	c, err = db.transact(g)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// acknowledge updates the memory of the DB after a commit, and reports to the frontier the
// sites that the commit has changed by merging.
func (db *DB) acknowledge(g *commitGroup, c *change) {
	b := &db.book
	for _, m := range c.merged {
		b.pending.merged(m)
	}
	if b.pass = c.pass; b.pass != nil {
		b.pass.at = c.at
	}
	if c.drained {
		b.drained = true
		clear(b.pending.common)
		clear(b.checked)
		b.pending.since = time.Now()
	}
	var payloads []string
	if b.payloads = append(b.payloads, c.payloads...); c.payloadsMerged {
		payloads, b.payloads = b.payloads, nil
	}
	settled := b.pending.settled(c.upTo)

	// Wait for the readers whose transactions may still see the ended entries as queued.
	db.reading.Lock()
	db.handedOut.merged(c.records, c.ended)
	db.queue.committed(g.ops, payloads)
	db.reading.Unlock()
	if settled > 0 || len(c.touched) > 0 {
		db.growths.Put(frontier.Growth{Settled: settled, Sites: c.touched})
	}
}

// Pending returns two numbers. The first, put, counts the operations that are not committed.
// The second, kept, counts the links, completions and common clocks that are committed, but not
// merged. Read does not return the entries in these operations, links and completions yet.
func (db *DB) Pending() (put, kept int) {
	db.merging.Lock()
	defer db.merging.Unlock()
	db.queue.mu.Lock()
	defer db.queue.mu.Unlock()
	p := db.book.pending
	return len(db.queue.ops), p.todo + len(p.common)
}
