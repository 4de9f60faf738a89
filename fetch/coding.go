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

// acceptEncoding is the Accept-Encoding of every request, except those that repeat a refused
// request with plain header fields.
const acceptEncoding = "gzip, br, zstd"

// maxWindow is the largest window of zstd as a content coding (RFC 9659,
// section 3).
const maxWindow = 8 << 20

// maxCodings is the largest number of content codings of one body that are undone.
const maxCodings = 3

// idleDecoders is the number of decoders of one coding that are kept for the next bodies. Each
// may hold a window of many MiB.
const idleDecoders = 2

// codingsOf returns the content codings of an answer in the order in which they were applied
// (RFC 9110, section 8.4). It returns none if the body is not encoded. Names that are not
// registered with IANA are mistakes of servers and are ignored. codingsOf fails if a registered
// coding is not built in, or if there are too many codings.
func codingsOf(h http.Header) (codings []string, err error) {
	for _, value := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name, _, _ = strings.Cut(name, ";") // codings have no parameters
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
		return nil, &decodeError{fmt.Errorf("Content-Encoding names %d codings, more than %d", len(codings), maxCodings)}
	}
	return codings, nil
}

// A decoder undoes one content coding (RFC 9110, section 8.4.1). It can decode many bodies, one
// after another.
type decoder struct {
	coding string
	undo   resetReader
	in     *bufio.Reader // the buffer from which undo reads; nil if undo has its own buffer
	from   io.Reader     // the reader of the encoded bytes: in reads from it, or undo does if in is nil
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
		// NewReader fails only if an option is out of bounds. All these options are within
		// their bounds.
		d.undo, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}
	return d
}

// begin starts decoding the bytes that the reader from returns.
func (d *decoder) begin(from io.Reader) {
	if d.from = from; d.in != nil {
		d.in.Reset(from)
		from = d.in
	}
	d.reset(from)
}

// reset makes undo decode the bytes that the reader from returns. If reset fails, the first
// Read of undo returns the same error.
func (d *decoder) reset(from io.Reader) error {
	err := d.undo.Reset(from)
	if z, ok := d.undo.(*gzip.Reader); ok {
		z.Multistream(false) // see the methods next and member
	}
	return err
}

// member starts the next member of a gzip file (RFC 1952, section 2.2). It returns io.EOF if no
// member follows. Any other bytes that follow are ignored.
func (d *decoder) member() error {
	if d.coding != "gzip" {
		return io.EOF
	}
	if head, _ := d.in.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return io.EOF
	}
	return d.reset(d.in)
}

// gzipMagic is the beginning of each member of a gzip file: the magic number and the number of
// the only compression method.
const gzipMagic = "\x1f\x8b\x08"

// errTrailing is the error of a body that must end with its content coding, but has more bytes.
var errTrailing = errors.New("the body has bytes after the end of its content coding")

// next starts the next member of a gzip file (RFC 1952, section 2.2) after the end of the
// current one. It returns io.EOF if no bytes follow. If the bytes that follow are not a member,
// it returns errTrailing, or the error of the gzip reader.
func (d *decoder) next() error {
	if d.in == nil {
		if n, err := io.ReadFull(d.from, make([]byte, 1)); n == 0 {
			return err
		}
		return errTrailing
	}
	if _, err := d.in.Peek(1); err != nil {
		return err
	}
	if d.coding == "gzip" {
		return d.reset(d.in)
	}
	return errTrailing
}

func (d *decoder) close() {
	if z, ok := d.undo.(*zstd.Decoder); ok {
		z.Close()
	}
}

