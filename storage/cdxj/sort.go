package cdxj

import (
	"bufio"
	"fmt"
	"io"

	"github.com/permesso-crawler/permesso/internal/extsort"
)

// Limits of a Sorter.
const (
	// defaultMemory is how many bytes of lines a Sorter holds in memory by default before it
	// writes them to a file.
	defaultMemory = 16 << 20
	// MaxLine is the length of the longest line, in bytes, with its newline.
	MaxLine = 1 << 20
)

// A Sorter sorts lines by their bytes (as LC_ALL=C sort does). It writes lines that do not fit in
// memory to temporary files. Each file is sorted, and all files are merged at the end. So a
// hundred million lines need about 25 GB of disk, and no more memory than a thousand lines. A
// Sorter is not safe for concurrent use.
type Sorter struct {
	lines *extsort.Sorter
	line  []byte
}

// NewSorter returns a Sorter with temporary files in dir, or in the system's directory if dir is
// "". The parameter memory limits the bytes of lines that are held in memory; each line counts its
// length and 32 bytes. If memory is 0 or less, the limit is 16 MiB. The caller must call Close.
func NewSorter(dir string, memory int) *Sorter {
	if memory <= 0 {
		memory = defaultMemory
	}
	return &Sorter{lines: extsort.New(dir, memory)}
}

// Add adds an entry. It fails if it cannot write a temporary file, or if the line of the entry is
// longer than MaxLine. Then the entry is not added. The lines that were added before are kept, and
// Add can be called again.
func (s *Sorter) Add(e *Entry) error {
	line, err := e.Append(s.line[:0])
	s.line = line
	if err != nil {
		return err
	}
	return s.AddLine(line)
}

// AddLine adds a copy of a line. The line must have the form that Append writes, with the newline
// at its end. AddLine fails in the same cases as Add.
func (s *Sorter) AddLine(line []byte) error {
	if len(line) > MaxLine {
		return fmt.Errorf("CDXJ: a line of %d bytes is longer than %d", len(line), MaxLine)
	}
	return s.lines.Add(line, nil)
}

// Len returns how many lines were added.
func (s *Sorter) Len() int64 { return s.lines.Len() }

// WriteTo writes all lines to w in sorted order. It may be called more than once. It returns the
// number of bytes that were written, and an error of w or of a temporary file.
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

// Close frees the memory and removes the temporary files. Lines that WriteTo has not written
// are lost.
func (s *Sorter) Close() error { return s.lines.Close() }
