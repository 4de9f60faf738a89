package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is sent with every request whose header is not plain.
const acceptEncoding = "gzip, br, zstd"

// maxWindow is the largest window of zstd as a content coding (RFC 9659,
// section 3).
const maxWindow = 8 << 20

// maxCodings is how many codings of one body are undone, one after the other.
const maxCodings = 3

// idleDecoders is how many decoders of one coding are kept for the next body.
// One may hold a window of many MiB.
const idleDecoders = 2

// codingsOf returns the content codings of an answer in the order in which they were applied
// (RFC 9110, section 8.4); none if the body is as it is. Names that are not registered with
// IANA are mistakes of servers, and left out. The error is that of a registered coding that
// is not built in, or of too many.
func codingsOf(h http.Header) (codings []string, err error) {
	for _, value := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name, _, _ = strings.Cut(name, ";") // it has no parameters
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "x-gzip": // RFC 9110, section 8.4.1.3
				codings = append(codings, "gzip")
			case "gzip", "deflate", "br", "zstd":
				codings = append(codings, name)
			case "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm":
				return nil, &decodeError{fmt.Errorf("Content-Encoding %s was not asked for", name)}
			}
		}
	}
	if len(codings) > maxCodings {
		return nil, &decodeError{fmt.Errorf("Content-Encoding names %d codings, of which %d are undone", len(codings), maxCodings)}
	}
	return codings, nil
}

// A decoder undoes one content coding (RFC 9110, section 8.4.1), of one body after the other.
type decoder struct {
	coding string
	undo   resetReader
	in     *bufio.Reader // what undo reads from, unless that reads ahead
	from   io.Reader     // what undo, or in, reads from
}

type resetReader interface {
	io.Reader
	Reset(io.Reader) error
}

func newDecoder(coding string) *decoder {
	d := &decoder{coding: coding}
	switch coding {
	case "gzip":
		d.undo, d.in = new(gzip.Reader), bufio.NewReader(nil)
	case "deflate":
		d.undo, d.in = new(inflater), bufio.NewReader(nil)
	case "br":
		d.undo = new(brotli.Reader)
	default:
		// Only options out of their bounds are an error.
		d.undo, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}
	return d
}

// begin starts on what from has.
func (d *decoder) begin(from io.Reader) {
	if d.from = from; d.in != nil {
		d.in.Reset(from)
		from = d.in
	}
	d.reset(from)
}

// reset lets undo begin anew. Its error is that of the first Read, too.
func (d *decoder) reset(from io.Reader) error {
	err := d.undo.Reset(from)
	if z, ok := d.undo.(*gzip.Reader); ok {
		z.Multistream(false) // see next and member
	}
	return err
}

// member goes on with the next member of a gzip file (RFC 1952, section 2.2). The error is
// io.EOF if none follows: other bytes after the end of a coding do not count.
func (d *decoder) member() error {
	if d.coding != "gzip" {
		return io.EOF
	}
	if head, _ := d.in.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return io.EOF
	}
	return d.reset(d.in)
}

// gzipMagic is how each member of a gzip file begins, with its only method.
const gzipMagic = "\x1f\x8b\x08"

// errBehind is that of a body that has to be whole.
var errBehind = errors.New("the body has bytes after the end of its content coding")

// next goes on after the end of what undo has read: with the next member of a gzip file
// (RFC 1952, section 2.2). The error is io.EOF if there is nothing more.
func (d *decoder) next() error {
	if d.in == nil {
		if n, err := io.ReadFull(d.from, make([]byte, 1)); n == 0 {
			return err
		}
		return errBehind
	}
	if _, err := d.in.Peek(1); err != nil {
		return err
	}
	if d.coding == "gzip" {
		return d.reset(d.in)
	}
	return errBehind
}

func (d *decoder) close() {
	if z, ok := d.undo.(*zstd.Decoder); ok {
		z.Close()
	}
}

// An inflater undoes the coding deflate, which is the format of zlib (RFC 9110, section
// 8.4.1.2; RFC 1950). What does not begin as that is taken for bare deflate data (RFC 1951),
// which some servers send, and browsers read.
type inflater struct {
	in   *bufio.Reader
	from io.Reader     // zlib or raw: found out by the first Read
	zlib io.ReadCloser // nil until it was needed
	raw  io.ReadCloser
}

// Reset implements resetReader.
func (z *inflater) Reset(r io.Reader) error {
	z.in, z.from = r.(*bufio.Reader), nil
	return nil
}

// Read implements io.Reader.
func (z *inflater) Read(p []byte) (int, error) {
	if z.from == nil {
		if err := z.begin(); err != nil {
			return 0, err
		}
	}
	return z.from.Read(p)
}

func (z *inflater) begin() error {
	head, err := z.in.Peek(2)
	if len(head) == 0 {
		return err
	}
	err = nil                                                                          // one byte and its end are for the decoder
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 { // RFC 1950, section 2.2
		if z.zlib == nil {
			z.zlib, err = zlib.NewReader(z.in)
		} else {
			err = z.zlib.(zlib.Resetter).Reset(z.in, nil)
		}
		z.from = z.zlib
		return err
	}
	if z.raw == nil {
		z.raw = flate.NewReader(z.in)
	} else {
		err = z.raw.(flate.Resetter).Reset(z.in, nil)
	}
	z.from = z.raw
	return err
}

