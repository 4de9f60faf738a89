package store

import (
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// File names in a crawl's directory.
const (
	StateFile = state.File
	RunFile   = state.RunFile
	LogFile   = "crawl.log"
	PagesFile = "pages.jsonl"
	LinksFile = "links.jsonl"
)

// Options of a DB. The zero value is what most callers want.
type Options struct {
	NoPages bool          // write no pages.jsonl
	Links   bool          // write links.jsonl
	Archive *Archive      // how to write WARC files; nil: write no WARC files
	Gather  time.Duration // how long a commit waits for more work; 0: 20 ms, negative: not at all
	Bounds  Bounds        // how much may wait for a commit

	// SyncDelay is a pause that is added to each sync of the state file, to measure the effect
	// of a slower disk.
	SyncDelay time.Duration

	// State keeps the state of the crawl elsewhere than in StateFile: in a database, for a crawl on
	// several machines. Package storage/postgres implements it. nil: in StateFile.
	State  State
	Logger *slog.Logger // for messages about a database that does not answer; nil: they are dropped

	// Admit decides whether the crawl is opened. It is called with the values of the crawl,
	// after Open has checked everything and before Open writes anything. If Admit returns an
	// error, Open returns that error and has changed nothing. If Admit is nil, every crawl is
	// opened.
	Admit func(Values) error

	asIs   bool // write only the outputs that earlier runs have written
	disk   disk.Disk
	limits *state.Limits     // nil: the defaults; for tests
	fault  func(error) error // replaces the error of a commit, in tests; nil: unchanged
}

// Bounds limit how much may wait for a commit. When a bound is reached, a call that submits
// something waits. 0 means a default that is large enough for full speed. With smaller bounds a
// crawl needs less memory and more time.
type Bounds struct {
	Queue int // number of operations: completions, snapshots, payloads and values
	Links int // number of links in the operations that wait
	Bytes int // size of the completions in the operations that wait, in bytes
}

// A State opens the states of crawls that are not in a file of the directory of the crawl.
// Package storage/postgres implements it; other packages cannot.
type State = state.Opener

// A DB is the directory of one crawl. No other process can open it until Close. Its methods
// are safe for concurrent use. It implements frontier.Backlog and fetch.Snapshots.
type DB struct {
	Records

	// Locks are taken in this order; a goroutine need not take all of them:
	//
	//	large    held while one large page is encoded as a line and appended
	//	         (here come the locks of the state.Store)
	//	moment   in outputs: held to append to the files, and to read the marks of all files
	//
	// The locks of an output and of the log come last. A goroutine that holds moment must not
	// put anything into the state. It might have to wait there for the committer, and the
	// committer takes moment.

	state   state.Store
	outputs *outputs
	large   sync.Mutex
	tagged  atomic.Bool // PutTag has stored a tag, in this run or in an earlier one
}

// Open opens the crawl in dir, or creates it. It returns an *InUseError, a *DamagedError, a
// *VersionError, a *PurgeError, a *RepairError, the error of Options.Admit, or an error of the
// file system.
func Open(dir string, opts Options) (*DB, error) {
	if err := notRepairing(dir); err != nil {
		return nil, err
	}
	st, asked, err := opts.open(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(notPurging(dir), notRepairing(dir)); err != nil { // check again, because a purge or a repair may have begun before the state was locked
		return nil, errors.Join(err, st.Abandon())
	}
	db := &DB{Records: Records{dir: dir, from: st}, state: st, outputs: &outputs{dir: dir, disk: opts.disk, state: st}}
	if n, ok := st.(interface{ Node() string }); ok {
		db.outputs.node = n.Node() // the WARC files of all nodes are collected in one directory, so their names need the node
	}
	if err := db.begin(&opts, asked); err != nil {
		return nil, errors.Join(err, db.outputs.closeLines(), st.Abandon())
	}
	return db, nil
}

// open opens the state of the crawl in dir. asked reports whether open has already called
// o.Admit.
func (o *Options) open(dir string) (st state.Store, asked bool, err error) {
	opts := state.Options{
		Gather: o.Gather, Bounds: state.Bounds(o.Bounds), SyncDelay: o.SyncDelay, Disk: o.disk, Logger: o.Logger,
		Limits: o.limits, Fault: o.fault,
		New: func() error { return remains(dir) },
	}
	if o.State != nil {
		st, err = o.State.OpenStore(dir, opts)
		return st, false, err
	}
	if err := orphaned(dir); err != nil {
		return nil, false, err
	}
	if !begun(dir) {
		if err := o.admit(noValues{}); err != nil {
			return nil, true, err
		}
		asked = true
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, true, err
		}
		if err := state.StartAgain(dir); err != nil {
			return nil, true, err
		}
	}
	db, err := state.Open(dir, opts)
	if err != nil {
		return nil, asked, err
	}
	return db, asked, nil
}

// begin truncates the files to the lengths in their marks, and starts the state. It checks
// everything before it writes anything. asked says whether Options.Admit was already called.
func (db *DB) begin(opts *Options, asked bool) error {
	tagged, err := db.hasTags()
	if err != nil {
		return err
	}
	db.tagged.Store(tagged)
	begun := db.state.Begun()
	known := db.state.Marks()
	if opts.asIs {
		opts.takeOver(known)
	} else {
		known.Expect(PagesFile, !opts.NoPages, begun.First)
		known.Expect(LinksFile, opts.Links, begun.First)
	}
	forgotten := forgottenBy(db.state)
	if err := checkFiles(db.dir, withoutForgotten(db.dir, known, forgotten), opts, begun.Unclean); err != nil {
		return err
	}
	if !asked {
		if err := opts.admit(db.state); err != nil {
			return err
		}
	}
	if forgotten != nil {
		if err := putAside(db.dir, known, forgotten, opts.disk); err != nil {
			return err
		}
	}
	if err := recoverArchive(db.dir, known, opts.disk); err != nil {
		return err
	}
	db.outputs.made = begun.Index
	if opts.Archive != nil {
		if err := db.outputs.recoverIndex(known); err != nil {
			return err
		}
	}
	if err := db.outputs.open(opts, known, begun.Unclean); err != nil {
		return err
	}
	growing, finished := split(known)
	return db.state.Begin(db.outputs, growing, finished)
}

// Values reads the values that a crawl stores about itself. A DB and a Reader are Values.
type Values interface {
	// Get reads into value what DB.Put has stored under key. If nothing is stored under key,
	// ok is false.
	Get(key string, value any) (ok bool, err error)
	// Keys iterates over the keys that begin with prefix and under which DB.Put has stored a
	// value. It yields the part of each key after prefix. If the keys cannot be read, the last
	// pair has the error, and "". The body of the loop may call Get.
	Keys(prefix string) iter.Seq2[string, error]
}

// noValues implements Values for a crawl that has not begun, which has no values.
type noValues struct{}

func (noValues) Get(string, any) (bool, error)        { return false, nil }
func (noValues) Keys(string) iter.Seq2[string, error] { return func(func(string, error) bool) {} }

func (o *Options) admit(was Values) error {
	if o.Admit == nil {
		return nil
	}
	return o.Admit(was)
}

// takeOver sets o so that the run writes the outputs that already exist, which have a mark in
// known.
func (o *Options) takeOver(known state.Marks) {
	o.NoPages, o.Links = known[PagesFile].Length == 0, known[LinksFile].Length > 0
	if known[indexPart].Length > 0 || known[indexPart].Lost {
		o.Archive = &Archive{}
	}
}

// Restarted returns when the crawl was last opened after a run that did not close it, or the
// zero time if every run has closed it.
func (db *DB) Restarted() time.Time { return db.state.Begun().Restarted }

// Log returns the crawl's log of requests. If a line is written before a completion is
// submitted, the line is on disk before the completion is acknowledged. DB.Close closes the
// log.
func (db *DB) Log() *crawllog.Writer { return db.outputs.log }

// LostLog returns how many committed bytes of the log are missing because another program
// has removed or truncated the file since the last commit.
func (db *DB) LostLog() int64 { return db.outputs.lostLog }

// Cluster returns the interface through which a crawler shares the crawl with other nodes. It
// returns nil if the crawl has only this process.
func (db *DB) Cluster() state.Cluster {
	c, _ := db.state.(state.Cluster)
	return c
}

// Hasten tells the DB that the run is ending: calls that submit something no longer wait, and
// the next commit, or Close, stores what was submitted. After Hasten the Bounds are not
// applied, so only the callers limit how much is in memory.
func (db *DB) Hasten() { db.state.Hasten() }

// Close commits what was submitted and releases the directory. A second call returns
// ErrClosed.
func (db *DB) Close() error { return db.state.Close() }

// begun reports whether a run has begun the crawl in dir, or another process holds it. The
// result is false if the state file is missing, was not written completely, or has no bucket of
// bbolt yet: a run was then killed, or found the disk full, before its first request. But if
// outputs are there without a usable state file, the result is true: these outputs belong to a
// state file that was lost, and Open reports the damage.
func begun(dir string) bool {
	if _, held := state.Holder(dir); held {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, StateFile))
	return !errors.Is(err, fs.ErrNotExist) && !state.Empty(dir) || Remains(dir) != ""
}

