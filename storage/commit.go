package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// What may wait for a commit before Submit waits, too.
const (
	maxQueue = 4096    // ops
	maxLinks = 200_000 // in them
)

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = errors.New("storage: closed")

// An op is one thing to be committed: exactly one field is set.
type op struct {
	completion *frontier.Completion
	snapshot   *robots.Snapshot
	site       frontier.Site // of snapshot
	key        string        // of value
	value      any
}

// enqueue hands an op to the committer.
func (db *DB) enqueue(o op) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for (len(db.queue) >= maxQueue || db.links >= maxLinks) && db.err == nil && !db.last {
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
		db.links += len(o.completion.Links)
	}
	if o.snapshot != nil {
		db.snapshots[o.site] = o.snapshot
	}
	db.nudge(db.wake)
	return nil
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
		select {
		case <-db.wake:
			last = db.gather()
		case <-db.closing:
			last = true
		}
		if err := db.commitGroup(last); err != nil {
			db.growths.Put(frontier.Growth{Err: err})
			return
		}
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

func (db *DB) commitGroup(last bool) (err error) {
	db.mu.Lock()
	group := db.queue
	db.queue, db.links = nil, 0
	db.last = last
	db.room.Broadcast()
	db.mu.Unlock()

	defer func() {
		if err = db.damaged(err, recover()); err != nil {
			db.mu.Lock()
			db.err = err
			db.room.Broadcast()
			db.mu.Unlock()
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	if db.pages != nil {
		n, err := db.pages.flush()
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(db.dir, PagesFile), err)
		}
		db.lengths[PagesFile] = n
	}
	var g *change
	err = db.bolt.Update(func(tx *bbolt.Tx) error {
		g = newChange(db, tx)
		for _, o := range group {
			if err := g.apply(o); err != nil {
				return err
			}
		}
		if err := g.link(); err != nil {
			return err
		}
		return g.finish(db.lengths)
	})
	if err != nil {
		return err
	}
	db.acknowledge(group, g)
	return nil
}

// acknowledge tells the frontier what is safe now.
func (db *DB) acknowledge(group []op, g *change) {
	db.reading.Lock()
	defer db.reading.Unlock()
	db.mu.Lock()
	for _, e := range g.ended {
		delete(db.out[e.site], e.num)
		if len(db.out[e.site]) == 0 {
			delete(db.out, e.site)
		}
	}
	for _, o := range group {
		if o.snapshot != nil && db.snapshots[o.site] == o.snapshot {
			delete(db.snapshots, o.site)
		}
	}
	db.mu.Unlock()
	if g.settled > 0 || len(g.touched) > 0 {
		db.growths.Put(frontier.Growth{Settled: g.settled, Sites: g.touched})
	}
}
