package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A place is the position in a WARC file at which a record begins.
type place struct {
	path   string // path of the WARC file
	offset int64
	length int64 // length of the record as it is stored, in bytes; 0: not known
}

// An excerpt is a place and the first bytes at that place. So a short record that is opened
// several times is read from the disk only once.
type excerpt struct {
	place
	bytes []byte
}

// The limits of the bytes that an excerpt keeps in memory. Each running visit may keep one
// excerpt.
const (
	maxExcerpt = 32 << 10
	behind     = 2 << 10 // read after a record of known length, because the request and the metadata of the answer follow
)

// A placedRecord is a record that is open for reading at its place.
type placedRecord struct {
	*warc.Record
	excerpt
	reader *warc.Reader // the reader of the file; nil after close
	from   *placedBytes
}

var recordReaders = sync.Pool{New: func() any { return new(warc.Reader) }}

// openPlace opens the record at a place. It returns an error if this is not a record of url.
func openPlace(at place, url string) (*placedRecord, error) {
	e := excerpt{place: at}
	if at.length > maxExcerpt {
		return e.open(url)
	}
	file, err := OpenArchive(at.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size := int64(maxExcerpt)
	if at.length > 0 {
		size = min(size, at.length+behind)
	}
	e.bytes = make([]byte, size)
	n, _ := file.ReadAt(e.bytes, at.offset) // ignore the error, because placedBytes reads the rest and reports the error
	e.bytes = e.bytes[:n]
	return e.open(url)
}

// open reads the header of the record at e. It returns an error if this is not a record of url.
// The caller must close the result.
func (e excerpt) open(url string) (*placedRecord, error) {
	r := &placedRecord{excerpt: e, from: &placedBytes{place: e.place, rest: e.bytes}, reader: recordReaders.Get().(*warc.Reader)}
	r.reader.Reset(r.from, e.offset)
	var err error
	r.Record, err = r.reader.Next()
	switch {
	case err == io.EOF:
		err = &warc.Error{Offset: e.offset, Err: warc.ErrCut}
	case err != nil:
	case r.Header.Get(warc.FieldPurged) != "" && r.TargetURI() == "":
		err = fmt.Errorf("%w: %s", ErrPurged, url)
	case r.TargetURI() != url:
		err = &warc.Error{Offset: e.offset, Err: fmt.Errorf("the record is of %s, and the index says %s", r.TargetURI(), url)}
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	return r, nil
}

// close releases the record after reading. A second call does nothing.
func (r *placedRecord) close() error {
	if r.reader == nil {
		return nil
	}
	r.reader.Reset(nil, 0)
	recordReaders.Put(r.reader)
	r.reader = nil
	return r.from.close()
}

// placedBytes reads a WARC file from a place on: first the bytes in memory, then the file,
// which it opens only if needed.
type placedBytes struct {
	place
	rest []byte
	file *os.File
}

func (b *placedBytes) Read(p []byte) (n int, err error) {
	if len(b.rest) > 0 {
		n = copy(p, b.rest)
		b.rest = b.rest[n:]
		b.offset += int64(n)
		return n, nil
	}
	if b.file == nil {
		if b.file, err = OpenArchive(b.path); err != nil {
			return 0, err
		}
	}
	n, err = b.file.ReadAt(p, b.offset)
	b.offset += int64(n)
	return n, err
}

func (b *placedBytes) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// OpenArchive opens the WARC file of a crawl at path. If the file is still being written, its
// name has the suffix ".open"; OpenArchive opens it under that name.
func OpenArchive(path string) (*os.File, error) {
	file, err := disk.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if open, also := disk.OpenRegular(path + openSuffix); also == nil {
			return open, nil
		}
	}
	return file, err
}
