package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// A body is what was read of an answer's content.
type body struct {
	decoded []byte
	wire    []byte  // as it came, content coding and all; only where asked for
	n       int64   // bytes that came
	cut     bool    // there was more
	lent    *[]byte // what decoded is in, if it is lent
	share   share   // of the memory for all bodies

	plain, kept pile  // what becomes decoded and wire
	raw         *pile // what came, where no decoder was free
	windows     int64 // that its decoders take
	later       func(src source) error
}

// A source reads a body from the wire: without the transfer coding, with the
// content coding.
type source struct {
	r    io.Reader
	read func(int) // called after each read with the number of bytes
	most int       // bytes at once; 0: no limit
	end  int64     // bytes at all; 0: no limit
	keep *pile     // nil: none is kept
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
	if s.keep != nil {
		if werr := s.keep.append(p[:n]); werr != nil {
			err = werr
		}
	}
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	s.read(n)
	return n, err
}

// readBody reads an answer's body, decoded, up to limit bytes. read is called
// after each read from the wire with the number of bytes. The body can be used
// after settle, which needs no connection any more.
func (f *Fetcher) readBody(resp *http.Response, budget *budget, limit int64, lend bool, read func(int)) (*body, error) {
	return f.readAs(resp, budget, limit, lend, false, read)
}

// readRules is readBody for what permits or forbids: bytes that no decoder has read may
// forbid, and are an error.
func (f *Fetcher) readRules(resp *http.Response, limit int64, read func(int)) (*body, error) {
	return f.readAs(resp, nil, limit, false, true, read)
}

func (f *Fetcher) readAs(resp *http.Response, budget *budget, limit int64, lend, whole bool, read func(int)) (*body, error) {
	b := &body{share: share{budget: budget}}
	b.plain.share, b.kept.share = &b.share, &b.share
	codings, err := codingsOf(resp.Header)
	if err != nil {
		return b, err
	}
	src := source{r: resp.Body, read: read, most: f.portion()}
	if len(codings) == 0 {
		err = b.read(&src, limit, resp.ContentLength, lend)
		b.n = src.n
		return b, err
	}
	// A coding may also have more bytes on the wire than it stands for, without
	// end: empty blocks, frames to be skipped.
	src.end = mostCoded(limit)
	if !budget.window(codings...) {
		b.raw, b.windows = &pile{share: &share{budget: budget, full: true}}, largeWindows(codings)
		b.later = func(src source) error {
			return f.decode(b, newDecoding(codings, f.decoders.get), src, limit, lend, false)
		}
		if err = b.raw.fill(&src, src.end-1); err == errLength {
			b.raw.most = b.raw.size() // what was cut here ends no later when it is decoded
		}
		b.n = src.n
		return b, err
	}
	defer budget.freeWindow(codings...)
	if n := min(resp.ContentLength, src.end, maxScratch); f.opts.KeepWire && n > 0 && b.share.grow(n) {
		b.kept.b = make([]byte, 0, n)
	}
	d := newDecoding(codings, f.decoders.get)
	d.expect(resp.ContentLength)
	if whole {
		d.beWhole()
	}
	// The coding may end before the transfer coding, or the stream, says that it
	// does. Where that goes wrong it costs the connection only: a Content-Length
	// that counts the decoded bytes is a common mistake.
	return b, f.decode(b, d, src, limit, lend, resp.ContentLength < 0 || resp.ProtoMajor == 2)
}

// mostCoded is how many bytes a body takes on the wire that has so many decoded, in bytes.
func mostCoded(limit int64) int64 { return limit + limit/16 + 64<<10 }

// decode reads what src has. What comes after the end of the coding is read, too, if drained
// is set.
func (f *Fetcher) decode(b *body, d *decoding, src source, limit int64, lend, drained bool) error {
	defer func() {
		for _, l := range d.layers {
			f.decoders.put(l.decoder)
		}
	}()
	if f.opts.KeepWire {
		src.keep = &b.kept
	}
	err := b.read(d.begin(src), limit, -1, lend)
	switch {
	case isSpool(err):
	case err != nil && d.empty():
		err = nil
	case d.cut(err):
		b.cut, err = true, nil
	case err != nil:
		err = d.blame(err)
	case !b.cut && drained:
		drain(&d.src, limit)
	}
	b.n = d.src.n
	return err
}

// settle brings the body into memory, and waits for room there if there was
// none before. Until ctx ends nothing else ends the wait: no connection is held
// any more.
func (b *body) settle(ctx context.Context, f *Fetcher) error {
	err := b.decodeRaw(ctx)
	if lerr := b.share.load(ctx, &b.plain, &b.kept); lerr != nil {
		b.free()
		return lerr
	}
	b.decoded, b.wire = b.plain.b, b.kept.b
	if f.opts.KeepWire && b.wire == nil {
		b.wire = b.decoded
	}
	return err
}

func (b *body) decodeRaw(ctx context.Context) error {
	if b.raw == nil {
		return nil
	}
	defer b.raw.free()
	if err := b.share.budget.windows.Acquire(ctx, b.windows); err != nil {
		return context.Cause(ctx)
	}
	defer b.share.budget.windows.Release(b.windows)
	return b.later(source{r: b.raw.reader(), read: func(int) {}, end: b.raw.most})
}

// free gives back what the body holds. Nothing may use it any more.
func (b *body) free() {
	b.plain.free()
	b.kept.free()
	if b.raw != nil {
		b.raw.free()
	}
	b.share.release()
}

// Decode reads the body of an answer that was kept, and undoes its content
// coding, as for one that is fetched: up to Options.MaxSize bytes.
func (f *Fetcher) Decode(resp *http.Response) ([]byte, error) {
	b, err := f.readBody(resp, nil, f.opts.MaxSize, false, func(int) {})
	return b.plain.b, err
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

// maxScratch is the largest buffer that is kept, and as much of each body as
// needs no room in the budget of all.
const maxScratch = 256 << 10

// maxTrusted is how much memory is made ready because a server says so.
const maxTrusted = 4 << 20

// read reads r up to limit bytes, of which there are expected, if that is not
// negative. Where the body is lent its memory is that of the scratch buffer.
func (b *body) read(r io.Reader, limit, expected int64, lend bool) error {
	buf := scratch.Get().(*[]byte)
	p := &b.plain
	p.b = (*buf)[:0]
	b.share.asked += int64(cap(p.b))
	if n := min(expected, limit, maxTrusted) + 1; n > int64(cap(p.b)) && b.share.grow(n) {
		p.b = make([]byte, 0, n)
	}
	err := p.fill(r, limit)
	if p.size() > limit {
		p.cut(limit)
		b.cut, err = true, nil
	}
	switch {
	case p.file != nil, cap(p.b) > maxScratch:
		scratch.Put(buf)
	case lend:
		*buf = p.b
		b.lent = buf
	default:
		*buf = p.b
		p.b = bytes.Clone(p.b)
		scratch.Put(buf)
	}
	return err
}
