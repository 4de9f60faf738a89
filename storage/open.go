package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"go.etcd.io/bbolt"
)

// Names of the files of a crawl's directory.
const (
	StateFile = "state.db"
	RunFile   = "run.json"
	LogFile   = "crawl.log"
	PagesFile = "pages.jsonl"
	LinksFile = "links.jsonl"
)

// Options of a DB. The zero value is what most callers want.
type Options struct {
	NoPages bool          // write no pages.jsonl
	Links   bool          // write links.jsonl
	Archive *Archive      // write WARC files; nil: none
	Gather  time.Duration // how long a group waits for more; 0: 20 ms, negative: not at all
	Bounds  Bounds        // what may wait for a commit

	// SyncDelay is added to each sync of the state file, for measuring what a
	// slower disk would do.
	SyncDelay time.Duration

	limits *limits // nil: usual
	disk   disk
	fault  func(error) error // what becomes of the error of a commit, in tests; nil: nothing
}

// Bounds say how much may wait for a commit before whoever submits more waits,
// too. 0 stands for a bound that costs no speed; with smaller ones a crawl takes
// less memory, and longer.
type Bounds struct {
	Queue int // things that were put
	Links int // in them
	Bytes int // of completions in them
}

// A DB is the directory of one crawl, held by this process. Its methods are
// safe for concurrent use. It implements frontier.Backlog and fetch.Snapshots.
//
// Its locks are taken in this order, any of them left out:
//
//	large    held while one large page is made into a line and appended
//	merging  held by the committer while it changes what only it writes, and by
//	         those who read that
//	reading  held by those who read the queue, and to let ended entries in again
//	file     held by those who use bolt, and to replace it
//	         (bbolt's own locks)
//	moment   of outputs: held to append, and to note how long all files are
//	mu       held for what every goroutine may change; nothing is waited for, but
//	         for room, which lets go of it
//
// The locks of one output and of the log come last. Who waits for room, in
// enqueue, holds none of them: the committer takes them all to make room. Every
// wait for room ends with Hasten or Close; what else is waited for is one commit.
type DB struct {
	// Set by Open, never changed.
	dir     string
	opts    Options
	limits  limits
	seed    uint64
	unclean bool
	restart time.Time  // the last unclean open
	before  time.Time  // the last commit before Open, by the clock of then
	turning bool       // Open puts right what a clock did that ran ahead
	index   indexMarks // of index.cdxj as it was made last; Close changes it

	cache *knownCache
	size  atomic.Int64 // of the state file, about: the committer writes it, submitters read it
	outputs

	growths frontier.Growths
	wake    chan struct{} // there is something to commit
	hurry   chan struct{} // somebody waits for it
	closing chan struct{} // closed by the first Close, which alone goes on
	ended   chan struct{} // closed by the committer when it ends: what is its own may then be read
	closed  atomic.Bool

	large   sync.Mutex
	reading sync.RWMutex
	file    sync.RWMutex
	bolt    *bbolt.DB // replaced by the committer alone, with file held; nil once it is closed
	handle  *os.File  // of bolt

	// What only the committer changes, with merging held; it reads without.
	merging   sync.Mutex
	marks     marks    // of the outputs, those too that this run does not write: as they were flushed last
	committed marks    // as of the last commit: never more than what is on disk
	step      int      // by which the state file grows
	commits   uint64   // number of the last commit
	row       uint64   // number of the last row that was ever in the journal: it only grows
	pending   *pending // all that the journal holds and other buckets do not
	pass      *pass    // over what is pending; nil: none goes on
	broken    bool     // a transaction that writes has panicked: bbolt may hold its own lock for ever
	unknown   bool     // the last commit failed, and may be on disk all the same: nothing is cut then
	drained   bool     // a pass has ended since Open; until then merge eagerly: the frontier has nothing to read
	workspace

	// What everybody changes, with mu held.
	mu          sync.Mutex
	room        sync.Cond                          // queue is shorter than its bound, or it counts no more
	queue       []op                               // to be committed, in the order in which it takes effect
	queued      int                                // bytes of completions in queue
	queuedLinks int                                // and links
	hasty       bool                               // the bounds of queue count no more
	hungry      map[frontier.Site]bool             // sites that have nothing left to ask for: the next commit merges them
	snapshots   map[frontier.Site]*robots.Snapshot // put, not committed: the last of each site
	payloads    map[string]*payload                // archived, not committed, by digest
	out         map[siteNum]*outEntries            // of each site that has some
	last        bool                               // the last group is being committed: the queue takes nothing more
	err         error                              // why nothing can be committed any more; set once
}

