package storage

import (
	"encoding/binary"
	"errors"
	"maps"
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = errors.New("storage: closed")

// An op is one thing to be committed.
type op struct {
	completion *encoded
	snapshot   *robots.Snapshot
	site       frontier.Site // of snapshot
	key        string        // of value
	value      []byte        // behind room for the checksum
	digest     string        // of payload
	payload    *payload
	requeue    []uint64 // IDs of entries that were set aside
}

// enqueue hands an op to the committer, and waits for room. Nobody who calls it
// holds a lock.
func (db *DB) enqueue(o op) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for db.full() && !db.hasty && db.err == nil && !db.last {
		db.nudge(db.hurry)
		db.room.Wait()
	}
	if db.err != nil {
		return db.err
	}
	if db.last {
		return ErrClosed
	}
	db.queue = append(db.queue, o)
	if o.completion != nil {
		db.queued += len(o.completion.raw)
		db.queuedLinks += len(o.completion.links)
		if o.completion.entry != 0 && db.givenBack(o.completion.entry) {
			db.starve(o.completion.site)
		}
	}
	if o.snapshot != nil {
		db.snapshots[o.site] = o.snapshot
	}
	if o.payload != nil {
		db.payloads[o.digest] = o.payload
	}
	db.nudge(db.wake)
	return nil
}

// full reports whether the queue is at one of its bounds. It requires that mu
// is held.
func (db *DB) full() bool {
	l := &db.limits
	return len(db.queue) >= l.queue || db.queuedLinks >= l.queueLinks || db.queued >= l.queueBytes
}

func (db *DB) nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// commit is the committer's life.
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
	for !db.pending.empty() {
		if err := db.commitGroup(true, true); err != nil {
			return
		}
	}
}

// wait returns when there is something to commit, or time to merge.
func (db *DB) wait() (last, quiet bool) {
	var rest <-chan time.Time
	if !db.pending.empty() {
		d := idle
		if db.pass != nil {
			d = time.Millisecond
		}
		t := time.NewTimer(d)
		defer t.Stop()
		rest = t.C
	}
	select {
	case <-db.wake:
		return db.gather(), false
	case <-rest:
		return false, true
	case <-db.closing:
		return true, true
	}
}

// gather lets a group grow for a while, unless somebody waits for it.
func (db *DB) gather() (last bool) {
	select {
	case <-db.hurry:
	default:
	}
	if db.opts.Gather < 0 {
		return false
	}
	t := time.NewTimer(db.opts.Gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-db.hurry:
	case <-db.closing:
		return true
	}
	return false
}

// A commitGroup is what one commit takes from the queue.
type commitGroup struct {
	ops     []op
	all     []encoded // completions
	journal rowsBuilder
	hungry  map[frontier.Site]bool // sites that have little to read
	quiet   bool                   // nobody waits for the commit: there is time to merge
	full    []*namedOutput         // WARC files that do not grow any more
}

// take empties the queue.
func (db *DB) take(last bool) *commitGroup {
	g := &commitGroup{journal: rowsBuilder{size: db.limits.rowSize, last: db.row}}
	db.mu.Lock()
	g.ops, g.hungry = db.queue, db.hungry
	db.queue, db.queued, db.queuedLinks, db.hungry = nil, 0, 0, nil
	db.last = last
	db.room.Broadcast()
	db.mu.Unlock()
	for _, o := range g.ops {
		if o.completion != nil {
			g.all = append(g.all, *o.completion)
			g.journal.add(o.completion)
		}
	}
	return g
}

