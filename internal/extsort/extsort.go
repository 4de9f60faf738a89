// Package extsort sorts more records than fit in memory.
//
// Records that do not fit are written to temporary files in sorted runs, which are written and
// read sequentially. The level of a run is how many times its records were merged. As soon as
// there are fanIn runs of one level, they are merged into one run of the next level. So each
// record is written once per level, and a hundred million records need at most some hundred
// open files.
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/permesso-crawler/permesso/internal/inorder"
	"github.com/permesso-crawler/permesso/internal/temp"
)

const (
	fanIn      = 64        // number of runs that are merged at once
	readBuffer = 64 << 10  // buffer for each run that is read, in bytes
	runBuffer  = 256 << 10 // buffer for the run that is written, in bytes
)

// spanSize is the memory for a record in addition to the bytes of key and value, in bytes.
const spanSize = 32

// A Sorter sorts records by the bytes of their keys. Records with equal keys keep the order
// in which they were added.
//
// It is not safe for concurrent use. Any number of Sorters may share a directory.
type Sorter struct {
	dir    string
	memory int
	fanIn  int
	create func() (*os.File, error)

	held  load // the records that were added last
	n     int64
	apart bool // write runs in a goroutine, while more records are added

	// full has the records that were added before those in held and are not in a run yet. While
	// spilled is not nil, the goroutine that turn has started writes them. It also uses the
	// fields below.
	full    load
	spilled chan struct{} // closed when that goroutine ends; nil: no goroutine runs
	// runs are in the order in which their records were added. Only neighbours are merged, so
	// this order stays.
	runs []run
	out  *bufio.Writer
}

// A load is a group of records in memory.
type load struct {
	buf   []byte // keys and values of the records, one after the other
	spans []span
}

// empty returns l without records, to be filled again in the same memory.
func (l load) empty() load { return load{l.buf[:0], l.spans[:0]} }

// A span is the position of a record in load.buf: the key, and the value after it.
type span struct {
	from, key, end int
	head           uint64 // eight bytes of the key, see load.sort
}

// A run is a file of sorted records.
type run struct {
	file  *os.File
	size  int64 // length of the file, in bytes
	level int   // how many times the records of the run were merged
}

// New returns a Sorter with temporary files in dir; "": in the system's directory for them. The
// caller must call Close.
//
// The Sorter holds at most memory bytes of records, but always at least one record. Each record
// counts 32 bytes more than its key and value. If memory is a megabyte or more, one half of it
// is filled while the other half is written to a run. While the buffer for the records grows,
// it takes as much memory again. Writing a run takes 256 KiB. Merging takes 64 KiB for each of
// 64 runs, and 256 KiB for records that were merged ahead.
//
// The files take the bytes of the records and a few more for each record. While the largest
// runs are merged, they take twice as much.
func New(dir string, memory int) *Sorter {
	s := &Sorter{dir: dir, memory: memory, fanIn: fanIn, create: func() (*os.File, error) { return temp.Create(dir, "sort") }}
	s.apart = memory >= 1<<20
	return s
}

// Len returns how many records were added.
func (s *Sorter) Len() int64 { return s.n }

// Add adds a record; it copies key and value. If a temporary file cannot be written, Add
// returns the error without adding the record, and all earlier records stay. It can be called
// again when there is room on the disk.
func (s *Sorter) Add(key, value []byte) error {
	most := s.memory
	if s.apart {
		most /= 2
	}
	if h := &s.held; len(h.spans) > 0 && len(h.buf)+len(key)+len(value)+(len(h.spans)+1)*spanSize > most {
		if err := s.turn(); err != nil {
			return s.failed(err)
		}
	}
	s.held.add(key, value, most)
	s.n++
	return nil
}

// add adds a record. It doubles buf like append does. But it does not let buf grow beyond the
// given limit, most bytes, except for a single larger record.
func (l *load) add(key, value []byte, most int) {
	from := len(l.buf)
	if need := from + len(key) + len(value); need > cap(l.buf) {
		size := max(need, min(2*cap(l.buf), most))
		l.buf = append(make([]byte, 0, size), l.buf...)
	}
	l.buf = append(append(l.buf, key...), value...)
	l.spans = append(l.spans, span{from: from, key: from + len(key), end: len(l.buf)})
}

// Each calls f for each record in order. If f returns an error, Each stops and returns it.
// Key and value are valid until f returns, and f must not use s. Each may be called any
// number of times, also after a call that ended early.
func (s *Sorter) Each(f func(key, value []byte) error) error {
	s.wait()
	for len(s.runs) >= s.fanIn { // merge one more, because the records in memory are a source, too
		if err := s.merge(min(s.fanIn, len(s.runs)-s.fanIn+2)); err != nil {
			return s.failed(err)
		}
	}
	s.full.sort()
	s.held.sort()
	memory := []*source{{load: s.full}, {load: s.held}}
	if len(s.runs) == 0 || !s.apart {
		return each(append(s.sources(s.runs), memory...), f)
	}
	return ahead(append(s.sources(s.runs), memory...), f)
}

