package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"go.etcd.io/bbolt"
)

// File is the name of the state file in the directory of a crawl.
const File = "state.db"

// Options of a DB. The zero value is what most callers want.
type Options struct {
	Gather time.Duration // how long a group waits for more work; 0: 20 ms, negative: not at all
	Bounds Bounds        // how much may wait for a commit

	// SyncDelay is added to each sync of the state file, to measure the effect of a slower
	// disk.
	SyncDelay time.Duration

	Disk disk.Disk
	Seed uint64 // of the fingerprints of a new crawl; 0: random
	Log  Log    // called with each group before it is committed; nil: no log

	// New is called if Open finds a state without buckets; its error makes Open fail.
	New func() error

	Limits *Limits           // nil: Usual; for tests
	Fault  func(error) error // replaces the error of a commit, in tests; nil: unchanged
}

// Bounds limit how much may wait for a commit; when a bound is reached, submitting blocks.
// 0 means a default that costs no speed; with smaller bounds a crawl takes less memory, and
// longer.
type Bounds struct {
	Queue int // number of operations
	Links int // number of links in them
	Bytes int // size of their completions
}

// Outputs are the files that are committed together with the state. Only the committer
// calls Flush and Finish; Close comes after them.
type Outputs interface {
	// Flush writes and syncs all files as of one moment.
	Flush() (Moment, error)

	// Finish is called with files that were Full and whose marks are committed.
	Finish(names []string) error

	// Close finishes the files, after the last commit, and returns what the state keeps of
	// them.
	Close(End) (Last, error)
}

// A Moment is the contents of the outputs on disk at one moment.
type Moment struct {
	Marks Marks    // of the files that are written
	Full  []string // those of them that do not grow any more
}

// End says how the commits of a run have ended.
type End struct {
	Committed Marks
	Unknown   bool // the last commit failed, and may be on disk all the same: do not truncate
	Failed    bool // the result of Close is not stored
}

// Last is what the state keeps of the outputs after a run.
type Last struct {
	Growing, Finished Marks
	Index             IndexMarks
}

// Begun is what Open found.
type Begun struct {
	First     bool       // the state was created
	Unclean   bool       // the last process that held the crawl did not close it
	Restarted time.Time  // when the crawl was last opened after an unclean end; zero if it never was
	Committed time.Time  // time of the last commit, by the clock at that time; if it is later than now, that clock was wrong
	Index     IndexMarks // of the last index
}

// A DB is the state of one crawl, held by this process. Its methods are safe for concurrent
// use, except Begin and Close. It implements frontier.Backlog and fetch.Snapshots.
//
// Locks are taken in this order; any of them may be skipped:
//
//	merging       held by the committer while it changes its book, and by other
//	              goroutines to read it
//	reading       held to read the queue, and to let ended entries in again
//	file.mu       held to use bbolt, and to replace it
//	              (bbolt's own locks)
//	queue.mu      held to change what was put and not committed
//	handedOut.mu  held to change which entries are handed out
//
// A goroutine that waits for room, in enqueue, holds none of them: the committer takes them
// all to make room. Every wait for room ends with Hasten or Close; all other waits are for
// one commit.
type DB struct {
	// Set by Open, then constant.
	opts   Options
	limits Limits
	seed   uint64 // of the fingerprints
	begun  Begun

	file    file
	cache   *knownCache
	numbers numberCache
	growths frontier.Growths
	outputs Outputs // set by Begin
	closing chan struct{}
	ended   chan struct{} // closed by the committer when it ends: its book may then be read

	merging   sync.Mutex
	reading   sync.RWMutex
	queue     queue
	handedOut handedOut
	book      book
}

// Open opens the state of the crawl in dir. It creates a missing file, but
// writes nothing to it before Begin, which creates the buckets of a new state. It fails
// with an *InUseError, a *DamagedError, a *VersionError, the error of Options.New, or an
// error of the file system.
func Open(dir string, opts Options) (*DB, error) {
	if opts.Gather == 0 {
		opts.Gather = 20 * time.Millisecond
	}
	if opts.Limits == nil {
		opts.Limits = &Usual
	}
	db := newDB(dir, opts)
	if err := db.file.guarded(true, db.open); err != nil {
		db.file.close()
		return nil, err
	}
	return db, nil
}

