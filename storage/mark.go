package storage

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/storage/internal/digest"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A marking reader or writer makes the mark of what passes it.
type marking struct {
	r io.Reader
	w io.Writer
	state.Mark
	sha *digest.Digest // nil: the mark has no SHA-256
}

// mark returns that of what has passed.
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

// split takes the files of the archive out of marks. Those are only compared by
// Verify from then on: who has the files elsewhere can go on with the crawl.
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

// wholeLine checks that what counts of a file ends where a line does: all that a
// run can look at before it appends, whatever the length. The error is a
// *DamagedError.
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