// Open opens the crawl in dir, or makes it. The error is an *InUseError, a
// *DamagedError, a *VersionError, or one of the file system.
func Open(dir string, opts Options) (*DB, error) {
	if opts.Gather == 0 {
		opts.Gather = 20 * time.Millisecond
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if opts.limits == nil {
		opts.limits = &usual
	}
	db := &DB{
		dir: dir, opts: opts, limits: opts.limits.with(opts.Bounds),
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{}),
		snapshots: map[frontier.Site]*robots.Snapshot{},
		payloads:  map[string]*payload{},
		out:       map[siteNum]*outEntries{},
		outputs:   outputs{disk: opts.disk},
		cache:     newKnownCache(), step: minGrowth, pending: newPending(),
	}
	db.room.L = &db.mu
	if err := db.open(); err != nil {
		db.closeBolt()
		db.outputs.close()
		return nil, err
	}
	// The committer. It ends when Close closes db.closing.
	go db.commit()
	return db, nil
}

func (db *DB) open() (err error) {
	path := filepath.Join(db.dir, StateFile)
	defer func() {
		panicked := recover()
		db.broken = db.broken || panicked != nil
		err = db.damaged(err, panicked)
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := startAgain(db.dir); err != nil {
		return err
	}
	if err := preflight(path); err != nil {
		return err
	}
	if err := orphaned(db.dir); err != nil {
		return err
	}
	if db.bolt, err = db.openBolt(); err != nil {
		return err
	}
	if err := db.prepare(path); err != nil {
		return err
	}
	if err := db.replay(); err != nil {
		return err
	}
	if err := recoverArchive(db.dir, db.marks, db.disk); err != nil {
		return err
	}
	if err := db.recoverIndex(); err != nil {
		return err
	}
	if err := db.outputs.open(db.dir, &db.opts, db.marks, db.unclean); err != nil {
		return err
	}
	if err := db.hold(); err != nil {
		return err
	}
	db.committed = maps.Clone(db.marks)
	return db.turnBack()
}

// hold says that this process has the crawl: from here on a kill or a power cut is
// seen as one, and takes no file away. The state says it last, so that where it
// does run.json is there.
func (db *DB) hold() error {
	run := Run{os.Getpid(), time.Now().UTC().Truncate(time.Millisecond)}
	if err := errors.Join(db.writeRun(run), db.disk.syncDir(db.dir)); err != nil {
		return err
	}
	return db.bolt.Update(func(tx *bbolt.Tx) error {
		raw, err := encode(true)
		if err != nil {
			return err
		}
		return errors.Join(db.finished(tx), put(tx.Bucket(bucketMeta), keyOpen, raw))
	})
}

// replay notes what the journal holds.
func (db *DB) replay() error {
	return db.view(func(tx *bbolt.Tx) error {
		err := tx.Bucket(bucketJournal).ForEach(func(key, value []byte) error {
			all, places, err := decodeRow(key, value)
			db.pending.add(binary.BigEndian.Uint64(key), all, places, time.Now())
			return err
		})
		if err != nil {
			return err
		}
		db.pending.groups = nil // nobody waits for them any more
		v := db.newView(tx)
		for _, s := range db.pending.sites {
			n, r, err := v.site(s.name)
			if err != nil {
				return err
			}
			db.pending.had(s, func(p place) bool { return v.change.number(p) <= r.Merged })
			for _, e := range s.ends {
				db.takeOut(n, e.num, !e.waited)
			}
		}
		return nil
	})
}

// prepare makes the buckets of a new file and reads what is in an old one.
func (db *DB) prepare(path string) error {
	db.marks = marks{}
	return db.bolt.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		first := meta == nil
		if first {
			if path := Remains(db.dir); path != "" {
				return orphan(path)
			}
			var seed [8]byte
			rand.Read(seed[:])
			for _, name := range buckets {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			meta = tx.Bucket(bucketMeta)
			if err := meta.Put(keyVersion, binary.BigEndian.AppendUint64(nil, schemaVersion)); err != nil {
				return err
			}
			if err := meta.Put(keySeed, seed[:]); err != nil {
				return err
			}
			if err := putCommit(meta, lastCommit{at: time.Now()}); err != nil {
				return err
			}
		}
		var err error
		if db.seed, err = layout(meta, path); err != nil {
			return err
		}
		last, err := getCommit(meta)
		if err != nil {
			return err
		}
		db.commits, db.row, db.before = last.number, last.row, last.at
		if raw := meta.Get(keyOutputs); raw != nil {
			if err := decode(bucketMeta, keyOutputs, raw, &db.marks); err != nil {
				return err
			}
		}
		db.marks.expect(PagesFile, !db.opts.NoPages, first)
		db.marks.expect(LinksFile, db.opts.Links, first)
		if raw := meta.Get(keyIndex); raw != nil {
			if err := decode(bucketMeta, keyIndex, raw, &db.index); err != nil {
				return err
			}
		}
		if db.unclean = meta.Get(keyOpen) != nil; db.unclean {
			// Kept beyond this run: it may end before it has asked anybody.
			db.restart = time.Now()
			raw, err := encode(db.restart)
			if err != nil {
				return err
			}
			return put(meta, keyRestart, raw)
		}
		if raw := meta.Get(keyRestart); raw != nil {
			return decode(bucketMeta, keyRestart, raw, &db.restart)
		}
		return nil
	})
}

