package cdxj

import (
	"bufio"
	"fmt"
	"io"

	"github.com/permesso-crawler/permesso/storage/internal/extsort"
)

// Bounds of a Sorter.
const (
	// DefaultMemory is how many bytes of lines a Sorter holds before it
	// writes them to a file.
	DefaultMemory = 16 << 20
	// MaxLine bounds what one line may take, in bytes, with its end.
	MaxLine = 1 << 20
)

// A Sorter puts lines in the order of their bytes (that of LC_ALL=C sort). What
// does not fit in memory goes to temporary files, in sorted runs, which are
// merged at the end: a hundred million lines take some 25 GB of disk for a
// while, and no more memory than a thousand. It is not safe for concurrent use.
type Sorter struct {
	lines *extsort.Sorter
	line  []byte
}

// NewSorter sorts with temporary files in dir ("" is the system's), and with
// memory bytes of lines in memory at most, with 32 bytes for each (0 is
// DefaultMemory). Close must be called.
func NewSorter(dir string, memory int) *Sorter {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Sorter{lines: extsort.New(dir, memory)}
}

// Add takes an entry. Where a temporary file cannot be written, it was not taken,
// and nothing else is lost: it can be added again.
func (s *Sorter) Add(e *Entry) error {
	line, err := e.Append(s.line[:0])
	s.line = line
	if err != nil {
		return err
	}
	return s.AddLine(line)
}

// AddLine takes a line as Append makes it, with its end. It is copied.
func (s *Sorter) AddLine(line []byte) error {
	if len(line) > MaxLine {
		return fmt.Errorf("CDXJ: a line of %d bytes, where %d are the most", len(line), MaxLine)
	}
	return s.lines.Add(line, nil)
}

// Len is how many lines were added.
func (s *Sorter) Len() int64 { return s.lines.Len() }

// WriteTo writes every line in order. It may be called any number of times.
func (s *Sorter) WriteTo(w io.Writer) (int64, error) {
	c := &counter{w: w}
	out := bufio.NewWriterSize(c, 64<<10)
	err := s.lines.Each(func(line, _ []byte) error {
		_, err := out.Write(line)
		return err
	})
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
func (s *Sorter) Close() error { return s.lines.Close() }