func newDB(dir string, opts Options) *DB {
	db := &DB{
		opts: opts, limits: opts.Limits.with(opts.Bounds),
		closing: make(chan struct{}), ended: make(chan struct{}),
		cache:     newKnownCache(),
		handedOut: handedOut{sites: map[siteNum]*outEntries{}},
		book:      book{pending: newPending(), checked: map[uint32]bool{}},
	}
	db.file.dir, db.file.step = dir, minGrowth
	db.queue.init(&db.limits)
	return db
}

func (db *DB) open() error {
	if err := preflight(db.file.path()); err != nil {
		return err
	}
	if err := db.file.open(); err != nil {
		return err
	}
	return db.file.bolt.View(db.read)
}

// read loads the file, and changes nothing.
func (db *DB) read(tx *bbolt.Tx) error {
	if key, _ := tx.Cursor().First(); key == nil {
		return db.first()
	}
	if err := db.load(tx); err != nil {
		return err
	}
	if db.begun.Unclean {
		db.begun.Restarted = time.Now()
	}
	return db.replay(tx)
}

// first prepares for a state that Begin creates.
func (db *DB) first() error {
	if db.opts.New != nil {
		if err := db.opts.New(); err != nil {
			return callbackError(err)
		}
	}
	db.begun.First, db.begun.Committed = true, time.Now()
	db.book.marks, db.book.archived = Marks{}, map[string]uint32{}
	if db.seed = db.opts.Seed; db.seed == 0 {
		db.seed = rand.Uint64()
	}
	return nil
}

// create creates the buckets of a new state.
func (db *DB) create(tx *bbolt.Tx) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	return errors.Join(
		meta.Put(keyVersion, binary.BigEndian.AppendUint64(nil, schemaVersion)),
		meta.Put(keySeed, binary.BigEndian.AppendUint64(nil, db.seed)),
		putCommit(meta, lastCommit{at: db.begun.Committed}))
}

// load reads what the state stores of the crawl as a whole.
func (db *DB) load(tx *bbolt.Tx) (err error) {
	if db.seed, err = checkBuckets(tx, db.file.path()); err != nil {
		return err
	}
	meta := tx.Bucket(bucketMeta)
	if want := db.opts.Seed; want != 0 && want != db.seed {
		return callbackError(fmt.Errorf("the fingerprints of %s have another seed than Options.Seed", db.file.path()))
	}
	last, err := getCommit(meta)
	if err != nil {
		return err
	}
	db.book.commits, db.book.row, db.begun.Committed = last.number, last.row, last.at
	if db.book.position, err = getPosition(meta); err != nil {
		return err
	}
	if db.book.marks, db.begun.Index, err = getMarks(meta); err != nil {
		return err
	}
	db.begun.Unclean = meta.Get(keyOpen) != nil
	if raw := meta.Get(keyRestart); raw != nil {
		return decode(bucketMeta, keyRestart, raw, &db.begun.Restarted)
	}
	return nil
}

