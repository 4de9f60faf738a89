package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// Names of the files of a crawl's directory.
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
	Archive *Archive      // write WARC files; nil: none
	Gather  time.Duration // how long a group waits for more; 0: 20 ms, negative: not at all
	Bounds  Bounds        // what may wait for a commit

	// SyncDelay is added to each sync of the state file, for measuring what a
	// slower disk would do.
	SyncDelay time.Duration

	// Admit is called with what the crawl keeps about itself, once it is known that it can be
	// opened and before anything is written. An error refuses that: Open returns it, and
	// has changed nothing. nil: any crawl is opened.
	Admit func(Values) error

	Seed uint64 // of the fingerprints of a new crawl; 0: a random one. Files that are to be the same have the same
	Log  Log    // is told of each group of what was put before it is committed; nil: nobody is

	asIs   bool // write what earlier runs have written, and nothing else
	disk   disk.Disk
	limits *state.Limits     // nil: usual; for tests
	fault  func(error) error // what becomes of the error of a commit, in tests; nil: nothing
}

// A Log is told of each group of what was put before it is committed. It keeps groups
// elsewhere: DB.Apply brings the state of another directory to the same. Only one
// goroutine calls it, so its calls follow each other.
type Log interface {
	// Append adds a group behind the one at position after, 0 for the first, and
	// returns its own position, which is larger. The group is committed together with
	// that position. An error refuses it: nothing of it is committed, nothing can be
	// committed any more, and everybody is told the error. Group must not be kept.
	Append(after uint64, group []byte) (position uint64, err error)
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
//	         (those of the state, in package state)
//	moment   of outputs: held to append, and to note how long all files are
//
// The locks of one output and of the log come last. Nobody who puts something into
// the state holds moment: he may have to wait for the committer, which takes it.
type DB struct {
	dir     string
	state   *state.DB
	outputs *outputs
	large   sync.Mutex
}

// Open opens the crawl in dir, or makes it. The error is an *InUseError, a
// *DamagedError, a *VersionError, a *PurgeError, or one of the file system.
func Open(dir string, opts Options) (*DB, error) {
	if err := notRepairing(dir); err != nil {
		return nil, err
	}
	if err := orphaned(dir); err != nil {
		return nil, err
	}
	asked := false
	if !begun(dir) {
		if err := opts.admit(noValues{}); err != nil {
			return nil, err
		}
		asked = true
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := state.StartAgain(dir); err != nil {
			return nil, err
		}
	}
	st, err := state.Open(dir, state.Options{
		Gather: opts.Gather, Bounds: state.Bounds(opts.Bounds), SyncDelay: opts.SyncDelay, Disk: opts.disk,
		Seed: opts.Seed, Log: opts.Log, Limits: opts.limits, Fault: opts.fault,
		New: func() error { return remains(dir) },
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(notPurging(dir), notRepairing(dir)); err != nil { // it may have begun meanwhile
		return nil, errors.Join(err, st.Abandon())
	}
	db := &DB{dir: dir, state: st, outputs: &outputs{dir: dir, disk: opts.disk, state: st}}
	if err := db.begin(&opts, asked); err != nil {
		return nil, errors.Join(err, db.outputs.closeLines(), st.Abandon())
	}
	return db, nil
}

// begin makes the files what the state says of them, and lets it go on. Nothing is written
// before all is checked. asked says that Options.Admit was called.
func (db *DB) begin(opts *Options, asked bool) error {
	begun := db.state.Begun()
	known := db.state.Marks()
	if opts.asIs {
		opts.takeOver(known)
	} else {
		known.Expect(PagesFile, !opts.NoPages, begun.First)
		known.Expect(LinksFile, opts.Links, begun.First)
	}
	if err := checkFiles(db.dir, known, opts, begun.Unclean); err != nil {
		return err
	}
	if !asked {
		if err := opts.admit(db.state); err != nil {
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

// Values are what a crawl keeps about itself: those of a DB, or of a Reader.
type Values interface {
	// Get reads what was Put. It reports whether there is anything.
	Get(key string, value any) (ok bool, err error)
	// Each calls f with the rest of every key that begins with prefix and that was Put,
	// until f returns an error: that is returned.
	Each(prefix string, f func(rest string) error) error
}

// noValues are those of a crawl that has not begun.
type noValues struct{}

func (noValues) Get(string, any) (bool, error)              { return false, nil }
func (noValues) Each(string, func(rest string) error) error { return nil }

func (o *Options) admit(was Values) error {
	if o.Admit == nil {
		return nil
	}
	return o.Admit(was)
}

// takeOver asks for the outputs that there are.
func (o *Options) takeOver(known state.Marks) {
	o.NoPages, o.Links = known[PagesFile].Length == 0, known[LinksFile].Length > 0
	if known[indexPart].Length > 0 || known[indexPart].Lost {
		o.Archive = &Archive{}
	}
}

// Unclean reports whether the last process that held the crawl did not end by
// itself.
func (db *DB) Unclean() bool { return db.state.Begun().Unclean }

// Restarted is when the crawl was last opened after an unclean end; zero if it
// never was.
func (db *DB) Restarted() time.Time { return db.state.Begun().Restarted }

// LastCommit is when the crawl was last committed before it was opened, by the
// clock of then: that ran ahead, if it is later than now.
func (db *DB) LastCommit() time.Time { return db.state.Begun().Committed }

// Dir is the directory of the crawl.
func (db *DB) Dir() string { return db.dir }

// Log is the crawl's log of requests. What was written to it is on disk before a
// completion that is submitted later is acknowledged. Close closes it.
func (db *DB) Log() *crawllog.Writer { return db.outputs.log }

// LostLog is how many bytes of the log were on disk when the crawl was last
// committed and are gone since: somebody has removed or cut it.
func (db *DB) LostLog() int64 { return db.outputs.lostLog }

// Hasten says that the run ends: from now on nobody waits for room. Who has
// something in hand gives it and can go; the next commit, or Close, takes it. What
// is in memory then has no bound but what those who call have in hand.
func (db *DB) Hasten() { db.state.Hasten() }

// Close commits what is left and releases the directory. A second Close returns
// ErrClosed.
func (db *DB) Close() error { return db.state.Close() }

// begun reports whether a run has begun the crawl in dir, or another process holds it. It is
// false where the state file is missing, was not written whole, or has no bucket: a run was
// killed, or found the disk full, before it began, and nothing was asked of any site. Where
// outputs lie beside such a file, it was another one: that is damage.
func begun(dir string) bool {
	if _, held := state.Holder(dir); held {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, StateFile))
	return !errors.Is(err, fs.ErrNotExist) && !state.Empty(dir) || Remains(dir) != ""
}

// NotBegun returns a *NotBegunError if a run has made the state file in dir and has not begun
// the crawl, and nil otherwise, also where there is no such file.
func NotBegun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, StateFile)); err != nil || begun(dir) {
		return nil
	}
	return &NotBegunError{Dir: dir}
}

// orphaned refuses to make a new crawl beside the outputs of an old one, or of
// somebody else: they would be cut to what the new one has written, to nothing.
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
	return &DamagedError{Path: path, Err: errors.New("it is a part of a crawl, but " + StateFile + " beside it is missing or empty")}
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
