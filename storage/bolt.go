package storage

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

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