// replay reads the journal.
func (db *DB) replay(tx *bbolt.Tx) error {
	p := db.book.pending
	var err error
	if db.book.archived, err = loadArchives(tx); err != nil {
		return err
	}
	err = tx.Bucket(bucketJournal).ForEach(func(key, value []byte) error {
		all, err := decodeRow(key, value)
		p.add(binary.BigEndian.Uint64(key), all, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	if err := db.loadPayloads(tx); err != nil {
		return err
	}
	p.groups = nil // no caller waits for them any more
	v := db.newView(tx)
	for _, s := range p.sites {
		n, r, err := v.site(s.name)
		if err != nil {
			return err
		}
		p.had(s, func(at place) bool { return v.change.number(at) <= r.Merged })
		if err := db.withhold(v, s, n); err != nil {
			return err
		}
	}
	return nil
}

// withhold keeps Read from returning entries that have ended before they were read here. An
// entry whose link is not merged cannot be read.
func (db *DB) withhold(v *view, s *pendingSite, n siteNum) error {
	if n == 0 || s.unnamed == 0 {
		return nil
	}
	rows := v.entries.Cursor()
	if err := s.resolve(func(fp uint64) (uint32, bool, error) { return seenNum(rows, n, fp) }); err != nil {
		return err
	}
	for _, e := range s.ends {
		if e.num != 0 && e.what == hasEnded {
			db.handedOut.take(n, e.num, !e.waited)
		}
	}
	return nil
}

// Begun returns what Open found.
func (db *DB) Begun() Begun { return db.begun }

// Marks returns the marks of the outputs at their last flush. It must not be called while
// commits are possible: only before Begin, after Close, and in Outputs.
func (db *DB) Marks() Marks { return maps.Clone(db.book.marks) }

// Begin records that this process holds the crawl, with the marks of its outputs: from here
// on a kill or a power cut is detected as an unclean end. Then it starts the committer.
func (db *DB) Begin(outputs Outputs, growing, finished Marks) error {
	db.outputs = outputs
	db.book.marks, db.book.committed = maps.Clone(growing), maps.Clone(growing)
	err := db.file.guarded(true, func() error {
		// run.json first: if the state says that the crawl is open, run.json exists.
		run := Run{PID: os.Getpid(), Started: time.Now().UTC().Truncate(time.Millisecond)}
		if err := errors.Join(writeRun(db.file.dir, run, db.opts.Disk), db.opts.Disk.SyncDir(db.file.dir)); err != nil {
			return err
		}
		err := db.file.bolt.Update(func(tx *bbolt.Tx) error {
			return db.hold(tx, growing, finished)
		})
		if err != nil {
			return err
		}
		return db.turnBack()
	})
	if err != nil {
		return err
	}
	// The committer. It ends when Close closes db.closing.
	go db.commit()
	return nil
}

// hold records that a process holds the crawl, and creates missing buckets, in one
// transaction: after a kill the crawl has begun, or does not exist.
func (db *DB) hold(tx *bbolt.Tx, growing, finished Marks) error {
	if db.begun.First {
		if err := db.create(tx); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	if err := meta.Put(keyVersion, binary.BigEndian.AppendUint64(nil, schemaVersion)); err != nil {
		return err
	}
	if db.begun.Unclean { // stored, as this run may end before its first request
		if err := putJSON(meta, keyRestart, db.begun.Restarted); err != nil {
			return err
		}
	}
	return errors.Join(keepOutputs(tx, growing, finished), putJSON(meta, keyOpen, true))
}

// keepOutputs writes the marks of the outputs.
func keepOutputs(tx *bbolt.Tx, growing, finished Marks) error {
	for name, m := range finished {
		if err := putFinished(tx, name, m); err != nil {
			return err
		}
	}
	return putMarks(tx.Bucket(bucketMeta), growing)
}

// Abandon closes the file of a DB for which Begin was not called.
func (db *DB) Abandon() error { return db.file.close() }

// Close commits what is left, closes the outputs, and releases the directory. A second call
// returns ErrClosed.
func (db *DB) Close() error {
	if db.file.closed.Swap(true) {
		return ErrClosed
	}
	close(db.closing)
	<-db.ended
	err := db.queue.failed()
	last, outputs := db.outputs.Close(End{db.book.committed, db.book.unknown, err != nil})
	err = errors.Join(err, outputs)
	if err == nil {
		err = db.release(last)
	}
	if DiskFull(err) {
		noteFull(db.file.dir)
	}
	if err = errors.Join(err, db.file.close()); err != nil {
		return err
	}
	dir := db.file.dir
	if err := os.Remove(filepath.Join(dir, RunFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return db.opts.Disk.SyncDir(dir)
}

// release records that the crawl is not held any more, and the final marks.
func (db *DB) release(last Last) error {
	db.book.marks = last.Growing
	return db.file.guarded(true, func() error {
		return db.file.bolt.Update(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(bucketMeta)
			return errors.Join(keepOutputs(tx, last.Growing, last.Finished), putIndex(meta, last.Index), meta.Delete(keyOpen))
		})
	})
}
