package state

import (
	"errors"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = errors.New("storage: closed")

// An op is one operation to be committed.
type op struct {
	completion *encoded
	snapshot   *robots.Snapshot
	site       frontier.Site // of the snapshot
	key        string        // of the value
	value      []byte        // after room for the checksum
	digest     string        // of the payload
	payload    *Payload
	applied    *applied // if set, the only one
}

// A queue holds the operations that were put and that the committer has not taken, in the
// order in which they take effect. It is not on disk.
type queue struct {
	limits *Limits
	wake   chan struct{} // there is something to commit
	hurry  chan struct{} // a caller waits for the commit

	// mu guards the fields below. It is not held while waiting, except for room, which
	// releases it.
	mu        sync.Mutex
	room      sync.Cond                          // ops are within their bounds, or the bounds are off
	ops       []op                               // nothing is added after last
	journal   rowsBuilder                        // of the completions in ops, without applied ones
	bytes     int                                // size of the completions in ops
	links     int                                // number of links in them
	hungry    map[frontier.Site]bool             // sites with nothing left to read: the next commit merges them
	snapshots map[frontier.Site]*robots.Snapshot // put and not committed: the last of each site
	payloads  map[string]*Payload                // put and not merged, by key: the first of each
	own       bool                               // something was put since Open that is not an applied group
	hasty     bool                               // the bounds are off, after Hasten
	last      bool                               // the last group is being committed: nothing more is accepted
	err       error                              // the error that ended commits; set once
}

func (q *queue) init(l *Limits) {
	q.limits = l
	q.journal.size = l.RowSize
	q.wake, q.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	q.snapshots, q.payloads = map[frontier.Site]*robots.Snapshot{}, map[string]*Payload{}
	q.room.L = &q.mu
}

// nudge signals the committer, if there is no signal yet.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enqueue adds an op to the queue, and waits for room. The caller must not hold a lock.
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
	if o.applied == nil {
		q.own = true
		if o.completion != nil {
			q.journal.add(o.completion)
		}
		q.count(&o)
	} else if q.own {
		return ErrNotAlone
	} else {
		for i := range o.applied.ops {
			q.count(&o.applied.ops[i])
		}
	}
	q.ops = append(q.ops, o)
	if o.completion != nil && db.handedOut.give(o.completion) {
		q.starveLocked(o.completion.site)
	}
	nudge(q.wake)
	return nil
}

// ErrNotAlone is returned by Apply if something else was put.
var ErrNotAlone = errors.New("storage: a group can only be applied before anything is put")

// count adds the size of an op to the totals. The caller holds mu.
func (q *queue) count(o *op) {
	switch {
	case o.completion != nil:
		q.bytes += len(o.completion.raw)
		q.links += len(o.completion.links)
	case o.snapshot != nil:
		q.snapshots[o.site] = o.snapshot
	case o.payload != nil:
		q.keepPayload(string(payloadKey(o.digest)), o.payload)
	}
}

// keepPayload adds a payload, unless there is one with its key. The caller holds mu, or has
// the only reference to q.
func (q *queue) keepPayload(key string, p *Payload) {
	if q.payloads[key] == nil {
		q.payloads[key] = p
	}
}

// full reports whether the queue is at one of its bounds. The caller holds mu.
func (q *queue) full() bool {
	return len(q.ops) >= q.limits.Queue || q.links >= q.limits.QueueLinks || q.bytes >= q.limits.QueueBytes
}

// starve makes the next commit merge what is pending for a site.
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

// A batch is what the committer takes at once. A site is hungry in the batch with the op
// that made it so, or in a later one.
type batch struct {
	ops    []op
	rows   [][]byte // of the completions in ops, without applied ones
	hungry map[frontier.Site]bool
}

// take empties the queue, which continues with the memory of room.
func (q *queue) take(last bool, room batch) batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batch{q.ops, q.journal.rows, q.hungry}
	q.ops, q.bytes, q.links, q.hungry = room.ops, 0, 0, nil
	q.journal.rows = nil
	q.journal.reuse(room.rows)
	q.last = last
	q.room.Broadcast()
	return b
}

// committed removes what can be read in the file now: what was put with ops, and payloads
// that were merged.
func (q *queue) committed(ops []op, merged []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range ops {
		if o.snapshot != nil && q.snapshots[o.site] == o.snapshot {
			delete(q.snapshots, o.site)
		}
	}
	for _, key := range merged {
		delete(q.payloads, key)
	}
}

// fail ends the queue: nothing can be committed any more.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.room.Broadcast()
}

func (q *queue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Hasten tells the DB that the run is ending: submitting no longer blocks, and the next
// commit, or Close, stores what was submitted. From then on only the callers limit how much
// is in memory.
func (db *DB) Hasten() {
	db.queue.mu.Lock()
	defer db.queue.mu.Unlock()
	db.queue.hasty = true
	db.queue.room.Broadcast()
}
