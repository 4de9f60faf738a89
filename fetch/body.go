package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// A body is what was read of an answer's content.
type body struct {
	decoded []byte
	wire    []byte  // as it came, content coding and all; only where asked for
	n       int64   // bytes that came
	cut     bool    // there was more
	lent    *[]byte // what decoded is in, if it is lent
}

// A source reads a body from the wire: without the transfer coding, with the
// content coding.
type source struct {
	r    io.Reader
	read func(int) // called after each read with the number of bytes
	most int       // bytes at once; 0: no limit
	end  int64     // bytes at all; 0: no limit
	keep bool
	kept []byte
	n    int64
	err  error // that is not the end
}

func (s *source) Read(p []byte) (int, error) {
	if s.end > 0 && s.n >= s.end {
		s.err = errLength
		return 0, s.err
	}
	if s.most > 0 {
		p = p[:min(len(p), s.most)]
	}
	n, err := s.r.Read(p)
	if s.keep {
		s.kept = append(s.kept, p[:n]...)
	}
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	s.read(n)
	return n, err
}

// readBody reads an answer's body, decoded, up to limit bytes. read is called
// after each read from the wire with the number of bytes.
func (f *Fetcher) readBody(resp *http.Response, limit int64, lend bool, read func(int)) (body, error) {
	coding, err := codingOf(resp.Header)
	if err != nil {
		return body{}, err
	}
	src := source{r: resp.Body, read: read, most: f.portion()}
	if coding == "" {
		var b body
		err = b.read(&src, limit, resp.ContentLength, lend)
		b.n = src.n
		if f.opts.KeepWire {
			b.wire = b.decoded
		}
		return b, err
	}
	d, err := f.decoders.get(coding)
	if err != nil {
		return body{}, err
	}
	defer f.decoders.put(d)
	// A coding may also have more bytes on the wire than it stands for, without
	// end: empty blocks, frames to be skipped.
	src.end = limit + limit/16 + 64<<10
	if src.keep = f.opts.KeepWire; src.keep && resp.ContentLength > 0 {
		src.kept = make([]byte, 0, min(resp.ContentLength, src.end, maxScratch))
	}
	d.src = src
	var b body
	if err = d.begin(); err == nil {
		err = b.read(&guarded{d: d}, limit, -1, lend)
	}
	switch {
	case err != nil && d.src.err == nil && d.src.n == 0: // an empty body is not compressed
		err = nil
	case errors.Is(err, errRatio), err != nil && d.src.err == errLength:
		b.cut, err = true, nil
	case err != nil:
		err = blame(err, &d.src)
	case !b.cut && (resp.ContentLength < 0 || resp.ProtoMajor == 2):
		// The coding may end before the transfer coding, or the stream, says
		// that it does. Where that goes wrong it costs the connection only: a
		// Content-Length that counts the decoded bytes is a common mistake.
		drain(&d.src, limit)
	}
	b.wire, b.n = d.src.kept, d.src.n
	return b, err
}

// Decode reads the body of an answer that was kept, and undoes its content
// coding, as for one that is fetched: up to Options.MaxSize bytes.
func (f *Fetcher) Decode(resp *http.Response) ([]byte, error) {
	b, err := f.readBody(resp, f.opts.MaxSize, false, func(int) {})
	return b.decoded, err
}

var errLength = errors.New("the body has too many bytes on the wire")

// drain reads what stands behind a body's end.
func drain(src *source, limit int64) {
	buf := make([]byte, 512)
	for src.n <= limit {
		if _, err := src.Read(buf); err != nil {
			return
		}
	}
}

// scratch holds buffers to read bodies into: growing one for each body would
// cost more than HTTP does.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer that is kept.
const maxScratch = 1 << 20

// maxTrusted is how much memory is made ready because a server says so.
const maxTrusted = 4 << 20

// read reads r up to limit bytes, of which there are expected, if that is not
// negative. Where the body is lent its memory is that of the scratch buffer.
func (b *body) read(r io.Reader, limit, expected int64, lend bool) error {
	buf := scratch.Get().(*[]byte)
	room := (*buf)[:0]
	if n := min(expected, limit, maxTrusted) + 1; n > int64(cap(room)) {
		room = make([]byte, 0, n)
	}
	read, err := readAll(r, room, limit)
	if int64(len(read)) > limit {
		read, b.cut, err = read[:limit], true, nil
	}
	switch {
	case cap(read) > maxScratch:
		b.decoded = read
		scratch.Put(buf)
	case lend:
		*buf = read
		b.decoded, b.lent = read, buf
	default:
		b.decoded = bytes.Clone(read)
		*buf = read
		scratch.Put(buf)
	}
	return err
}

// readAll appends what r has to b, up to one byte more than limit.
func readAll(r io.Reader, b []byte, limit int64) ([]byte, error) {
	for int64(len(b)) <= limit {
		if len(b) == cap(b) {
			b = slices.Grow(b, int(min(int64(max(4<<10, len(b))), limit+1-int64(len(b)))))
		}
		room := b[len(b):cap(b)]
		if most := limit + 1 - int64(len(b)); int64(len(room)) > most {
			room = room[:most]
		}
		n, err := r.Read(room)
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
