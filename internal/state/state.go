package state

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/disk"
	"go.etcd.io/bbolt"
)

// File is the name of the state file in the directory of a crawl.
const File = "state.db"

// Options of a DB. The zero value is what most callers want.
type Options struct {
	Gather time.Duration // how long a commit waits for more work; 0: 20 ms, negative: not at all
	Bounds Bounds        // how much may wait for a commit

	// SyncDelay is a pause that is added to each sync of the state file, to measure the effect
	// of a slower disk.
	SyncDelay time.Duration

	Disk   disk.Disk
	Logger *slog.Logger // for messages about a database that does not answer; nil: they are dropped

	// New is called if Open finds a state file without buckets. If New returns an error, Open
	// returns that error.
	New func() error

	Seed   uint64            // seed of the fingerprints of a new crawl, for tests; 0: random
	Limits *Limits           // for tests; nil: Usual
	Fault  func(error) error // replaces the error of a commit, in tests; nil: unchanged
}

// Bounds limit how much may wait for a commit. When a bound is reached, a call that submits
// something waits. 0 means a default that is large enough for full speed. With smaller bounds a
// crawl needs less memory and more time.
type Bounds struct {
	Queue int // number of operations: completions, snapshots, payloads and values
	Links int // number of links in the operations that wait
	Bytes int // size of the completions in the operations that wait, in bytes
}

// Outputs are the files that are committed together with the state. The committer calls
// Flush and Finish; DB.Close calls Close after the committer has ended.
type Outputs interface {
	// Flush writes and syncs all files, at least up to the marks that it returns. These are the
	// marks of all files as of one moment.
	Flush() (Moment, error)

	// Finish is called with the names in Moment.Full after their marks were committed.
	Finish(names []string) error

	// Close finishes the files after the last commit. It returns the marks that the state will
	// store.
	Close(End) (Last, error)
}

// A Moment describes the outputs at one moment.
type Moment struct {
	Marks Marks    // marks of the files that the run writes
	Full  []string // names of those files in Marks that do not grow any more
}

// End says how a run's commits have ended.
type End struct {
	Committed Marks
	Unknown   bool // the last commit failed, but may be on disk, so the files must not be truncated
	Failed    bool // the result of Outputs.Close is not stored
}

// Last has the marks that the state stores when a run ends.
type Last struct {
	Growing, Finished Marks
	Index             IndexMarks
}

// Begun describes the state at the time when Open opened it.
type Begun struct {
	First     bool      // Open has created the state
	Unclean   bool      // the last process that held the crawl did not close it
	Live      bool      // nodes of the crawl are running; set only by a Reading
	Restarted time.Time // when the crawl was last opened after a run that did not close it; zero if every run has closed it
	// Committed is the time of the last commit, by the wall clock at that time. If it is later
	// than now, that clock was wrong.
	Committed time.Time
	Index     IndexMarks // marks of the last index
}

