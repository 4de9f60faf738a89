package state

import (
	"errors"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = errors.New("storage: closed")

// An op is one operation that will be committed.
type op struct {
	completion *encoded
	snapshot   *robots.Snapshot
	site       frontier.Site // if snapshot is set: its site
	key        string        // if value is set: its key
	value      []byte        // JSON, after room for the checksum
	digest     string        // if payload is set: its digest
	payload    *Payload
}

// A queue holds the operations that callers have submitted and that the committer has not
// taken, in the order in which they take effect. It is not on disk.
type queue struct {
	limits *Limits
	wake   chan struct{} // has a value if there is something to commit
	hurry  chan struct{} // has a value if a caller waits for the commit

	// mu guards the fields below. A goroutine that waits on room releases mu meanwhile.
	mu        sync.Mutex
	room      sync.Cond                          // signalled when ops may be within their bounds, or the bounds no longer apply
	ops       []op                               // operations in the order of the calls; nothing is added after last is set
	journal   rowsBuilder                        // encodes the completions in ops as rows of the journal
	bytes     int                                // size of the completions in ops
	links     int                                // number of links in the completions in ops
	hungry    map[frontier.Site]bool             // sites with no entry left to read; the next commit merges them
	snapshots map[frontier.Site]*robots.Snapshot // by site, the last snapshot that was put and is not committed
	payloads  map[string]*Payload                // by key, the first payload that was put and is not merged
	values    map[string][]byte                  // by key, the last value that was put and is not committed
	waiters   Waiters
	hasty     bool  // Hasten was called: the bounds are not applied
	last      bool  // the last group is being committed, so nothing more is accepted
	err       error // the error that ended all commits; set once
}

func (q *queue) init(l *Limits) {
	q.limits = l
	q.journal.size = l.RowSize
	q.wake, q.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	q.snapshots, q.payloads, q.values = map[frontier.Site]*robots.Snapshot{}, map[string]*Payload{}, map[string][]byte{}
	q.room.L = &q.mu
}

// nudge sends a signal on c, unless c already holds one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enqueue waits until the queue has room, and adds o. The caller must not hold a lock.
func (db *DB) enqueue(o op) error {
	q := &db.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.full() && !q.hasty && q.err == nil && !q.last {
		nudge(q.hurry)
		q.room.Wait()
	}
	if q.err != nil {
		return q.err
	}
	if q.last {
		return ErrClosed
	}
	q.ops = append(q.ops, o)
	q.count(&o)
	if o.completion != nil && db.handedOut.give(o.completion) {
		q.starveLocked(o.completion.site)
	}
	nudge(q.wake)
	return nil
}

// count adds a completion to journal, and its size to bytes and links. It adds a snapshot to
// snapshots, a payload to payloads, and a value to values. The caller holds mu.
func (q *queue) count(o *op) {
	switch {
	case o.completion != nil:
		q.journal.add(o.completion)
		q.bytes += len(o.completion.raw)
		q.links += len(o.completion.links)
	case o.snapshot != nil:
		q.snapshots[o.site] = o.snapshot
	case o.payload != nil:
		q.keepPayload(string(payloadKey(o.digest)), o.payload)
	default:
		q.values[o.key] = o.value
	}
}

// keepPayload adds a payload to q.payloads, unless there is already a payload with the key. The
// caller holds q.mu, or no other goroutine uses q.
func (q *queue) keepPayload(key string, p *Payload) {
	if q.payloads[key] == nil {
		q.payloads[key] = p
	}
}

// full reports whether the queue has reached one of its bounds. The caller holds mu.
func (q *queue) full() bool {
	return len(q.ops) >= q.limits.Queue || q.links >= q.limits.QueueLinks || q.bytes >= q.limits.QueueBytes
}

// starve makes the next commit merge what is pending for a site in the journal.
func (q *queue) starve(site frontier.Site) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.starveLocked(site)
}

func (q *queue) starveLocked(site frontier.Site) {
	if q.hungry == nil {
		q.hungry = map[frontier.Site]bool{}
	}
	q.hungry[site] = true
}

// A batch has the operations that the committer takes from the queue at once. If an op adds a
// site to queue.hungry, the site is taken with the batch of the op, or with a later batch.
type batch struct {
	ops    []op
	rows   [][]byte // the new rows of the journal, with the completions in ops
	hungry map[frontier.Site]bool
}

// take empties the queue and returns the operations that it held. After that the queue uses the
// memory of room.
func (q *queue) take(last bool, room batch) batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batch{q.ops, q.journal.rows, q.hungry}
	q.ops, q.bytes, q.links, q.hungry = room.ops, 0, 0, nil
	q.journal.rows = nil
	q.journal.reuse(room.rows)
	q.last = last
	q.waiters.Take()
	q.room.Broadcast()
	return b
}

// committed removes from memory the snapshots and values in ops, and the payloads with the keys
// in merged. They are on disk now and can be read there.
func (q *queue) committed(ops []op, merged []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range ops {
		if o.snapshot != nil && q.snapshots[o.site] == o.snapshot {
			delete(q.snapshots, o.site)
		}
		if last := q.values[o.key]; last != nil && o.value != nil && &last[0] == &o.value[0] {
			delete(q.values, o.key)
		}
	}
	for _, key := range merged {
		delete(q.payloads, key)
	}
	q.waiters.Done()
}

// fail records the error that ended commits. From then on enqueue returns it.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.waiters.Fail(err)
	q.room.Broadcast()
}

func (q *queue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Hasten tells the DB that the run is ending: calls that submit something no longer wait, and
// the next commit, or Close, stores what was submitted. After Hasten the Bounds are not
// applied, so only the callers limit how much is in memory.
func (db *DB) Hasten() {
	db.queue.mu.Lock()
	defer db.queue.mu.Unlock()
	db.queue.hasty = true
	db.queue.room.Broadcast()
}
