package storage

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A mark says how much of a file counts, and what it is: the CRC-32C of its bytes
// up to there. It is made as the file grows and goes on where it was, so that
// nobody reads a file again to append to it. Against accidents it is enough.
type mark struct {
	Length int64  `json:"length"`
	Sum    uint32 `json:"crc32c,omitempty"`
	Part   bool   `json:"part,omitempty"` // a run did not write this file: it is not about all of the crawl
	Lost   bool   `json:"lost,omitempty"` // the file is being made again
}

// marks are those of files, by their names in the directory of the crawl.
type marks map[string]mark

// expect notes whether a run, which may be the first, writes a file.
func (m marks) expect(name string, written, first bool) {
	known, ok := m[name]
	known.Part = known.Part || !written || !ok && !first
	m[name] = known
}

// plus is the mark of a file to which p was appended.
func (m mark) plus(p []byte) mark {
	m.Length += int64(len(p))
	m.Sum = crc32.Update(m.Sum, castagnoli, p)
	return m
}

// same reports whether two marks are of the same bytes.
func (m mark) same(o mark) bool { return m.Length == o.Length && m.Sum == o.Sum }

// A marking reader or writer makes the mark of what passes it.
type marking struct {
	r io.Reader
	w io.Writer
	mark
}

func (m *marking) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.mark = m.plus(p[:n])
	return n, err
}

func (m *marking) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.mark = m.plus(p[:n])
	return n, err
}

// wholeLine checks that what counts of a file ends where a line does: all that a
// run can look at before it appends, whatever the length. The error is a
// *DamagedError.
func wholeLine(path string, m mark) error {
	if m.Length == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return &DamagedError{path, err}
	}
	defer f.Close()
	var last [1]byte
	if _, err := f.ReadAt(last[:], m.Length-1); err != nil {
		return &DamagedError{path, fmt.Errorf("shorter than the %d bytes that were written", m.Length)}
	}
	if last[0] != '\n' {
		return &DamagedError{path, fmt.Errorf("no line ends at byte %d, where one was written", m.Length)}
	}
	return nil
}
