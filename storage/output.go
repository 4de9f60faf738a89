package storage

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// An output is a file that grows by whole records. What is appended is in
// memory until flush, and counts only once its length is committed.
type output struct {
	file *os.File

	mu     sync.Mutex
	buf    []byte
	dirty  bool  // something was appended since the last flush
	length int64 // of the file and buf
	err    error // of the first write that failed: nothing counts any more
}

// A namedOutput is one of which the state keeps the length, under its name.
type namedOutput struct {
	name string // in the directory of the crawl
	*output
}

// openOutput opens the file at path, made if need be, and cuts what was never
// committed.
func openOutput(path string, committed int64) (*output, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < committed {
		err = &DamagedError{path, fmt.Errorf("%d bytes long where %d were written", info.Size(), committed)}
	}
	if err == nil {
		err = f.Truncate(committed)
	}
	if err == nil {
		_, err = f.Seek(committed, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &output{file: f, length: committed}, nil
}

// maxBuffer is what may be in memory until a flush; more is written at once.
// It counts no sooner for that.
const maxBuffer = 1 << 20

// append adds a record and says where it stands.
func (o *output) append(record []byte) (at int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at = o.length
	o.buf = append(o.buf, record...)
	o.length += int64(len(record))
	o.dirty = true
	if len(o.buf) > maxBuffer {
		err = o.write()
	}
	return at, err
}

// size is how long the file is with what was appended.
func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.length
}

// write requires that mu is held.
func (o *output) write() error {
	if len(o.buf) == 0 || o.err != nil {
		return o.err
	}
	_, o.err = o.file.Write(o.buf)
	o.buf = o.buf[:0]
	if cap(o.buf) > 2*maxBuffer {
		o.buf = nil
	}
	return o.err
}

// flush writes what was appended, syncs it, and says how long the file is.
func (o *output) flush() (int64, error) {
	o.mu.Lock()
	length, dirty := o.length, o.dirty
	o.dirty = false
	err := o.write()
	o.mu.Unlock()
	if err != nil || !dirty {
		return length, err
	}
	return length, syncData(o.file)
}
