package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A file is state.db, opened by bbolt. It is replaced after a commit of which it is
// not known whether it is on disk: bbolt's memory of it says nothing then.
type file struct {
	dir    string
	size   atomic.Int64 // bytes, as of the last commit: the committer writes it, submitters read it
	closed atomic.Bool  // Close was called: who reads still, and finds nothing, is told so
	broken atomic.Bool  // a transaction that writes has panicked: bbolt may hold its own lock for ever
	step   int          // by which it grows when it must; the committer's
	reads  bool         // it is not written to, and others may read it meanwhile

	mu     sync.RWMutex // held to use bolt, and to replace it. bbolt's own locks come after it
	bolt   *bbolt.DB    // replaced by the committer alone, which needs no lock to use it; nil once it is closed
	handle *os.File     // of bolt
}

func (f *file) path() string { return filepath.Join(f.dir, File) }

// open opens the file, for the first time or again.
func (f *file) open() (err error) {
	// To map more waits for all readers.
	opts := &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapAhead()}
	if f.reads {
		opts = &bbolt.Options{Timeout: 100 * time.Millisecond, ReadOnly: true}
	}
	opts.OpenFile = func(name string, flags int, mode os.FileMode) (h *os.File, err error) {
		h, err = os.OpenFile(name, flags, mode)
		f.handle = h
		return h, err
	}
	b, err := openBolt(f.dir, opts)
	if errors.Is(err, syscall.ENOMEM) { // no room for addresses
		opts.InitialMmapSize = 0
		b, err = openBolt(f.dir, opts)
	}
	if err != nil {
		return err
	}
	b.AllocSize = f.step // the first growth, too
	f.bolt = b
	return nil
}

// reopen closes the file and opens it again.
func (f *file) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bolt.Close() // what it says of its descriptor is of no more use
	return f.open()
}

// close closes the file. Where bbolt may hold its own lock, for which it would wait
// for ever, only the descriptor is closed, and other processes are let in.
func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.bolt
	f.bolt = nil
	switch {
	case b != nil && !f.broken.Load():
		return b.Close()
	case f.handle != nil:
		// The memory that it is mapped to would keep it locked.
		return errors.Join(unlock(f.handle), f.handle.Close())
	}
	return nil
}

// guarded calls f, and tells what it returns or panics with as an error of the
// file, where it is one: a page that is not what bbolt wrote may make it panic.
func (f *file) guarded(writes bool, do func() error) (err error) {
	defer func() {
		panicked := recover()
		if writes && panicked != nil {
			f.broken.Store(true)
		}
		if panicked == nil && errors.Is(err, berrors.ErrDatabaseNotOpen) && f.closed.Load() {
			err = ErrClosed
			return
		}
		err = damaged(f.path(), err, panicked)
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return do()
}

// view reads.
func (f *file) view(read func(*bbolt.Tx) error) error {
	return f.guarded(false, func() error {
		f.mu.RLock()
		defer f.mu.RUnlock()
		if f.bolt == nil {
			return ErrClosed
		}
		return f.bolt.View(read)
	})
}

// growth is by how much the file grows when it must: a step costs a sync, but
// nobody wants a small crawl to look large.
func growth(size int64) int {
	return int(min(max(size/8, minGrowth), maxGrowth))
}

const (
	minGrowth = 256 << 10
	maxGrowth = 64 << 20
)

// openBolt opens the state file of the crawl in dir. The error is an *InUseError, a
// *DamagedError, or one of the file system.
func openBolt(dir string, opts *bbolt.Options) (*bbolt.DB, error) {
	path := filepath.Join(dir, File)
	b, err := bbolt.Open(path, 0o644, opts)
	if errors.Is(err, berrors.ErrTimeout) {
		run, _ := ReadRun(dir)
		return nil, &InUseError{dir, run}
	}
	return b, damaged(path, err, nil)
}

// openChecked opens a state file that may be damaged: all of its pages are looked at
// before bbolt does.
func openChecked(dir string, readOnly bool) (*bbolt.DB, error) {
	path := filepath.Join(dir, File)
	if err := preflight(path); err != nil {
		return nil, damaged(path, err, nil)
	}
	if held, ok := Holder(dir); ok {
		return nil, &InUseError{dir, held}
	}
	if err := checkTree(path); err != nil {
		return nil, damaged(path, err, nil)
	}
	return openBolt(dir, &bbolt.Options{ReadOnly: readOnly, Timeout: time.Second, PreLoadFreelist: true})
}

var errNoState = errors.New("not the state of a crawl")

// checkBuckets checks that this version reads the layout of a state file, and that no bucket
// is missing. It returns the key of the fingerprints. The error is a *VersionError or a
// *DamagedError.
func checkBuckets(tx *bbolt.Tx, path string) (seed uint64, err error) {
	var missing []byte
	found := false
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			missing = name
		} else {
			found = true
		}
	}
	// Another layout has other buckets.
	if meta := tx.Bucket(bucketMeta); meta != nil || !found {
		if seed, err = layout(meta, path); err != nil {
			return 0, err
		}
	}
	if missing != nil {
		return 0, &DamagedError{path, fmt.Errorf("its bucket %q is missing", missing)}
	}
	return seed, nil
}

// layout checks that this version reads the layout of a state file, and returns the key of
// its fingerprints. The error is a *VersionError or a *DamagedError.
func layout(meta *bbolt.Bucket, path string) (seed uint64, err error) {
	none := &DamagedError{path, errNoState}
	if meta == nil {
		return 0, none
	}
	version, key := meta.Get(keyVersion), meta.Get(keySeed)
	if len(version) != 8 || len(key) != 8 {
		return 0, none
	}
	if v := binary.BigEndian.Uint64(version); v < oldestLayout || v > schemaVersion {
		return 0, &VersionError{path, v, schemaVersion}
	}
	return binary.BigEndian.Uint64(key), nil
}
