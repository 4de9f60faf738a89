package export

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/permesso-crawler/permesso/storage/internal/temp"
)

// maxRuns is how many temporary files are open at a time.
const maxRuns = 64

// runs sorts pairs by the bytes of their keys; pairs with equal keys keep the
// order in which they were added. It is not safe for concurrent use.
type runs struct {
	dir   string
	limit int
	buf   []byte
	pairs []span
	files []*os.File
}

// A span is a pair in runs.buf: the key, then the value.
type span struct{ from, key, end int }

func newRuns(dir string, memory int) *runs {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &runs{dir: dir, limit: memory}
}

func (r *runs) add(key, value []byte) error {
	if len(r.buf)+len(key)+len(value) > r.limit && len(r.pairs) > 0 {
		if err := r.spill(); err != nil {
			return err
		}
	}
	from := len(r.buf)
	r.buf = append(append(r.buf, key...), value...)
	r.pairs = append(r.pairs, span{from, from + len(key), len(r.buf)})
	return nil
}

func (r *runs) sortPairs() {
	slices.SortStableFunc(r.pairs, func(a, b span) int { return bytes.Compare(r.buf[a.from:a.key], r.buf[b.from:b.key]) })
}

func (r *runs) spill() error {
	r.sortPairs()
	run, err := r.write(func(w *bufio.Writer) error {
		for _, p := range r.pairs {
			if err := writePair(w, r.buf[p.from:p.key], r.buf[p.key:p.end]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.buf, r.pairs = r.buf[:0], r.pairs[:0]
	if r.files = append(r.files, run); len(r.files) < maxRuns {
		return nil
	}
	merged, err := r.write(func(w *bufio.Writer) error {
		for p, err := range mergePairs(r.files, nil) {
			if err != nil {
				return err
			}
			if err := writePair(w, p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.close()
	r.files = []*os.File{merged}
	return err
}

// write makes a temporary file of pairs that are in order.
func (r *runs) write(fill func(*bufio.Writer) error) (*os.File, error) {
	f, err := temp.Create(r.dir, "export")
	if err != nil {
		return nil, fmt.Errorf("sorting the rows: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(fill(w), w.Flush())
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("sorting the rows in %s: %w", f.Name(), err)
	}
	return f, nil
}

// all goes through the values in order, once. They are valid until the next.
func (r *runs) all() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r.sortPairs()
		i := 0
		rest := func(p *pair) error {
			if i == len(r.pairs) {
				return io.EOF
			}
			s := r.pairs[i]
			p.key, p.value = r.buf[s.from:s.key], r.buf[s.key:s.end]
			i++
			return nil
		}
		for p, err := range mergePairs(r.files, rest) {
			var value []byte
			if err == nil {
				value = p.value
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

func (r *runs) close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

func writePair(w *bufio.Writer, key, value []byte) error {
	var size [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(key)))
	n += binary.PutUvarint(size[n:], uint64(len(value)))
	w.Write(size[:n])
	w.Write(key)
	_, err := w.Write(value)
	return err
}

// A pair is the next one of a run.
type pair struct {
	key, value []byte
	run        int
	next       func(*pair) error // io.EOF at the end
}

func readPair(r *bufio.Reader, p *pair) error {
	keySize, err := binary.ReadUvarint(r)
	if err != nil {
		return err // io.EOF only before the first byte
	}
	valueSize, err := binary.ReadUvarint(r)
	if err == nil {
		p.key = slices.Grow(p.key[:0], int(keySize))[:keySize]
		_, err = io.ReadFull(r, p.key)
	}
	if err == nil {
		p.value = slices.Grow(p.value[:0], int(valueSize))[:valueSize]
		_, err = io.ReadFull(r, p.value)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

type pairHeap []*pair

func (h pairHeap) Len() int { return len(h) }
func (h pairHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].run < h[j].run
}
func (h pairHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)   { *h = append(*h, x.(*pair)) }
func (h *pairHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// mergePairs goes through the pairs of all runs, and of rest after them.
func mergePairs(files []*os.File, rest func(*pair) error) iter.Seq2[*pair, error] {
	return func(yield func(*pair, error) bool) {
		all := make([]*pair, 0, len(files)+1)
		for _, f := range files {
			r := bufio.NewReaderSize(f, 64<<10)
			all = append(all, &pair{run: len(all), next: func(p *pair) error { return readPair(r, p) }})
		}
		if rest != nil {
			all = append(all, &pair{run: len(all), next: rest})
		}
		var open pairHeap
		for _, p := range all {
			switch err := p.next(p); err {
			case nil:
				open = append(open, p)
			case io.EOF:
			default:
				yield(nil, fmt.Errorf("sorting the rows: %w", err))
				return
			}
		}
		heap.Init(&open)
		for len(open) > 0 {
			if !yield(open[0], nil) {
				return
			}
			switch err := open[0].next(open[0]); err {
			case nil:
				heap.Fix(&open, 0)
			case io.EOF:
				heap.Pop(&open)
			default:
				yield(nil, fmt.Errorf("sorting the rows: %w", err))
				return
			}
		}
	}
}
