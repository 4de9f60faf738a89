package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// An output is a file to which a run appends whole records. Appended records stay in memory
// until flush. After a crash, records that the committed mark does not cover are discarded.
type output struct {
	file *os.File
	disk disk.Disk

	// mu guards the fields below and the writes to the end of the file. append takes mu for
	// visits, flush takes it for the committer. mu is not held during a sync.
	mu    sync.Mutex
	buf   []byte         // bytes that were appended, and are not yet written to the file
	dirty bool           // something was appended since the last flush
	now   state.Mark     // the mark of the file and buf together, without the SHA-256
	sha   *digest.Digest // the SHA-256 of the same bytes; nil if it is not known
	err   error          // the error of the first write that failed; later writes return it again
}

// A namedOutput is an output and the name under which the state stores the mark of its file.
type namedOutput struct {
	name string // the path in the directory of the crawl, with slashes
	*output
}

// openOutput opens the file at path and truncates it to the committed length. If the file is
// missing, openOutput creates it if the committed length is 0, and otherwise returns a
// *DamagedError.
func openOutput(path string, committed state.Mark, d disk.Disk) (*output, error) {
	flags, length := os.O_RDWR|os.O_CREATE, committed.Length
	if length > 0 {
		flags = os.O_RDWR // a missing file must not be replaced by an empty one
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) && length > 0 {
		return nil, &DamagedError{Path: path, Err: fmt.Errorf("it is missing; %d bytes of it were written", length)}
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

// cutTail truncates the file at path to length. It does nothing if the file is missing or
// shorter, because Verify reports this.
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

// maxBuffer is the largest number of bytes that an output keeps in memory. If a record does not
// fit, what is in memory is written to the file before the next flush. The records that are
// written early are still committed only after that flush.
const maxBuffer = 1 << 20

// append adds a record, which is the concatenation of parts, and returns its offset in bytes.
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
		} else if o.err == nil { // write parts directly, because a copy of a large record would need as much memory again
			_, o.err = o.file.Write(p)
			err = o.err
		}
	}
	return at, err
}

// mark returns the mark that the file will have when buf is written.
func (o *output) mark() state.Mark {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now
	now.SHA256 = o.sha.State()
	return now
}

// length returns the length that the file will have when buf is written, in bytes.
func (o *output) length() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now.Length
}

// write writes buf to the file. The caller holds o.mu.
func (o *output) write() error {
	if len(o.buf) == 0 || o.err != nil {
		return o.err
	}
	_, o.err = o.file.Write(o.buf)
	o.buf = o.buf[:0]
	return o.err
}

// flush writes all appended records to the file, and syncs it.
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