// NotBegun returns a *NotBegunError if a run has made the state file in dir but has not begun
// the crawl. It returns nil otherwise, also if there is no state file.
func NotBegun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, StateFile)); err != nil || begun(dir) {
		return nil
	}
	return &NotBegunError{Dir: dir}
}

// orphaned returns a *DamagedError if dir has outputs but no state file, or an empty one. A
// new crawl must not be created there, because it would truncate these outputs to length 0. If the
// outputs are those of a node, nothing is damaged, and the error matches ErrNoCrawl.
func orphaned(dir string) error {
	if info, err := os.Stat(filepath.Join(dir, StateFile)); err == nil && info.Size() > 0 {
		return nil
	}
	return remains(dir)
}

func remains(dir string) error {
	path := Remains(dir)
	if path == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, state.NodeFile)); err == nil {
		return noCrawl(dir, "it has the outputs of one node of a crawl on several machines, whose state is in a database: use that state, or the directory that crawl collect makes of all nodes")
	}
	return &DamagedError{Path: path, Err: errors.New("it is a part of a crawl, but " + StateFile + " beside it is missing or empty")}
}

// Remains returns the path of a non-empty output of a crawl in dir, or "" if dir has no such
// output.
func Remains(dir string) string {
	// dir may contain characters that have a meaning in a pattern.
	names, _ := fs.Glob(os.DirFS(dir), ArchiveDir+"/*"+archiveFile+"*")
	for _, name := range append(names, PagesFile, LinksFile, indexPart, LogFile) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return path
		}
	}
	return ""
}
