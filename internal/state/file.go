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

// A file is state.db, opened by bbolt. If it is not known whether a commit is on disk, the file
// is opened again, because the memory of bbolt may then differ from the file.
type file struct {
	dir    string
	size   atomic.Int64 // bytes of the file after the last commit; the committer writes it, submitters read it
	closed atomic.Bool  // Close was called: readers get ErrClosed
	broken atomic.Bool  // a transaction that writes has panicked, so bbolt may hold its own lock forever
	step   int          // number of bytes by which the file grows at once; used by the committer only
	reads  bool         // the file is opened for reading only, so other processes may read it, too

	mu     sync.RWMutex // held for reading to use bolt, and for writing to replace it; taken before bbolt's own locks
	bolt   *bbolt.DB    // nil after close; only the committer replaces it, so the committer uses it without the lock
	handle *os.File     // the descriptor that bolt uses
}

func (f *file) path() string { return filepath.Join(f.dir, File) }

// open opens the file, for the first time or again.
func (f *file) open() (err error) {
	// Map a large range of addresses from the start, because a mapping can grow only after all
	// readers have ended.
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
	if errors.Is(err, syscall.ENOMEM) { // there is not enough address space
		opts.InitialMmapSize = 0
		b, err = openBolt(f.dir, opts)
	}
	if err != nil {
		return err
	}
	b.AllocSize = f.step // used until the first commit sets it again
	f.bolt = b
	return nil
}

// reopen closes the file and opens it again.
func (f *file) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bolt.Close() // ignore an error about the old descriptor
	return f.open()
}

// close closes the file. If f.broken is set, closing bbolt could block forever. Then close only
// closes the descriptor, so that other processes can open the file.
func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.bolt
	f.bolt = nil
	switch {
	case b != nil && !f.broken.Load():
		return b.Close()
	case f.handle != nil:
		// While the file is mapped, closing the descriptor does not release the lock, so unlock
		// it first.
		return errors.Join(unlock(f.handle), f.handle.Close())
	}
	return nil
}

// guarded calls do and returns its error. If do panics, guarded returns a *DamagedError,
// because a damaged page may make bbolt panic. An error of do that means damage also becomes a
// *DamagedError (see damaged). writes says that do may write to the file.
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

// view calls read in a read transaction. It returns ErrClosed after close.
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

// growth returns by how many bytes a file of the given size grows at once. Large steps need
// fewer syncs, and small steps keep the file of a small crawl small.
func growth(size int64) int {
	return int(min(max(size/8, minGrowth), maxGrowth))
}

const (
	minGrowth = 256 << 10
	maxGrowth = 64 << 20
)

// openBolt opens the state file of the crawl in dir. It fails with an *InUseError, a
// *DamagedError, or an error of the file system.
func openBolt(dir string, opts *bbolt.Options) (*bbolt.DB, error) {
	path := filepath.Join(dir, File)
	b, err := bbolt.Open(path, 0o644, opts)
	if errors.Is(err, berrors.ErrTimeout) {
		run, _ := ReadRun(dir)
		return nil, &InUseError{dir, run}
	}
	return b, damaged(path, err, nil)
}

// openChecked opens a state file that may be damaged: it checks all pages before bbolt
// reads them.
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

// checkBuckets returns the seed of the fingerprints. It returns a *VersionError if this version
// cannot read the layout of the file, and a *DamagedError if a bucket is missing.
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
	// Check the layout before the buckets, because another layout has other buckets.
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

// layout returns the seed of the fingerprints. It returns a *VersionError if this version
// cannot read the layout of the file, and a *DamagedError if meta is not the bucket of a crawl.
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