// An inflater undoes the coding deflate, which is the zlib format (RFC 9110, section 8.4.1.2;
// RFC 1950). A body without the beginning of zlib data is read as raw deflate data (RFC 1951),
// which some servers send and browsers accept.
type inflater struct {
	in   *bufio.Reader
	from io.Reader     // the reader of zlib or raw deflate data, which the first Read chooses
	zlib io.ReadCloser // nil before the first use
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
	err = nil                                                                          // if there is only one byte, the decoder reports that
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

// A decoding undoes the content codings of a body. The coding that was applied last is undone
// first.
type decoding struct {
	src    source
	layers []*guarded // in the order in which they are undone
	whole  bool       // see requireWhole
}

// newDecoding returns a decoding of codings. get returns a decoder for a coding.
func newDecoding(codings []string, get func(string) *decoder) *decoding {
	d := &decoding{}
	for i := len(codings) - 1; i >= 0; i-- {
		d.layers = append(d.layers, &guarded{decoder: get(codings[i]), src: &d.src, length: -1})
	}
	return d
}

// begin starts decoding src and returns a reader of the decoded bytes. If there are several
// codings, the bytes between two of them have the same limit as the bytes on the wire.
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

// expect tells the decoding the Content-Length, which is negative if it is not known. Some
// servers send the number of decoded bytes as Content-Length. If a coding ends after exactly
// length decoded bytes, the decoding does not wait for more bytes.
func (d *decoding) expect(length int64) {
	if len(d.layers) == 1 {
		d.layers[0].length = length
	}
}

// requireWhole makes the decoding fail if bytes follow the end of a coding, or if there are too
// many bytes on the wire.
func (d *decoding) requireWhole() {
	d.whole = true
	for _, l := range d.layers {
		l.whole = true
	}
}

// cut reports whether err says that a limit was reached. The part of the body before the limit
// is then used.
func (d *decoding) cut(err error) bool {
	if err == nil || d.whole {
		return false
	}
	if d.src.err == errLength {
		return true
	}
	for _, l := range d.layers {
		if l.err == errBomb || l.err == errLength {
			return true
		}
	}
	return false
}

// empty reports whether no byte was received. An empty body is not an error, even if its header
// names a coding.
func (d *decoding) empty() bool { return d.src.err == nil && d.src.n == 0 }

// blame returns the error to report for err, which the last decoder returned. If the connection
// failed or ended too early, this is the error of the connection. If the content coding is
// broken, it is a *decodeError.
func (d *decoding) blame(err error) error {
	if d.src.err != nil {
		return d.src.err
	}
	for _, l := range d.layers { // a later decoder may replace the error of an earlier one
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

// decoders keeps the decoders that are not in use. It is safe for concurrent use.
type decoders struct {
	mu   sync.Mutex // guards idle, because visits run concurrently
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

// decodeError is an error of the content coding, not of the connection.
type decodeError struct{ error }

// Unwrap returns the decoder's error.
func (e *decodeError) Unwrap() error { return e.error }

// A decompression bomb is a body that is large and has a high ratio of decoded bytes to
// received bytes. Pages compress to about a tenth of their size. Logs and tables of numbers
// seldom compress to less than a fiftieth.
const (
	freeBytes = 4 << 20 // decoded bytes that are allowed with any ratio
	maxRatio  = 100     // decoded bytes that are allowed for each byte on the wire, if there are more than freeBytes
)

// errBomb is the error of a body of more than 4 MiB with more than a hundred decoded bytes
// for each byte on the wire.
var errBomb = errors.New("the body grows like a decompression bomb")

// A guarded is a decoder that fails early if the body is a decompression bomb.
type guarded struct {
	*decoder
	src    *source // the bytes on the wire of the whole body
	n      int64   // bytes decoded so far
	most   int64   // largest value of n; 0: no limit
	whole  bool    // see decoding.requireWhole
	length int64   // see decoding.expect
	err    error   // the error that Read returns from now on; io.EOF at the end of the coding
}

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (n int, err error) {
	if g.err != nil { // the reader may have ignored the error that the last Read returned together with bytes
		return 0, g.err
	}
	// A decoder fills the whole buffer that it gets. With a small buffer the checks below come
	// early enough.
	n, err = g.undo.Read(p[:min(len(p), 64<<10)])
	g.n += int64(n)
	switch {
	case g.n > freeBytes && g.n > maxRatio*g.src.n:
		err = errBomb
	case g.most > 0 && g.n > g.most:
		err = errLength
	case err == io.EOF:
		err = g.end()
	}
	g.err = err
	return n, err
}

// end handles the end of the coding. It returns io.EOF at the end of the body, nil if another
// member of a gzip file follows, or an error. If the decoder from which this decoder reads has
// failed, end returns that error, because this decoder may have taken the error for the end of
// its input.
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
