package postgres

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// An op is one operation to be committed. Only some of its fields are set.
type op struct {
	completion *frontier.Completion
	snapshot   *robots.Snapshot
	site       frontier.Site // site of the snapshot
	key        string        // key of the value
	value      []byte        // value in JSON
	digest     string        // digest of the payload
	payload    *state.Payload
	requeued   []requeued // entries that Requeue queues again
	order      []byte     // message for all nodes, in JSON; an op with a key may also have an order
	orderID    int64
}

// usualBounds limit the operations that wait for a commit. The number of operations (Queue) also
// limits how many pages are fetched again after the process was killed.
var usualBounds = state.Bounds{Queue: 256, Links: 20_000, Bytes: 8 << 20}

// A queue holds the operations that callers have submitted and that the committer has not
// committed, in the order in which they take effect.
type queue struct {
	bounds state.Bounds
	wake   chan struct{} // has a value if there is something to commit
	hurry  chan struct{} // has a value if a caller waits for a commit

	mu        sync.Mutex // guards the fields below; it is the last lock in the order of locks
	room      sync.Cond
	ops       []op
	taken     []op // operations that are being committed; they still count for the bounds
	links     int
	bytes     int
	snapshots map[frontier.Site]*robots.Snapshot // for each site, its last snapshot that is not committed
	payloads  map[string]*state.Payload
	values    map[string][]byte
	waiters   state.Waiters
	hasty     bool // the run is ending, so put does not wait for room
	last      bool // the node is being closed, so put fails
	err       error
	doubt     bool // the last commit failed, but the database may have it
	began     atomic.Int64
}

func (q *queue) init(b state.Bounds) {
	if b.Queue <= 0 {
		b.Queue = usualBounds.Queue
	}
	if b.Links <= 0 {
		b.Links = usualBounds.Links
	}
	if b.Bytes <= 0 {
		b.Bytes = usualBounds.Bytes
	}
	q.bounds = b
	q.wake, q.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	q.snapshots, q.payloads, q.values = map[frontier.Site]*robots.Snapshot{}, map[string]*state.Payload{}, map[string][]byte{}
	q.room.L = &q.mu
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put waits until the queue has room, and adds o. The caller must not hold a lock.
func (q *queue) put(o op) error {
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
		return state.ErrClosed
	}
	q.ops = append(q.ops, o)
	switch {
	case o.completion != nil:
		q.links += len(o.completion.Links)
		for i := range o.completion.Links {
			e := &o.completion.Links[i]
			q.bytes += len(e.Via) + len(e.Hops) + len(e.Tag) + 200
		}
	case o.snapshot != nil:
		q.snapshots[o.site] = o.snapshot
	case o.payload != nil:
		if q.payloads[o.digest] == nil {
			q.payloads[o.digest] = o.payload
		}
	case o.key != "":
		q.values[o.key] = o.value
	}
	nudge(q.wake)
	return nil
}

func (q *queue) full() bool {
	return len(q.ops)+len(q.taken) >= q.bounds.Queue || q.links >= q.bounds.Links || q.bytes >= q.bounds.Bytes
}

// take removes all operations from the queue and returns them.
func (q *queue) take(last bool) []op {
	q.mu.Lock()
	defer q.mu.Unlock()
	ops := q.ops
	q.ops, q.taken, q.links, q.bytes, q.last = nil, ops, 0, 0, last
	q.waiters.Take()
	return ops
}

// done records that ops were committed, which makes room in the queue.
func (q *queue) done(ops []op) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = nil
	for _, o := range ops {
		switch {
		case o.snapshot != nil && q.snapshots[o.site] == o.snapshot:
			delete(q.snapshots, o.site)
		case o.payload != nil:
			delete(q.payloads, o.digest)
		case o.key != "" && len(o.value) > 0:
			if v := q.values[o.key]; v != nil && &v[0] == &o.value[0] {
				delete(q.values, o.key)
			}
		}
	}
	q.waiters.Done()
	q.room.Broadcast()
}

func (q *queue) fail(err error, doubt bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err, q.doubt = err, doubt
	q.waiters.Fail(err)
	q.room.Broadcast()
}

func (q *queue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

func (q *queue) unknown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.doubt
}

func (q *queue) hasten() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hasty = true
	q.room.Broadcast()
}

// empty reports whether nothing waits for a commit, and no commit is under way.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ops) == 0 && len(q.taken) == 0
}

// holds reports whether a result or a robots.txt of certain sites waits for a commit, or is being
// committed. The function of reports whether a site is one of them.
func (q *queue) holds(of func(frontier.Site) bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ops := range [][]op{q.taken, q.ops} {
		for i := range ops {
			o := &ops[i]
			if o.completion != nil && of(o.completion.Site) || o.snapshot != nil && of(o.site) {
				return true
			}
		}
	}
	return false
}

// urgent reports whether a caller waits for a commit.
func (q *queue) urgent() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiters.Queued() || q.full()
}

// behind reports whether a commit has been under way for so long that no turn should begin. After
// a kill, all pages that are fetched during the commit would be fetched again.
func (q *queue) behind() bool {
	began := q.began.Load()
	return began != 0 && time.Since(base)-time.Duration(began) > slowCommit
}

const slowCommit = 300 * time.Millisecond

// base is the time from which queue.began counts.
var base = time.Now()

// Submit implements frontier.Backlog.
func (db *node) Submit(c frontier.Completion) error {
	c.Links = append([]frontier.Entry(nil), c.Links...)
	c.Common = append([]frontier.CommonClock(nil), c.Common...)
	for i := range c.Links {
		e := &c.Links[i]
		e.URL, e.Same = e.URL.Clone(), e.Same.Clone()
	}
	return db.queue.put(op{completion: &c})
}

// Grown implements frontier.Backlog.
func (db *node) Grown() <-chan frontier.Growth { return db.growths.C() }

func (db *node) tell(g frontier.Growth) {
	db.grown.Lock()
	defer db.grown.Unlock()
	g.Number = db.told.Add(1)
	db.growths.Put(g)
}

// commits is the main loop of the committer: it commits groups until the node is closed.
func (db *node) commits() {
	defer close(db.committed)
	for last := false; !last; {
		last = db.gather()
		if err := db.commitGroup(last); err != nil {
			db.tell(frontier.Growth{Err: err})
			return
		}
	}
}

// gather waits until there is an operation to commit, and then for more operations, for a short
// time. It returns true if the node is being closed.
func (db *node) gather() (last bool) {
	q := &db.queue
	select {
	case <-q.wake:
	case <-db.closing:
		return true
	}
	select {
	case <-q.hurry: // an earlier commit may have served this caller already, so urgent decides
	default:
	}
	if db.opts.Gather < 0 || q.urgent() {
		return false
	}
	t := time.NewTimer(db.opts.Gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.hurry:
	case <-db.closing:
		return true
	}
	return false
}
