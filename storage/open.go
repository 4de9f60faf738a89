package storage

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
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

// An InUseError says that another process holds the state of a crawl.
type InUseError struct {
	Dir string
	Run *Run // who; nil if that is not known
}

func (e *InUseError) Error() string {
	if e.Run == nil {
		return fmt.Sprintf("%s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("%s is in use by process %d, which runs since %s",
		e.Dir, e.Run.PID, e.Run.Started.Format(time.RFC3339))
}

// A DamagedError says that a file of a crawl is not what was written.
// Nothing was changed.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A VersionError says that a crawl was written by a version with another layout.
type VersionError struct {
	Path      string
	Have, Can uint64
}

func (e *VersionError) Error() string {
	which := "a newer"
	if e.Have < e.Can {
		which = "an older"
	}
	return fmt.Sprintf("%s has layout %d, this version reads layout %d: use %s version", e.Path, e.Have, e.Can, which)
}

// A Run says which process holds a crawl.
type Run struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
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

func (db *DB) openBolt() (*bbolt.DB, error) {
	// To map more waits for all readers.
	opts := &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapAhead()}
	opts.OpenFile = func(name string, flags int, mode os.FileMode) (f *os.File, err error) {
		f, err = os.OpenFile(name, flags, mode)
		db.handle = f
		return f, err
	}
	b, err := openState(db.dir, opts)
	if errors.Is(err, syscall.ENOMEM) { // no room for addresses
		opts.InitialMmapSize = 0
		b, err = openState(db.dir, opts)
	}
	if err == nil {
		b.AllocSize = db.step // the first growth, too
	}
	return b, err
}

// openState opens the state file of the crawl in dir. The error is an *InUseError,
// a *DamagedError, or one of the file system.
func openState(dir string, opts *bbolt.Options) (*bbolt.DB, error) {
	path := filepath.Join(dir, StateFile)
	b, err := bbolt.Open(path, 0o644, opts)
	if errors.Is(err, berrors.ErrTimeout) {
		run, _ := ReadRun(dir)
		return nil, &InUseError{dir, run}
	}
	return b, damagedState(path, err, nil)
}

// closeBolt closes the state file. Where bbolt may hold its own lock, for which it
// would wait for ever, only the file is closed, and other processes are let in.
func (db *DB) closeBolt() error {
	db.file.Lock()
	defer db.file.Unlock()
	b := db.bolt
	db.bolt = nil
	switch {
	case b != nil && !db.broken:
		return b.Close()
	case db.handle != nil:
		// The memory that it is mapped to would keep it locked.
		return errors.Join(unlock(db.handle), db.handle.Close())
	}
	return nil
}

// reopen closes the state file and opens it again.
func (db *DB) reopen() error {
	db.file.Lock()
	defer db.file.Unlock()
	db.bolt.Close() // what it says of its descriptor is of no more use
	b, err := db.openBolt()
	if err == nil {
		db.bolt = b
	}
	return err
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

// layout checks that a state file is one of this version's, and returns the key of
// its fingerprints. The error is a *VersionError or a *DamagedError.
func layout(meta *bbolt.Bucket, path string) (seed uint64, err error) {
	none := &DamagedError{path, errors.New("not the state of a crawl")}
	if meta == nil {
		return 0, none
	}
	version, key := meta.Get(keyVersion), meta.Get(keySeed)
	if len(version) != 8 || len(key) != 8 {
		return 0, none
	}
	if v := binary.BigEndian.Uint64(version); v != schemaVersion {
		return 0, &VersionError{path, v, schemaVersion}
	}
	return binary.BigEndian.Uint64(key), nil
}

// damaged tells errors that name their mend, and those of the file system,
// from the ones that mean that the state file is not in order.
func (db *DB) damaged(err error, panicked any) error {
	if panicked == nil && errors.Is(err, berrors.ErrDatabaseNotOpen) && db.closed.Load() {
		return ErrClosed
	}
	return damagedState(filepath.Join(db.dir, StateFile), err, panicked)
}

func damagedState(path string, err error, panicked any) error {
	if panicked != nil {
		err = fmt.Errorf("%v", panicked)
	}
	var theirs callersError
	if errors.As(err, &theirs) {
		return theirs.error
	}
	var inUse *InUseError
	var version *VersionError
	var already *DamagedError
	var errno syscall.Errno
	if err == nil || errors.As(err, &inUse) || errors.As(err, &version) || errors.As(err, &already) || errors.As(err, &errno) || DiskFull(err) {
		return err
	}
	return &DamagedError{path, err}
}

// A callersError is one of who is told of what is kept: it means nothing of the
// state file.
type callersError struct{ error }

// told is the end of a list that err, of the caller's, ends; nil if it does not.
func told(err error) error {
	if err == nil {
		return nil
	}
	return callersError{err}
}

// DiskFull reports whether an error says that there is no more room: on the disk,
// within the quota of the user, or within the size that a file may have. A commit
// that failed so is not on disk.
func DiskFull(err error) bool {
	return err != nil && (noRoom(err) || strings.Contains(err.Error(), "file resize error")) // bbolt does not wrap this one
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

// ReadRun says which process holds the crawl in dir, or held it when it was
// killed. The error is fs.ErrNotExist where none does.
func ReadRun(dir string) (*Run, error) {
	raw, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		return nil, err
	}
	run := new(Run)
	if err := json.Unmarshal(raw, run); err != nil {
		return nil, &DamagedError{filepath.Join(dir, RunFile), err}
	}
	return run, nil
}

func (db *DB) writeRun(r Run) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(db.dir, RunFile)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = db.disk.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
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

// Holder says which process holds the crawl in dir; ok is false if none does.
func Holder(dir string) (run *Run, ok bool) {
	f, err := os.Open(filepath.Join(dir, StateFile))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if !locked(f) {
		return nil, false
	}
	run, _ = ReadRun(dir)
	return run, true
}
