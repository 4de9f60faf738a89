package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// A body is the content of an answer, or the part of the content that was read.
type body struct {
	decoded []byte
	wire    []byte  // the content as received, with its content coding; set only with Options.KeepWire
	n       int64   // number of bytes that were received
	cut     bool    // the content continues after decoded
	lent    *[]byte // the scratch buffer that holds decoded; nil if decoded has its own memory
	share   share   // the part of the memory budget that the body has taken

	plain, kept spool  // plain collects the bytes of decoded, and kept those of wire
	raw         *spool // bytes as received, to be decoded later, because all decoders with a large window were in use
	windows     int64  // number of large windows that decoding raw needs
	later       func(src source) error
}

// A source reads the content of an answer from the connection. The transfer coding was already
// removed, but the content coding was not.
type source struct {
	r    io.Reader
	read func(int) // called after each read with the number of bytes of that read
	most int       // largest number of bytes of one read; 0: no limit
	end  int64     // largest number of bytes of the whole body; 0: no limit
	keep *spool    // receives a copy of the bytes; nil: no copy
	n    int64
	err  error // the last error of r, except io.EOF
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

// readBody reads and decodes an answer's body, up to limit bytes. After each read from the
// connection it calls read with the number of bytes. If lend is true, the body may use a scratch
// buffer. The caller must call settle before it uses the body. settle needs no connection.
func (f *Fetcher) readBody(resp *http.Response, budget *budget, limit int64, lend bool, read func(int)) (*body, error) {
	return f.readAs(resp, budget, limit, lend, false, read)
}

// readRules is readBody for robots.txt, tdmrep.json and licenses. It returns an error if bytes
// follow the end of the content coding: they may contain a rule that forbids a page.
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
	// A limit of the decoded bytes is not enough: a coding can have endless bytes on the wire
	// that decode to nothing, such as empty blocks or frames to skip.
	src.end = mostCoded(limit)
	if !budget.window(codings...) {
		b.raw, b.windows = &spool{share: &share{budget: budget, full: true}}, largeWindows(codings)
		b.later = func(src source) error {
			return f.decode(b, newDecoding(codings, f.decoders.get), src, limit, lend, false)
		}
		if err = b.raw.fill(&src, src.end-1); err == errLength {
			b.raw.most = b.raw.size() // if the body was cut at its limit, decodeRaw cuts it at the same place
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
		d.requireWhole()
	}
	// The content coding may end before the transfer coding or the HTTP/2 stream. The bytes after
	// its end are read so that the connection can be kept. An error in these bytes is ignored.
	// With HTTP/1.1 and a Content-Length they are not read: some servers send the number of
	// decoded bytes as Content-Length by mistake, and the missing bytes would never come.
	return b, f.decode(b, d, src, limit, lend, resp.ContentLength < 0 || resp.ProtoMajor == 2)
}

// mostCoded returns how many bytes a body may have on the wire if it may have limit bytes after
// decoding.
func mostCoded(limit int64) int64 { return limit + limit/16 + 64<<10 }

// decode reads and decodes src into b. If drained is true, it also reads the bytes after the
// end of the content coding.
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

// settle moves the body from temporary files into memory, and decodes it if readBody has not.
// If the memory budget had no room for the body, settle waits until there is room, or until ctx
// ends. The body holds no connection during the wait.
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

// free releases the memory and files of the body, which must not be used afterwards.
func (b *body) free() {
	b.plain.free()
	b.kept.free()
	if b.raw != nil {
		b.raw.free()
	}
	b.share.release()
}

// Decode reads the body of a stored answer and removes its content coding, up to Options.MaxSize
// bytes. It treats the body like one from the network.
func (f *Fetcher) Decode(resp *http.Response) ([]byte, error) {
	b, err := f.readBody(resp, nil, f.opts.MaxSize, false, func(int) {})
	return b.plain.b, err
}

var errLength = errors.New("the body has too many bytes on the wire")

// drain reads and drops the bytes after the end of a body. It stops when more than limit bytes
// of src were read, including those of the body.
func drain(src *source, limit int64) {
	buf := make([]byte, 512)
	for src.n <= limit {
		if _, err := src.Read(buf); err != nil {
			return
		}
	}
}

// scratch holds buffers for bodies. Growing a new buffer for each body would cost more time
// than HTTP does.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the size in bytes of the largest buffer that is kept in scratch. The first
// maxScratch bytes of each body do not count in the memory budget.
const maxScratch = 256 << 10

// maxTrusted is the largest number of bytes that are allocated in advance because of a
// Content-Length.
const maxTrusted = 4 << 20

// read reads r up to limit bytes into b.plain. expected is the number of bytes that the
// Content-Length announces, or negative if it is not known. If lend is true, the bytes stay in
// the scratch buffer.
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
