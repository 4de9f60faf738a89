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

// A budget bounds the memory of all bodies, from their first byte until their
// visit is done with them. It is safe for concurrent use; nil is no bound.
//
// Nobody waits for it with a connection in hand, which would keep a server
// waiting: a body that finds no room goes on in a temporary file, and is read
// back when the server has done its part. And nobody waits with a part of it in
// hand: any budget, however small, lets one body after the other through, in the
// order in which they came.
type budget struct {
	size    int64
	room    *semaphore.Weighted // of size bytes
	windows *semaphore.Weighted // of maxWindows
	dir     string              // of temporary files; empty: the system's
}

// maxWindows is how many bodies in br or zstd are decoded at once: what such a
// decoder remembers takes up to 16 MiB, whatever becomes of the body.
const maxWindows = 4

func newBudget(size int64, dir string) *budget {
	if size <= 0 {
		return nil
	}
	return &budget{size: size, room: semaphore.NewWeighted(size), windows: semaphore.NewWeighted(maxWindows), dir: dir}
}

// largeWindows returns how many decoders of codings have a large window.
func largeWindows(codings []string) (n int64) {
	for _, coding := range codings {
		if coding == "br" || coding == "zstd" {
			n++
		}
	}
	return n
}

// window reports whether a body with codings can be decoded at once;
// then freeWindow follows.
func (b *budget) window(codings ...string) bool {
	n := largeWindows(codings)
	return b == nil || n == 0 || b.windows.TryAcquire(n)
}

func (b *budget) freeWindow(codings ...string) {
	if n := largeWindows(codings); b != nil && n > 0 {
		b.windows.Release(n)
	}
}

// A share is what one body has of a budget.
type share struct {
	budget *budget
	asked  int64 // bytes of memory, those that need no room included
	taken  int64 // of the budget
	full   bool  // there was no room: the body is in files
}

// grow reports whether there is room for n more bytes. Once there was none the
// share is empty.
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

// load waits for the room of piles that found none, and reads them back.
func (s *share) load(ctx context.Context, piles ...*pile) error {
	if !s.full {
		return nil
	}
	size := int64(0)
	for _, p := range piles {
		if p.size() > 0 {
			if err := p.spill(); err != nil { // no memory is held meanwhile
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
	for _, p := range piles {
		if err := p.load(); err != nil {
			return err
		}
	}
	return nil
}

// A spoolError is one of the temporary files.
type spoolError struct{ err error }

func (e *spoolError) Error() string {
	return fmt.Sprintf("a temporary file for a body: %v: make room there, or raise the budget of memory for bodies", e.err)
}

func (e *spoolError) Unwrap() error { return e.err }

func isSpool(err error) bool {
	if err == nil { // as after most bodies: the variable below costs memory
		return false
	}
	var spool *spoolError
	return errors.As(err, &spool)
}

// A pile is bytes that come in: in memory, or in a file where there is no room.
type pile struct {
	share *share
	b     []byte
	file  *os.File
	n     int64  // bytes in file
	page  []byte // between a reader and file
	most  int64  // that fill was to take
}

func (p *pile) size() int64 {
	if p.file != nil {
		return p.n
	}
	return int64(len(p.b))
}

// fill takes what r has, up to one byte more than limit.
func (p *pile) fill(r io.Reader, limit int64) error {
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

// room is where the next bytes go, at most so many.
func (p *pile) room(most int64) ([]byte, error) {
	if len(p.b) == cap(p.b) && p.file == nil {
		if step := min(int64(max(4<<10, len(p.b))), most); p.share.grow(step) {
			grown := make([]byte, len(p.b), len(p.b)+int(step)) // append would take more than asked for
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

// took says that bytes were written to where room said.
func (p *pile) took(bytes []byte) error {
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

// append takes bytes.
func (p *pile) append(bytes []byte) error {
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

// cut leaves the first n bytes.
func (p *pile) cut(n int64) {
	if p.file != nil {
		p.n = n
	} else {
		p.b = p.b[:n]
	}
}

// spill moves the pile to a file. Where names can be removed while they are in
// use, the file has none.
func (p *pile) spill() error {
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

// reader reads a pile that is in a file.
func (p *pile) reader() io.Reader { return io.NewSectionReader(p.file, 0, p.n) }

// load reads the pile back into memory.
func (p *pile) load() error {
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

// free closes the file.
func (p *pile) free() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name()) // where it could not be removed before
		p.file, p.page = nil, nil
	}
}