// A DB is the state of one crawl. No other process can open it until Close. Its methods are
// safe for concurrent use, except Begin and Close. It implements frontier.Backlog and
// fetch.Snapshots.
//
// Locks are taken in this order; any of them may be skipped:
//
//	merging       held by the committer while it changes its book, and by other
//	              goroutines to read the book
//	reading       held (for reading) to read entries from the file, and (for writing) to
//	              forget that entries are out
//	file.mu       held to use bbolt, and to replace it
//	              (bbolt's own locks)
//	queue.mu      held to change what was put and not committed
//	handedOut.mu  held to change which entries are out
//
// A goroutine must hold none of these locks while it waits for room in the queue, in
// enqueue, because the committer takes all of them to make room. Hasten and Close end every
// wait for room. No other wait is longer than one commit.
type DB struct {
	// The next fields are set by Open and never change.
	opts   Options
	limits Limits
	seed   uint64 // seed of the fingerprints
	begun  Begun

	file    file
	cache   *knownCache
	numbers numberCache
	growths frontier.Growths
	outputs Outputs // the files beside the state; set by Begin
	closing chan struct{}
	ended   chan struct{} // closed by the committer when it ends; after that book may be read without holding merging

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

// read loads what the DB must know of the file. It writes nothing.
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

// first sets the fields of a DB for which Begin will create a new state.
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

// load reads the values in bucketMeta.
func (db *DB) load(tx *bbolt.Tx) (err error) {
	if db.seed, err = checkBuckets(tx, db.file.path()); err != nil {
		return err
	}
	meta := tx.Bucket(bucketMeta)
	last, err := getCommit(meta)
	if err != nil {
		return err
	}
	db.book.commits, db.book.row, db.begun.Committed = last.number, last.row, last.at
	if db.book.marks, db.begun.Index, err = getMarks(meta); err != nil {
		return err
	}
	db.begun.Unclean = meta.Get(keyOpen) != nil
	if raw := meta.Get(keyRestart); raw != nil {
		return decode(bucketMeta, keyRestart, raw, &db.begun.Restarted)
	}
	return nil
}

// replay reads the journals into memory, so that their contents are pending again.
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
	p.groups = nil // forget these groups, because no caller waits any more for them to be merged
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

// withhold sets the numbers of the entries in s.ends. If an entry ended in an earlier run and
// its end is not merged, withhold adds it to db.handedOut, so that Read does not return it.
func (db *DB) withhold(v *view, s *pendingSite, n siteNum) (err error) {
	rows := v.entries.Cursor()
	for i := range s.ends {
		e := &s.ends[i]
		if e.num, _, err = seenNum(rows, n, e.fp); err != nil {
			return err
		}
		if e.what == hasEnded {
			db.handedOut.take(n, e.num, !e.waited)
		}
	}
	return nil
}

// Begun describes the state at the time when Open opened it.
func (db *DB) Begun() Begun { return db.begun }

// Marks returns the marks of the outputs at their last flush. It may be called only when no
// commit changes them: before Begin, after Close, and by the methods of Outputs.
func (db *DB) Marks() Marks { return maps.Clone(db.book.marks) }

// Begin stores in the file that this process holds the crawl, and the marks of its outputs.
// Then it starts the committer. If the process is killed after Begin, or the power fails, the
// next Open finds that the crawl was not closed.
func (db *DB) Begin(outputs Outputs, growing, finished Marks) error {
	db.outputs = outputs
	db.book.marks, db.book.committed = maps.Clone(growing), maps.Clone(growing)
	err := db.file.guarded(true, func() error {
		// Write run.json first, so that it exists if the state says that the crawl is open.
		if err := WriteRun(db.file.dir, db.opts.Disk); err != nil {
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
	// This is the committer. It ends when Close closes db.closing.
	go db.commit()
	return nil
}

// hold records that a process holds the crawl, and creates the buckets of a new state, in one
// transaction. So after a kill the file has both changes, or neither.
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
	if db.begun.Unclean { // store the time now, because this run may end before its first commit
		if err := putJSON(meta, keyRestart, db.begun.Restarted); err != nil {
			return err
		}
	}
	return errors.Join(keepOutputs(tx, growing, finished), putJSON(meta, keyOpen, true))
}

// keepOutputs writes the marks of the outputs. Growing outputs are those to which a run
// appends.
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

// Close commits what was submitted, closes the outputs, and releases the directory. A second
// call returns ErrClosed.
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
		NoteFull(db.file.dir)
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

// release stores the marks in last, and records that no process holds the crawl.
func (db *DB) release(last Last) error {
	db.book.marks = last.Growing
	return db.file.guarded(true, func() error {
		return db.file.bolt.Update(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(bucketMeta)
			return errors.Join(keepOutputs(tx, last.Growing, last.Finished), putIndex(meta, last.Index), meta.Delete(keyOpen))
		})
	})
}
