package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sync/semaphore"
)

// A budget limits the memory of all bodies together. A body counts from its first byte until its
// exchange is released. A budget is safe for concurrent use. A nil budget has no limit.
//
// No goroutine waits for the budget while it uses a connection, because the server would have to
// wait, too. A body without room in the budget is written to a temporary file. It is read back
// into memory after the server has sent the whole answer. A goroutine that holds a part of the
// budget does not wait for more. So even a small budget has room for all bodies one after another,
// in the order in which they came.
type budget struct {
	size    int64
	room    *semaphore.Weighted // a semaphore of size units, one for each byte
	windows *semaphore.Weighted // a semaphore of maxWindows units
	dir     string              // directory of the temporary files; empty: the directory of the system
}

// maxWindows is the largest number of br and zstd decoders that run at once. The window of each
// takes up to 16 MiB, even for a small body.
const maxWindows = 4

func newBudget(size int64, dir string) *budget {
	if size <= 0 {
		return nil
	}
	return &budget{size: size, room: semaphore.NewWeighted(size), windows: semaphore.NewWeighted(maxWindows), dir: dir}
}

// largeWindows returns how many of codings need a decoder with a large window (see maxWindows).
func largeWindows(codings []string) (n int64) {
	for _, coding := range codings {
		if coding == "br" || coding == "zstd" {
			n++
		}
	}
	return n
}

// window reserves a large window for each of codings that needs one. It reports whether enough
// windows were free. If it returns true, the body can be decoded now, and the caller must then
// call freeWindow.
func (b *budget) window(codings ...string) bool {
	n := largeWindows(codings)
	return b == nil || n == 0 || b.windows.TryAcquire(n)
}

func (b *budget) freeWindow(codings ...string) {
	if n := largeWindows(codings); b != nil && n > 0 {
		b.windows.Release(n)
	}
}

// A share is the part of a budget that one body has taken.
type share struct {
	budget *budget
	asked  int64 // bytes of memory that the body needs, including those that do not count in the budget
	taken  int64 // bytes taken from the budget
	full   bool  // the budget had no room, so the body is in files
}

// grow takes n more bytes from the budget and reports whether there was room for them. If it
// returns false, it has given back all bytes of the share.
func (s *share) grow(n int64) bool {
	if s.budget == nil {
		return true
	}
	s.asked += n
	need := s.asked - maxScratch - s.taken
	switch {
	case s.full:
		return false
	case need <= 0:
		return true
	case need+s.taken <= s.budget.size && s.budget.room.TryAcquire(need):
		s.taken += need
		return true
	}
	s.full = true
	s.release()
	return false
}

func (s *share) release() {
	if s.taken > 0 {
		s.budget.room.Release(s.taken)
		s.taken = 0
	}
}

// load does nothing if the body is in memory. If its spools are in files, load waits until the
// budget has room for them, and reads them back into memory.
func (s *share) load(ctx context.Context, spools ...*spool) error {
	if !s.full {
		return nil
	}
	size := int64(0)
	for _, p := range spools {
		if p.size() > 0 {
			if err := p.spill(); err != nil { // no memory is held during the wait
				return err
			}
		}
		size += p.size()
	}
	need := max(0, min(size-maxScratch, s.budget.size))
	if err := s.budget.room.Acquire(ctx, need); err != nil {
		return context.Cause(ctx)
	}
	s.taken = need
	for _, p := range spools {
		if err := p.load(); err != nil {
			return err
		}
	}
	return nil
}

// A spoolError is an error of a temporary file.
type spoolError struct{ err error }

func (e *spoolError) Error() string {
	return fmt.Sprintf("a temporary file for a body: %v: make room there, or raise the budget of memory for bodies", e.err)
}

func (e *spoolError) Unwrap() error { return e.err }

func isSpool(err error) bool {
	if err == nil { // the usual case; the variable below would cost an allocation
		return false
	}
	var spool *spoolError
	return errors.As(err, &spool)
}

// A spool collects the bytes of a body, in memory or in a file if the budget has no room.
type spool struct {
	share *share
	b     []byte
	file  *os.File
	n     int64  // number of bytes in file
	page  []byte // buffer for the bytes that are written to file next
	most  int64  // largest number of bytes that fill may take
}

func (p *spool) size() int64 {
	if p.file != nil {
		return p.n
	}
	return int64(len(p.b))
}

// fill reads r to its end, but at most limit+1 bytes.
func (p *spool) fill(r io.Reader, limit int64) error {
	p.most = limit + 1
	for p.size() <= limit {
		room, err := p.room(limit + 1 - p.size())
		if err != nil {
			return err
		}
		n, err := r.Read(room)
		if werr := p.took(room[:n]); werr != nil {
			return werr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// room returns a buffer for the next bytes. The parameter most is its largest length in bytes. The
// caller fills the buffer and then calls took.
func (p *spool) room(most int64) ([]byte, error) {
	if len(p.b) == cap(p.b) && p.file == nil {
		if step := min(int64(max(4<<10, len(p.b))), most); p.share.grow(step) {
			grown := make([]byte, len(p.b), len(p.b)+int(step)) // append would allocate more than step
			copy(grown, p.b)
			p.b = grown
		}
	}
	if p.share.full {
		if err := p.spill(); err != nil {
			return nil, err
		}
	}
	to := p.b[len(p.b):cap(p.b)]
	if p.file != nil {
		if p.page == nil {
			p.page = make([]byte, 32<<10)
		}
		to = p.page
	}
	return to[:min(int64(len(to)), most)], nil
}

// took adds bytes to the spool. They must be in the buffer that room returned.
func (p *spool) took(bytes []byte) error {
	if p.file == nil {
		p.b = p.b[:len(p.b)+len(bytes)]
		return nil
	}
	n, err := p.file.Write(bytes)
	p.n += int64(n)
	if err != nil {
		return &spoolError{err}
	}
	return nil
}

func (p *spool) append(bytes []byte) error {
	for len(bytes) > 0 {
		room, err := p.room(math.MaxInt64)
		if err != nil {
			return err
		}
		n := copy(room, bytes)
		if err := p.took(room[:n]); err != nil {
			return err
		}
		bytes = bytes[n:]
	}
	return nil
}

// cut keeps only the first n bytes.
func (p *spool) cut(n int64) {
	if p.file != nil {
		p.n = n
	} else {
		p.b = p.b[:n]
	}
}

// spill moves the spool to a temporary file. It removes the name of the file at once if the
// system can remove the name of an open file.
func (p *spool) spill() error {
	if p.file != nil {
		return nil
	}
	file, err := os.CreateTemp(p.share.budget.dir, ".body-*")
	if err != nil {
		return &spoolError{err}
	}
	os.Remove(file.Name())
	b := p.b
	p.file, p.b, p.n = file, nil, 0
	return p.took(b)
}

// reader returns a reader of the bytes of a spool that is in a file.
func (p *spool) reader() io.Reader { return io.NewSectionReader(p.file, 0, p.n) }

// load reads the spool back into memory.
func (p *spool) load() error {
	if p.file == nil {
		return nil
	}
	p.b = make([]byte, p.n)
	if _, err := io.ReadFull(p.reader(), p.b); err != nil {
		return &spoolError{err}
	}
	p.free()
	return nil
}

// free closes the temporary file and removes it.
func (p *spool) free() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name()) // removes the name if spill could not remove it while the file was open
		p.file, p.page = nil, nil
	}
}
