package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/permesso-crawler/permesso/storage/internal/digest"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// An output is a file that grows by whole records. What is appended is in
// memory until flush, and counts only once its mark is committed.
type output struct {
	file *os.File
	disk disk.Disk

	// mu guards what follows, and the end of the file: append writes them, of any
	// visit, and the committer in flush. What is in buf or behind the committed mark
	// is lost at a crash, so nobody is told that it is there before the commit. The
	// sync is done without mu.
	mu    sync.Mutex
	buf   []byte
	dirty bool           // something was appended since the last flush
	now   state.Mark     // of the file and buf, without its SHA-256
	sha   *digest.Digest // that; nil if it is not known
	err   error          // of the first write that failed: every later one fails with it
}

// A namedOutput is one of which the state keeps the mark, under its name.
type namedOutput struct {
	name string // in the directory of the crawl
	*output
}

// openOutput opens the file at path, made if need be, and cuts what was never
// committed.
func openOutput(path string, committed state.Mark, d disk.Disk) (*output, error) {
	flags, length := os.O_RDWR|os.O_CREATE, committed.Length
	if length > 0 {
		flags = os.O_RDWR // what is missing is not made up for by an empty file
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) && length > 0 {
		return nil, &DamagedError{Path: path, Err: fmt.Errorf("it is missing, of which %d bytes were written", length)}
	}
	if err != nil {
		return nil, err
	}
	err = checkOutput(path, committed, true)
	if err == nil {
		err = f.Truncate(length)
	}
	if err == nil {
		_, err = f.Seek(length, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &output{file: f, disk: d, now: committed, sha: digest.Resume(committed.SHA256, length)}, nil
}

// cutTail cuts the file at path to length. One that is missing or shorter is left
// for Verify to name.
func cutTail(path string, length int64, d disk.Disk) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= length {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(length), d.Sync(f), f.Close())
}

// maxBuffer is what may be in memory until a flush. What is more is written
// early, and committed no earlier.
const maxBuffer = 1 << 20

// append adds a record, of which parts are the text, and says where it stands.
func (o *output) append(parts ...[]byte) (at int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at = o.now.Length
	size := 0
	for _, p := range parts {
		o.now = o.now.Plus(p)
		o.sha.Write(p)
		size += len(p)
	}
	o.dirty = true
	if len(o.buf)+size > maxBuffer {
		err = o.write()
	}
	for _, p := range parts {
		if size <= maxBuffer {
			o.buf = append(o.buf, p...)
		} else if o.err == nil { // as it is: a copy would be as large
			_, o.err = o.file.Write(p)
			err = o.err
		}
	}
	return at, err
}

// mark is that of the file with what was appended.
func (o *output) mark() state.Mark {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now
	now.SHA256 = o.sha.State()
	return now
}

// length is how long the file is with what was appended.
func (o *output) length() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now.Length
}

// write requires that mu is held.
func (o *output) write() error {
	if len(o.buf) == 0 || o.err != nil {
		return o.err
	}
	_, o.err = o.file.Write(o.buf)
	o.buf = o.buf[:0]
	return o.err
}

// flush writes what was appended, and syncs it.
func (o *output) flush() error {
	o.mu.Lock()
	dirty := o.dirty
	o.dirty = false
	err := o.write()
	o.mu.Unlock()
	if err != nil || !dirty {
		return err
	}
	return o.disk.SyncData(o.file)
}
