package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A place is where a record begins.
type place struct {
	path   string // of the WARC file
	offset int64
	length int64 // of the record as it is stored, in bytes; 0: not known
}

// An excerpt is a place with the bytes that stand there: who opens a record several times
// reads it from the disk once, if it is no long one.
type excerpt struct {
	place
	bytes []byte
}

// How much of an archive an excerpt has, in bytes: each visit that is under way may hold one.
const (
	maxExcerpt = 32 << 10
	behind     = 2 << 10 // a record of known length: for the request and the metadata of the same answer
)

// A placedRecord is a record that is read where it stands.
type placedRecord struct {
	*warc.Record
	excerpt
	reader *warc.Reader // nil once it was closed
	from   *placedBytes
}

var recordReaders = sync.Pool{New: func() any { return new(warc.Reader) }}

// openPlace reads what stands at a place, and opens the record there, which is to be of a
// URL.
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
	n, _ := file.ReadAt(e.bytes, at.offset) // what is wrong is told by who reads on there
	e.bytes = e.bytes[:n]
	return e.open(url)
}

// open reads the header of the record, which is to be of a URL. Who calls it closes the
// record.
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

// close is called once nothing of the record is read any more; a second time does nothing.
func (r *placedRecord) close() error {
	if r.reader == nil {
		return nil
	}
	r.reader.Reset(nil, 0)
	recordReaders.Put(r.reader)
	r.reader = nil
	return r.from.close()
}

// placedBytes reads a WARC file from a place on: first what is in memory, and then the
// file, which is opened only for that.
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

// OpenArchive opens a WARC file of a crawl, which may still be growing: then it has
// another name than its records are known by.
func OpenArchive(path string) (*os.File, error) {
	file, err := disk.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if open, also := disk.OpenRegular(path + openSuffix); also == nil {
			return open, nil
		}
	}
	return file, err
}
