package state

import (
	"errors"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
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
	payload    *Payload
	applied    *applied // alone
}

// A queue is what everybody puts and the committer takes, in the order in which it
// takes effect. What is in it is not on disk.
type queue struct {
	limits *Limits
	wake   chan struct{} // there is something to commit
	hurry  chan struct{} // somebody waits for it

	// Held for what stands below; nothing is waited for, but for room, which lets go
	// of it.
	mu        sync.Mutex
	room      sync.Cond                          // ops are fewer than their bounds, or these count no more
	ops       []op                               // none after last
	journal   rowsBuilder                        // of those of their completions that were not applied
	bytes     int                                // of completions in ops
	links     int                                // in them
	hungry    map[frontier.Site]bool             // sites with nothing left to ask for: the next commit merges them
	snapshots map[frontier.Site]*robots.Snapshot // put and not committed: the last of each site
	payloads  map[string]*Payload                // put and not merged, by key: the first of each
	own       bool                               // something was put since Open that was not applied
	hasty     bool                               // the bounds count no more, from Hasten on
	last      bool                               // the last group is being committed: nothing more is taken
	err       error                              // why nothing can be committed any more; set once
}

func (q *queue) init(l *Limits) {
	q.limits = l
	q.journal.size = l.RowSize
	q.wake, q.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	q.snapshots, q.payloads = map[frontier.Site]*robots.Snapshot{}, map[string]*Payload{}
	q.room.L = &q.mu
}

// nudge says something to the committer that it may know already.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enqueue hands an op to the committer, and waits for room. Nobody who calls it
// holds a lock.
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
	if o.completion != nil && db.hands.give(o.completion) {
		q.starveLocked(o.completion.site)
	}
	nudge(q.wake)
	return nil
}

// ErrNotAlone is returned by Apply where something else was put.
var ErrNotAlone = errors.New("storage: a group can only be applied before anything is put")

// count notes what is in an op. It requires that mu is held.
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

// keepPayload notes a payload, unless there is one with its key. It requires that mu is
// held, or that nobody else has q yet.
func (q *queue) keepPayload(key string, p *Payload) {
	if q.payloads[key] == nil {
		q.payloads[key] = p
	}
}

// full reports whether the queue is at one of its bounds. It requires that mu is
// held.
func (q *queue) full() bool {
	return len(q.ops) >= q.limits.Queue || q.links >= q.limits.QueueLinks || q.bytes >= q.limits.QueueBytes
}

// starve has the next commit merge what is pending for a site.
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

// A batch is what the committer takes at once. A site is hungry in the batch that has the
// op that made it so, or behind it.
type batch struct {
	ops    []op
	rows   [][]byte // of those completions in ops that were not applied
	hungry map[frontier.Site]bool
}

// take empties the queue, which goes on in the memory of room.
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

// committed forgets what can be read in the file now: what was put with ops, and payloads
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

// Hasten says that the run ends: from now on nobody waits for room. Who has
// something in hand gives it and can go; the next commit, or Close, takes it. What
// is in memory then has no bound but what those who call have in hand.
func (db *DB) Hasten() {
	db.queue.mu.Lock()
	defer db.queue.mu.Unlock()
	db.queue.hasty = true
	db.queue.room.Broadcast()
}
