// Package warcscan reads the records of a WARC file with all processors.
//
// The file is divided into segments at places where a record seems to begin. Each segment is
// read by itself. The result is used only if a record really begins there, because the segment
// before has ended exactly there, and if the segment has no damage. Otherwise the records are
// read again one after the other, up to the beginning of a segment. So the result is the same
// as without segments, even if the file is damaged, or was made to mislead the search for
// records.
package warcscan

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/permesso-crawler/permesso/internal/inorder"
	"github.com/permesso-crawler/permesso/storage/warc"
)

const (
	segmentSize = 256 << 10 // length of a segment, in bytes
	batchSize   = 1 << 20   // size in bytes at which a batch is full, if records are read one after the other
	memory      = 24 << 20  // memory of all batches together, in bytes
)

// A Scan says what to do with the records of a file. B is a batch: the results for some
// consecutive records.
type Scan[B any] struct {
	New  func() B                               // returns an empty batch
	Work func(batch B, rec *warc.Record) error  // adds a record to a batch; called by several goroutines
	Size func(batch B) int                      // returns the memory of a batch, in bytes
	Use  func(batch B) error                    // called for each batch, in the order of the file
	Bad  func(in *warc.Reader, err error) error // called if a record cannot be read, or if Work has failed; it must skip the record
	Mark io.Writer                              // gets the bytes of the file in their order; nil: no writer
	Read func(bytes int64)                      // called with the number of bytes that were read since the last call; nil: not called

	// Alone is called for each record instead of New, Work and Use when records are read one
	// after the other. If it is nil, these functions are called.
	Alone func(rec *warc.Record) error

	Workers int   // number of goroutines, as in inorder.Limits
	Segment int64 // length of a segment in bytes; 0: 256 KiB
	batch   int   // size of a batch in bytes, in tests; 0: batchSize
}

// A segment is a part of a file, with the results of a worker for it.
type segment[B any] struct {
	from, to int64
	whole    bool // a record begins at from and another one at to, and there is no damage in between
	batch    B
}

// A scanner is the state of reading one file.
type scanner[B any] struct {
	*Scan[B]
	ctx    context.Context
	file   io.ReaderAt
	length int64

	in    *warc.Reader // reads records one after the other; nil: the next record begins where the next segment begins
	held  *warc.Record // the record that in has returned last, if it is not used yet; nil: it is used
	read  int64        // number of bytes that were passed to Read
	ended bool         // the end of the file was reached
	// apart says that segments must not be used: in an ARC file, a reader that has seen its
	// first record looks for other records after damage.
	apart atomic.Bool
}

// File reads the first length bytes of a file. The goroutine that has called File calls Use and
// Bad, so that each record comes once, in the order of the file. If a record cannot be read,
// the batch before it is used first. File returns the first error of Use or Bad, or the error
// of ctx.
func (s *Scan[B]) File(ctx context.Context, file io.ReaderAt, length int64) error {
	c := &scanner[B]{Scan: s, ctx: ctx, file: file, length: length}
	limits := inorder.Limits{Workers: s.Workers, Memory: memory}
	if length <= 2*c.segmentSize() || limits.Alone() {
		in := io.Reader(io.NewSectionReader(file, 0, length))
		if s.Mark != nil {
			in = io.TeeReader(in, s.Mark)
		}
		c.in = warc.NewReader(in)
		return c.records(length)
	}
	return inorder.Each(limits, c.cut, c.work, c.use)
}

func (c *scanner[B]) segmentSize() int64 {
	if c.Segment > 0 {
		return c.Segment
	}
	return segmentSize
}

func (c *scanner[B]) batchSize() int {
	if c.batch > 0 {
		return c.batch
	}
	return batchSize
}

// cut divides the file into segments. If the file cannot be read, the rest is one segment,
// whose reader gets the same error.
func (c *scanner[B]) cut(put func(segment[B], int64) bool) error {
	begin := finder{file: c.file, length: c.length}
	marked := int64(0)
	for from := int64(0); from < c.length; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		to := c.length
		if next := from + c.segmentSize(); next < c.length && !c.apart.Load() {
			to = begin.after(next)
		}
		if c.Mark != nil && marked == from {
			n, _ := io.Copy(c.Mark, io.NewSectionReader(c.file, from, to-from))
			marked += n
		}
		if !put(segment[B]{from: from, to: to}, int64(c.batchSize())) {
			return nil
		}
		from = to
	}
	return nil
}

var readers = sync.Pool{New: func() any { return new(warc.Reader) }}

// work reads a segment and sets its results.
func (c *scanner[B]) work(s segment[B]) segment[B] {
	if c.apart.Load() {
		return s
	}
	in := readers.Get().(*warc.Reader)
	defer func() {
		in.Reset(nil, 0)
		readers.Put(in)
	}()
	in.Reset(io.NewSectionReader(c.file, s.from, s.to-s.from), s.from)
	batch := c.New()
	for c.ctx.Err() == nil {
		rec, err := in.Next()
		if err == io.EOF {
			s.whole, s.batch = true, batch
			return s
		}
		if err != nil || isARC(rec) || c.Work(batch, rec) != nil || c.Size(batch) > c.batchSize() {
			return s
		}
	}
	return s
}

func isARC(rec *warc.Record) bool { return strings.HasPrefix(rec.Version, "ARC") }

// use uses the batch of a segment. If the segment cannot be used, it reads the segment's
// records one after the other.
func (c *scanner[B]) use(s segment[B]) error {
	if err := c.ctx.Err(); err != nil || c.ended {
		return err
	}
	if c.in == nil && s.whole {
		c.passed(s.to)
		return c.Use(s.batch)
	}
	if c.in == nil {
		c.in = new(warc.Reader)
		c.in.Reset(io.NewSectionReader(c.file, s.from, c.length-s.from), s.from)
	}
	return c.records(s.to)
}

// records reads records one after the other, up to the first record that begins at the offset
// to or later. If it begins exactly there, the next segment can be used.
func (c *scanner[B]) records(to int64) error {
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		rec, err, fatal := c.held, error(nil), error(nil)
		if c.held = nil; rec == nil {
			rec, err = c.in.Next()
		}
		if err == io.EOF {
			c.ended = true
			c.passed(c.length)
			return nil
		}
		if err == nil {
			c.passed(rec.Offset)
			if isARC(rec) {
				c.apart.Store(true)
			}
			if rec.Offset == to && !c.apart.Load() {
				c.in = nil
				return nil
			}
			if rec.Offset >= to {
				c.held = rec
				return nil
			}
			if err, fatal = c.record(rec); fatal != nil {
				return fatal
			}
		}
		if err != nil {
			if err := c.Bad(c.in, err); err != nil {
				return err
			}
		}
	}
}

// record passes one record to Work or Alone. err says that the record cannot be used, and fatal
// is an error of Use.
func (c *scanner[B]) record(rec *warc.Record) (err, fatal error) {
	if c.Alone != nil {
		return c.Alone(rec), nil
	}
	batch := c.New()
	err = c.Work(batch, rec)
	return err, c.Use(batch)
}

// passed reports to Read that the file was read up to the offset at.
func (c *scanner[B]) passed(at int64) {
	if c.Read != nil && at > c.read {
		c.Read(at - c.read)
		c.read = at
	}
}