func (db *DB) commitGroup(last, quiet bool) (err error) {
	defer func() {
		panicked := recover()
		if panicked != nil {
			db.merging.Lock()
			db.broken = true
			db.merging.Unlock()
		}
		if err = db.damaged(err, panicked); err != nil {
			db.mu.Lock()
			db.err = err
			db.room.Broadcast()
			db.mu.Unlock()
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g := db.take(last)
	g.quiet = quiet || db.opts.Gather < 0
	now, full, err := db.outputs.flush()
	if err != nil {
		return err
	}
	db.merging.Lock()
	defer db.merging.Unlock()
	maps.Copy(db.marks, now)
	g.full = full
	db.pending.add(g.journal.last, g.all, g.journal.places, time.Now())
	db.bolt.AllocSize = db.step
	if d := db.opts.SyncDelay; d > 0 {
		time.Sleep(2 * d) // bbolt syncs twice
	}
	c, err := db.transact(g)
	if db.opts.fault != nil {
		err = db.opts.fault(err)
	}
	if err != nil && !DiskFull(err) {
		// It is not known whether the commit is on disk.
		c, err = db.again(g, c, err)
		db.unknown = err != nil && !DiskFull(err)
	}
	if err != nil {
		return err
	}
	db.step = growth(c.size)
	db.size.Store(c.size)
	db.row, db.commits = g.journal.last, db.commits+1
	db.committed = maps.Clone(db.marks)
	db.acknowledge(g, c)
	if len(full) == 0 {
		return nil
	}
	if err := db.outputs.finish(full); err != nil {
		return err
	}
	for _, f := range full { // its mark is with those of finished files
		delete(db.marks, f.name)
	}
	return nil
}

// growth is by how much the state file grows when it must: a step costs a sync,
// but nobody wants a small crawl to look large.
func growth(size int64) int {
	return int(min(max(size/8, minGrowth), maxGrowth))
}

const (
	minGrowth = 256 << 10
	maxGrowth = 64 << 20
)

// transact commits a group, and a part of what is pending.
func (db *DB) transact(g *commitGroup) (c *change, err error) {
	err = db.bolt.Update(func(tx *bbolt.Tx) error {
		c = newChange(db, tx, g.journal.last)
		for i, row := range g.journal.rows {
			c.rows[uint32(g.journal.number(i))] = row[checksumSize:]
		}
		for _, o := range g.ops {
			if err := c.apply(o); err != nil {
				return err
			}
		}
		if err := c.mergeSome(g); err != nil {
			return err
		}
		if c.upTo < g.journal.last {
			c.journal.FillPercent = 1
			for i, row := range g.journal.rows {
				if err := put(c.journal, rowKey(g.journal.number(i)), row); err != nil {
					return err
				}
			}
		}
		c.see()
		for _, f := range g.full {
			if err := putFinished(tx, f.name, db.marks[f.name]); err != nil {
				return err
			}
		}
		return c.finish(db.commits+1, db.marks)
	})
	return c, err
}

func (c *change) apply(o op) error {
	switch {
	case o.completion != nil:
		return nil
	case o.snapshot != nil:
		return putSnapshot(c.tx, o.site, o.snapshot)
	case o.payload != nil:
		return c.putPayload(o.digest, o.payload)
	case o.requeue != nil:
		return c.requeue(o.requeue)
	default:
		return put(c.meta, []byte(o.key), o.value)
	}
}

// finish writes what belongs to every commit.
func (c *change) finish(commit uint64, now marks) error {
	if err := putCommit(c.meta, lastCommit{commit, c.row, c.db.clock()}); err != nil {
		return err
	}
	return putMarks(c.meta, now)
}

func putMarks(meta *bbolt.Bucket, now marks) error {
	raw, err := encode(now)
	if err != nil {
		return err
	}
	return put(meta, keyOutputs, raw)
}

// A lastCommit is what is kept of the last commit: its number, the last row of the
// journal, and when it was.
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

// again tries once more to commit a group, after an error of which it is not
// known whether it came before or after the group was safe.
func (db *DB) again(g *commitGroup, c *change, cause error) (*change, error) {
	if err := db.reopen(); err != nil {
		return nil, errors.Join(cause, err)
	}
	var last lastCommit
	err := db.bolt.View(func(tx *bbolt.Tx) (err error) {
		last, err = getCommit(tx.Bucket(bucketMeta))
		return err
	})
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if last.number == db.commits+1 {
		return c, nil
	}
	c, err = db.transact(g)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// acknowledge tells the frontier what is safe now.
func (db *DB) acknowledge(g *commitGroup, c *change) {
	p := db.pending
	for _, m := range c.merged {
		p.merged(m)
	}
	if db.pass = c.pass; db.pass != nil {
		db.pass.at = c.at
	}
	if c.drained {
		db.drained = true
		clear(p.common)
		p.since = time.Now()
	}
	settled := p.settled(c.upTo)

	db.reading.Lock()
	defer db.reading.Unlock()
	db.mu.Lock()
	for _, e := range c.ended {
		n, num := splitID(e)
		if o := db.out[n]; o != nil {
			delete(o.ready, num)
			if len(o.ready) == 0 {
				delete(db.out, n)
			}
		}
	}
	for _, o := range g.ops {
		if o.snapshot != nil && db.snapshots[o.site] == o.snapshot {
			delete(db.snapshots, o.site)
		}
		if o.payload != nil && db.payloads[o.digest] == o.payload {
			delete(db.payloads, o.digest)
		}
	}
	db.mu.Unlock()
	if settled > 0 || len(c.touched) > 0 {
		db.growths.Put(frontier.Growth{Settled: settled, Sites: c.touched})
	}
}