// ahead is like each, but merges in another goroutine while f runs.
func ahead(all []*source, f func(key, value []byte) error) error {
	return inorder.Each(inorder.Limits{Workers: 2, Memory: 4 * aheadSize}, func(put func(load, int64) bool) error {
		var next load
		full := func() bool {
			l := next
			next = load{make([]byte, 0, cap(l.buf)), make([]span, 0, cap(l.spans))}
			return len(l.spans) == 0 || put(l, int64(len(l.buf)+spanSize*len(l.spans)))
		}
		err := each(all, func(key, value []byte) error {
			if len(next.buf)+spanSize*len(next.spans) >= aheadSize && !full() {
				return errNoMore
			}
			next.add(key, value, 2*aheadSize)
			return nil
		})
		if err != errNoMore {
			full()
		}
		return err
	}, func(l load) load { return l }, func(l load) error {
		for _, h := range l.spans {
			if err := f(l.buf[h.from:h.key:h.key], l.buf[h.key:h.end]); err != nil {
				return err
			}
		}
		return nil
	})
}

// aheadSize is the size in bytes of the parts in which records are merged ahead.
const aheadSize = 64 << 10

// errNoMore stops a merge whose further records are not needed.
var errNoMore = errors.New("no more records are needed")

// Close frees the memory and removes all files. The Sorter is then empty and can be used again.
func (s *Sorter) Close() error {
	s.wait()
	runs := s.runs
	s.held, s.full, s.runs, s.out, s.n = load{}, load{}, nil, nil, 0
	return remove(runs)
}

// failed adds the path of the temporary directory to an error.
func (s *Sorter) failed(err error) error {
	return fmt.Errorf("sorting, with temporary files in %s: %w", cmp.Or(s.dir, os.TempDir()), err)
}

// sort sorts the records. Comparing keys from all over the memory would be slow. So each span
// has a copy of eight bytes of its key: the bytes after the common prefix of all keys.
func (l *load) sort() {
	if len(l.spans) == 0 {
		return
	}
	buf := l.buf
	common := buf[l.spans[0].from:l.spans[0].key]
	for _, h := range l.spans {
		key := buf[h.from:h.key]
		n := 0
		for n < min(len(common), len(key)) && common[n] == key[n] {
			n++
		}
		common = common[:n]
	}
	for i := range l.spans {
		h := &l.spans[i]
		var head [8]byte
		copy(head[:], buf[h.from+len(common):h.key])
		h.head = binary.BigEndian.Uint64(head[:])
	}
	slices.SortFunc(l.spans, func(a, b span) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		if c := bytes.Compare(buf[a.from:a.key], buf[b.from:b.key]); c != 0 {
			return c
		}
		return cmp.Compare(a.from, b.from)
	})
}

// turn makes room for more records. It writes the records in memory to a run, or starts a
// goroutine that does so. If an earlier goroutine could not write its run, turn writes that run
// first. No record is lost if turn fails.
func (s *Sorter) turn() error {
	s.wait()
	if len(s.full.spans) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.full, s.held = s.held, s.full.empty()
	if !s.apart {
		err := s.spill()
		if err != nil {
			s.full, s.held = s.held, s.full
		}
		return err
	}
	spilled := make(chan struct{})
	s.spilled = spilled
	go func() {
		defer close(spilled)
		_ = s.spill() // ignore the error, because the next turn tries again
	}()
	return nil
}

// wait waits until the goroutine that turn has started ends. If it could not write its run, the
// records are still in full.
func (s *Sorter) wait() {
	if s.spilled != nil {
		<-s.spilled
		s.spilled = nil
	}
}

// spill writes the records in full to a run. If it fails, no record is lost, but some runs may
// have been merged.
func (s *Sorter) spill() error {
	for n := len(s.runs); n >= s.fanIn && s.runs[n-s.fanIn].level == s.runs[n-1].level; n = len(s.runs) {
		if err := s.merge(s.fanIn); err != nil {
			return err
		}
	}
	s.full.sort()
	r, err := s.write(0, &source{load: s.full})
	if err != nil {
		return err
	}
	s.runs = append(s.runs, r)
	s.full = s.full.empty()
	return nil
}

// merge merges the last n runs into one.
func (s *Sorter) merge(n int) error {
	from := len(s.runs) - n
	old := slices.Clone(s.runs[from:])
	r, err := s.write(old[0].level+1, s.sources(old)...)
	if err != nil {
		return err
	}
	s.runs = append(s.runs[:from], r)
	return remove(old)
}