// Unclean reports whether the last process that held the crawl did not end by
// itself.
func (db *DB) Unclean() bool { return db.unclean }

// Restarted is when the crawl was last opened after an unclean end; zero if it
// never was.
func (db *DB) Restarted() time.Time { return db.restart }

// Dir is the directory of the crawl.
func (db *DB) Dir() string { return db.dir }

// Hasten says that the run ends: from now on nobody waits for room. Who has
// something in hand gives it and can go; the next commit, or Close, takes it. What
// is in memory then has no bound but what those who call have in hand.
func (db *DB) Hasten() {
	db.mu.Lock()
	db.hasty = true
	db.room.Broadcast()
	db.mu.Unlock()
}

// LastCommit is when the crawl was last committed before it was opened, by the
// clock of then: that ran ahead, if it is later than now.
func (db *DB) LastCommit() time.Time { return db.before }

// Log is the crawl's log of requests. What was written to it is on disk before a
// completion that is submitted later is acknowledged. Close closes it.
func (db *DB) Log() *crawllog.Writer { return db.log }

// LostLog is how many bytes of the log were on disk when the crawl was last
// committed and are gone since: somebody has removed or cut it.
func (db *DB) LostLog() int64 { return db.lostLog }

// Close commits what is left and releases the directory. A second Close returns
// ErrClosed.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return ErrClosed
	}
	close(db.closing)
	<-db.ended
	db.mu.Lock()
	err := db.err
	db.mu.Unlock()
	if db.archive != nil {
		if db.unknown {
			db.archive.abandon()
		} else {
			err = errors.Join(err, db.archive.close(db.committed))
		}
	}
	if err == nil {
		err = db.release()
	}
	err = errors.Join(err, db.outputs.close(), db.closeBolt())
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(db.dir, RunFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return db.disk.syncDir(db.dir)
}

// orphaned refuses to make a new crawl beside the outputs of an old one, or of
// somebody else: they would be cut to what the new one has written, to nothing.
func orphaned(dir string) error {
	if info, err := os.Stat(filepath.Join(dir, StateFile)); err == nil && info.Size() > 0 {
		return nil
	}
	path := Remains(dir)
	if path == "" {
		return nil
	}
	return orphan(path)
}

func orphan(path string) error {
	return &DamagedError{path, errors.New("it is a part of a crawl, but " + StateFile + " beside it is missing or empty")}
}

// Remains names an output of a crawl in dir, empty if there is none.
func Remains(dir string) string {
	// The name of dir may have characters in it that a pattern has.
	names, _ := fs.Glob(os.DirFS(dir), ArchiveDir+"/*"+archiveFile+"*")
	for _, name := range append(names, PagesFile, LinksFile, indexPart, LogFile) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return path
		}
	}
	return ""
}
