package store

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A marking computes the mark (length and checksum) of the bytes that are read or written
// through it.
type marking struct {
	r io.Reader
	w io.Writer
	state.Mark
	sha *digest.Digest // nil: the mark has no SHA-256
}

// mark returns the mark of the bytes read or written so far.
func (m *marking) mark() state.Mark {
	now := m.Mark
	now.SHA256 = m.sha.State()
	return now
}

func (m *marking) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.Mark = m.Plus(p[:n])
	m.sha.Write(p[:n])
	return n, err
}

func (m *marking) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.Mark = m.Plus(p[:n])
	m.sha.Write(p[:n])
	return n, err
}

// split returns the marks of known in two groups: finished has the marks of finished WARC
// files, and growing all others. A run does not check the finished files, so that it can go on
// after they were moved elsewhere. Only Verify checks them.
func split(known state.Marks) (growing, finished state.Marks) {
	growing, finished = state.Marks{}, state.Marks{}
	for name, m := range known {
		switch {
		case !strings.HasPrefix(name, ArchiveDir+"/"):
			growing[name] = m
		case m.Length > 0:
			finished[name] = m
		}
	}
	return growing, finished
}

// wholeLine returns a *DamagedError if the part of a file that m covers does not end with a
// newline. This is the only check of the contents before a run appends, because it takes the
// same time for a file of any length.
func wholeLine(path string, m state.Mark) error {
	if m.Length == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return &DamagedError{Path: path, Err: err}
	}
	defer f.Close()
	var last [1]byte
	if _, err := f.ReadAt(last[:], m.Length-1); err != nil {
		return &DamagedError{Path: path, Err: fmt.Errorf("shorter than the %d bytes that were written", m.Length)}
	}
	if last[0] != '\n' {
		return &DamagedError{Path: path, Err: fmt.Errorf("no line ends at byte %d, where one was written", m.Length)}
	}
	return nil
}