// write writes the records of sources to a new run.
func (s *Sorter) write(level int, all ...*source) (run, error) {
	f, err := s.create()
	if err != nil {
		return run{}, err
	}
	r := run{file: f, level: level}
	if s.out == nil {
		s.out = bufio.NewWriterSize(nil, runBuffer)
	}
	s.out.Reset(f)
	err = each(all, func(key, value []byte) error {
		n, err := writeRecord(s.out, key, value)
		r.size += int64(n)
		return err
	})
	if err == nil {
		err = s.out.Flush()
	}
	if err != nil {
		return run{}, errors.Join(err, f.Close())
	}
	return r, nil
}

func remove(runs []run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.file.Close())
	}
	return errors.Join(errs...)
}

func (s *Sorter) sources(runs []run) []*source {
	all := make([]*source, 0, len(runs)+1)
	for _, r := range runs {
		all = append(all, newSource(r.file, r.size))
	}
	return all
}

// writeRecord writes the lengths of key and value, and then both.
func writeRecord(w *bufio.Writer, key, value []byte) (int, error) {
	var size [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(key)))
	n += binary.PutUvarint(size[n:], uint64(len(value)))
	w.Write(size[:n])
	w.Write(key)
	_, err := w.Write(value) // errors of earlier writes are returned here, because a bufio.Writer keeps its first error
	return n + len(key) + len(value), err
}

// A source reads the records of a run, or of a load in memory, in order. It holds the next
// record.
type source struct {
	key, value []byte
	order      int // position among the sources; if keys are equal, the record of the earlier source comes first

	r    *bufio.Reader // reads the run; nil: the records are in memory
	left int64         // number of bytes of the run that are not read yet
	name string
	data []byte

	load // the records in memory that are not read yet; empty for a run
}

// newSource returns a source that reads a run from its beginning. Several sources may share the
// file.
func newSource(f *os.File, size int64) *source {
	return &source{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), readBuffer), left: size, name: f.Name()}
}

// next reads the next record. It returns io.EOF after the last one.
func (s *source) next() error {
	switch {
	case s.r != nil && s.left > 0:
		return s.read()
	case len(s.spans) > 0:
		h := s.spans[0]
		s.spans = s.spans[1:]
		s.key, s.value = s.buf[h.from:h.key], s.buf[h.key:h.end]
		return nil
	}
	return io.EOF
}

func (s *source) read() error {
	key, err := s.length()
	if err != nil {
		return err
	}
	value, err := s.length()
	if err != nil {
		return err
	}
	if key > uint64(s.left) || value > uint64(s.left)-key {
		return s.damaged(io.ErrUnexpectedEOF)
	}
	n := int(key + value)
	s.data = slices.Grow(s.data[:0], n)[:n]
	if _, err := io.ReadFull(s.r, s.data); err != nil {
		return s.damaged(err)
	}
	s.left -= int64(n)
	s.key, s.value = s.data[:key], s.data[key:]
	return nil
}

func (s *source) length() (uint64, error) {
	for shift, n := 0, uint64(0); s.left > 0 && shift < 63; shift += 7 {
		b, err := s.r.ReadByte()
		if err != nil {
			return 0, s.damaged(err)
		}
		s.left--
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n, nil
		}
	}
	return 0, s.damaged(io.ErrUnexpectedEOF)
}

// damaged adds the name of the file to an error of reading it. If the file ends within a
// record, the error is io.ErrUnexpectedEOF.
func (s *source) damaged(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s is not what was written: %w", s.name, err)
}

// each merges sources, and calls f for each record in order. If keys are equal, the record of
// the earlier source comes first.
func each(all []*source, f func(key, value []byte) error) error {
	open := all[:0]
	for i, s := range all {
		s.order = i
		switch err := s.next(); err {
		case nil:
			open = append(open, s)
		case io.EOF:
		default:
			return err
		}
	}
	for i := len(open)/2 - 1; i >= 0; i-- {
		sink(open, i)
	}
	for len(open) > 0 {
		if err := f(open[0].key, open[0].value); err != nil {
			return err
		}
		switch err := open[0].next(); err {
		case nil:
		case io.EOF:
			last := len(open) - 1
			open[0] = open[last]
			open = open[:last]
		default:
			return err
		}
		sink(open, 0)
	}
	return nil
}

// sink restores the heap order after the source at i has moved to a record with a larger
// key.
func sink(heap []*source, i int) {
	for {
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if right := least + 1; right < len(heap) && heap[right].less(heap[least]) {
			least = right
		}
		if !heap[least].less(heap[i]) {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

func (s *source) less(other *source) bool {
	if c := bytes.Compare(s.key, other.key); c != 0 {
		return c < 0
	}
	return s.order < other.order
}