// A decoding is a body whose codings are undone, the last one that was applied first.
type decoding struct {
	src    source
	layers []*guarded // in the order in which they are undone
	whole  bool       // see beWhole
}

// newDecoding returns a decoding with a decoder of each coding, which get returns.
func newDecoding(codings []string, get func(string) *decoder) *decoding {
	d := &decoding{}
	for i := len(codings) - 1; i >= 0; i-- {
		d.layers = append(d.layers, &guarded{decoder: get(codings[i]), src: &d.src, length: -1})
	}
	return d
}

// begin starts on src. What one coding stands for that is not the last has the bound of what
// comes over the wire.
func (d *decoding) begin(src source) io.Reader {
	d.src = src
	var from io.Reader = &d.src
	for i, l := range d.layers {
		l.begin(from)
		if i < len(d.layers)-1 {
			l.most = src.end
		}
		from = l
	}
	return from
}

// expect says that the Content-Length is length; negative if there is none. That it counts the
// decoded bytes is a common mistake: more is not waited for then.
func (d *decoding) expect(length int64) {
	if len(d.layers) == 1 {
		d.layers[0].length = length
	}
}

// beWhole says that the body ends where the source does: bytes after the end of a coding, or
// too many on the wire, are an error.
func (d *decoding) beWhole() {
	d.whole = true
	for _, l := range d.layers {
		l.whole = true
	}
}

// cut reports whether err is that of a bound, where the body is taken as far as that.
func (d *decoding) cut(err error) bool {
	if err == nil || d.whole {
		return false
	}
	if d.src.err == errLength {
		return true
	}
	for _, l := range d.layers {
		if l.err == ErrBomb || l.err == errLength {
			return true
		}
	}
	return false
}

// empty reports whether nothing came: an empty body is not compressed.
func (d *decoding) empty() bool { return d.src.err == nil && d.src.n == 0 }

// blame turns an error of the last decoder into whose fault it is: an end that comes too
// early is the connection's.
func (d *decoding) blame(err error) error {
	if d.src.err != nil {
		return d.src.err
	}
	for _, l := range d.layers { // a decoder says in its own words what the one before it said
		if l.err != nil && l.err != io.EOF {
			err = l.err
			break
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return &decodeError{err}
}

// decoders are those that no body uses. It is safe for concurrent use.
type decoders struct {
	mu   sync.Mutex // guards idle: visits take and give back side by side
	idle map[string][]*decoder
}

func (p *decoders) get(coding string) *decoder {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[coding]
	if len(idle) == 0 {
		return newDecoder(coding)
	}
	d := idle[len(idle)-1]
	p.idle[coding] = idle[:len(idle)-1]
	return d
}

func (p *decoders) put(d *decoder) {
	if d.from = nil; d.in != nil {
		d.in.Reset(nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[d.coding]) >= idleDecoders {
		d.close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*decoder{}
	}
	p.idle[d.coding] = append(p.idle[d.coding], d)
}

func (p *decoders) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, idle := range p.idle {
		for _, d := range idle {
			d.close()
		}
	}
	p.idle = nil
}

// decodeError is an error of the coding, not of the connection.
type decodeError struct{ error }

// Unwrap returns what the decoder said.
func (e *decodeError) Unwrap() error { return e.error }

// The bomb guard: a body may have any size up to the cap as long as it is
// small, or comes from a fair number of bytes. Pages compress to a tenth, logs
// and tables of numbers seldom below a fiftieth.
const (
	freeBytes = 4 << 20 // decoded bytes that need no bytes of the wire
	maxRatio  = 100     // decoded bytes for each one of the wire, beyond that
)

// ErrBomb ends a body of more than 4 MiB that has a hundred times as many decoded bytes
// as came over the wire.
var ErrBomb = errors.New("the body grows like a decompression bomb")

// A guarded decoder ends a bomb early.
type guarded struct {
	*decoder
	src    *source // of the whole body
	n      int64   // bytes that it has decoded
	most   int64   // bound of n; 0: none
	whole  bool    // see decoding.beWhole
	length int64   // see decoding.expect
	err    error   // that ended it; io.EOF for its end
}

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (n int, err error) {
	if g.err != nil { // a reader may have overlooked it, beside bytes
		return 0, g.err
	}
	// A decoder fills what it is given: in small portions it is stopped in time.
	n, err = g.undo.Read(p[:min(len(p), 64<<10)])
	g.n += int64(n)
	switch {
	case g.n > freeBytes && g.n > maxRatio*g.src.n:
		err = ErrBomb
	case g.most > 0 && g.n > g.most:
		err = errLength
	case err == io.EOF:
		err = g.end()
	}
	g.err = err
	return n, err
}

// end is what comes after the end of the coding: io.EOF, an error, or nil if there is more. A
// decoder may take an error of what it reads from for the end.
func (g *guarded) end() error {
	if before, ok := g.from.(*guarded); ok && before.err != nil && before.err != io.EOF {
		return before.err
	}
	switch {
	case g.n == g.length:
		return io.EOF
	case g.whole:
		return g.next()
	}
	return g.member()
}
