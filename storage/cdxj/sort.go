package cdxj

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/permesso-crawler/permesso/storage/internal/temp"
)

// Bounds of a Sorter.
const (
	// DefaultMemory is how many bytes of lines a Sorter holds before it
	// writes them to a file.
	DefaultMemory = 64 << 20
	// maxRuns is how many files are open at a time.
	maxRuns = 64
	// MaxLine bounds what one line may take, in bytes, with its end.
	MaxLine = 1 << 20
)

// A Sorter puts lines in the order of their bytes (that of LC_ALL=C sort). What
// does not fit in memory goes to temporary files, in sorted runs, which are
// merged at the end: a hundred million lines take some 25 GB of disk for a
// while, and no more memory than a thousand. It is not safe for concurrent use.
type Sorter struct {
	dir   string
	limit int
	buf   []byte
	ends  []int // of the lines in buf
	runs  []*os.File
	line  []byte
	count int64
	done  bool
}

// NewSorter sorts with temporary files in dir ("" is the system's), and with
// memory bytes of lines in memory at most (0 is DefaultMemory). Close must be
// called.
func NewSorter(dir string, memory int) *Sorter {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Sorter{dir: dir, limit: memory}
}

var errSorted = errors.New("the lines were already written: make another Sorter")

// Add takes an entry.
func (s *Sorter) Add(e *Entry) error {
	if s.done {
		return errSorted
	}
	line, err := e.Append(s.line[:0])
	s.line = line
	if err != nil {
		return err
	}
	return s.AddLine(line)
}

// AddLine takes a line as Append makes it, with its end. It is copied.
func (s *Sorter) AddLine(line []byte) error {
	if s.done {
		return errSorted
	}
	if len(line) > MaxLine {
		return fmt.Errorf("CDXJ: a line of %d bytes, where %d are the most", len(line), MaxLine)
	}
	if len(s.buf)+len(line) > s.limit && len(s.ends) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, line...)
	s.ends = append(s.ends, len(s.buf))
	s.count++
	return nil
}

// Len is how many lines were added.
func (s *Sorter) Len() int64 { return s.count }

// lines are those in memory, in order.
func (s *Sorter) lines() [][]byte {
	lines := make([][]byte, len(s.ends))
	from := 0
	for i, end := range s.ends {
		lines[i] = s.buf[from:end]
		from = end
	}
	slices.SortFunc(lines, bytes.Compare)
	return lines
}

// spill writes what is in memory to a run.
func (s *Sorter) spill() error {
	lines := s.lines()
	run, err := s.run(func(w *bufio.Writer) error {
		for _, line := range lines {
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	if s.runs = append(s.runs, run); len(s.runs) < maxRuns {
		return nil
	}
	merged, err := s.run(func(w *bufio.Writer) error { return merge(w, s.runs, nil) })
	if err != nil {
		return err
	}
	err = s.drop()
	s.runs = []*os.File{merged}
	return err
}

// run makes a temporary file of lines that are in order.
func (s *Sorter) run(fill func(*bufio.Writer) error) (*os.File, error) {
	f, err := temp.Create(s.dir, "cdxj")
	if err != nil {
		return nil, fmt.Errorf("sorting the index: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(fill(w), w.Flush())
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("sorting the index in %s: %w", f.Name(), err)
	}
	return f, nil
}

// WriteTo writes every line in order, once: it can be called a single time.
func (s *Sorter) WriteTo(w io.Writer) (int64, error) {
	if s.done {
		return 0, errSorted
	}
	s.done = true
	c := &counter{w: w}
	out := bufio.NewWriterSize(c, 64<<10)
	err := merge(out, s.runs, s.lines())
	if err == nil {
		err = out.Flush()
	}
	return c.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Close frees memory and files. What WriteTo has not written is lost.
func (s *Sorter) Close() error {
	s.buf, s.ends, s.done = nil, nil, true
	return s.drop()
}

func (s *Sorter) drop() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close())
	}
	s.runs = nil
	return errors.Join(errs...)
}

// A source is a sorted run with its next line.
type source struct {
	r    *bufio.Reader
	left [][]byte // instead of r
	line []byte
}

// next reads a line, or says io.EOF.
func (s *source) next() error {
	if s.r == nil {
		if len(s.left) == 0 {
			return io.EOF
		}
		s.line, s.left = s.left[0], s.left[1:]
		return nil
	}
	s.line = s.line[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		s.line = append(s.line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(s.line) > 0 {
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

type sources []*source

func (s sources) Len() int           { return len(s) }
func (s sources) Less(i, j int) bool { return bytes.Compare(s[i].line, s[j].line) < 0 }
func (s sources) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(x any)        { *s = append(*s, x.(*source)) }
func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func merge(w *bufio.Writer, runs []*os.File, lines [][]byte) error {
	all := make(sources, 0, len(runs)+1)
	for _, f := range runs {
		all = append(all, &source{r: bufio.NewReaderSize(f, 64<<10)})
	}
	all = append(all, &source{left: lines})
	open := all[:0]
	for _, s := range all {
		if err := s.next(); err == nil {
			open = append(open, s)
		} else if err != io.EOF {
			return err
		}
	}
	heap.Init(&open)
	for len(open) > 0 {
		if _, err := w.Write(open[0].line); err != nil {
			return err
		}
		switch err := open[0].next(); err {
		case nil:
			heap.Fix(&open, 0)
		case io.EOF:
			heap.Pop(&open)
		default:
			return err
		}
	}
	return nil
}
