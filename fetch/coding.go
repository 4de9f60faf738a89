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

// acceptEncoding is the Accept-Encoding of every request, except when a refused request is
// repeated with plain header fields.
const acceptEncoding = "gzip, br, zstd"

// maxWindow is the largest window of zstd as a content coding (RFC 9659,
// section 3).
const maxWindow = 8 << 20

// maxCodings is the largest number of content codings that one body may have.
const maxCodings = 3

// idleDecoders is the number of decoders of one coding that are kept for the next bodies. Each
// may hold a window of many MiB.
const idleDecoders = 2

// codingsOf returns the content codings of an answer in the order in which they were applied (RFC
// 9110, section 8.4). The result is empty if the body is not encoded. Names that are not
// registered with IANA are mistakes of servers and are ignored. codingsOf fails if a registered
// coding is not supported, or if there are too many codings.
func codingsOf(h http.Header) (codings []string, err error) {
	for _, value := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name, _, _ = strings.Cut(name, ";") // codings have no parameters
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "x-gzip": // an old name of gzip (RFC 9110, section 8.4.1.3)
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

// A decoder removes one content coding (RFC 9110, section 8.4.1). It can decode many bodies, one
// after another.
type decoder struct {
	coding string
	undo   resetReader
	in     *bufio.Reader // buffer that undo reads from; nil if undo has its own buffer
	from   io.Reader     // reader of the encoded bytes; either in or undo reads from it
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
		z.Multistream(false) // stop at the end of each member: see the methods next and member
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

// An inflater removes the coding deflate, which is the zlib format (RFC 9110, section 8.4.1.2; RFC
// 1950). Some servers send raw deflate data (RFC 1951), which browsers accept. So a body that does
// not begin like zlib data is read as raw deflate data.
type inflater struct {
	in   *bufio.Reader
	from io.Reader     // reader of zlib or raw deflate data; the first Read chooses it
	zlib io.ReadCloser // kept for later bodies; nil before its first use
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
	err = nil                                                                          // the decoder reports a body of only one byte
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 { // a valid header of zlib data (RFC 1950, section 2.2)
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

// A decoding removes all content codings of a body, the last applied one first.
type decoding struct {
	src    source
	layers []*guarded // the decoders in the order in which they are used
	whole  bool       // set by requireWhole
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

// expect sets the Content-Length, which is negative if it is not known. Some servers send the
// number of decoded bytes as Content-Length. If a coding ends after exactly length decoded bytes,
// the decoding does not wait for more bytes.
func (d *decoding) expect(length int64) {
	if len(d.layers) == 1 {
		d.layers[0].length = length
	}
}

// requireWhole makes the decoding fail if bytes follow the end of a coding, or if the body has too
// many bytes on the wire.
func (d *decoding) requireWhole() {
	d.whole = true
	for _, l := range d.layers {
		l.whole = true
	}
}

// cut reports whether err says that a limit was reached. Then the part of the body before the
// limit is used.
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

// blame returns the error to report for err, which the last decoder has returned. If the
// connection failed or ended too early, blame returns the error of the connection. If the content
// coding is broken, it returns a *decodeError.
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

// decoders keeps the decoders that are not in use now. It is safe for concurrent use.
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

// A decompression bomb is a large body with a high ratio of decoded bytes to received bytes.
// Ordinary pages compress to about a tenth of their size. Logs and tables of numbers seldom
// compress to less than a fiftieth.
const (
	freeBytes = 4 << 20 // decoded bytes that are allowed with any ratio
	maxRatio  = 100     // largest number of decoded bytes for each byte on the wire, after the first freeBytes
)

// errBomb is the error of a body of more than 4 MiB with more than a hundred decoded bytes
// for each byte on the wire.
var errBomb = errors.New("the body grows like a decompression bomb")

// A guarded is a decoder that fails early if the body is a decompression bomb.
type guarded struct {
	*decoder
	src    *source // the source of the whole body, which counts the bytes on the wire
	n      int64   // bytes decoded so far
	most   int64   // largest value of n; 0: no limit
	whole  bool    // set by decoding.requireWhole
	length int64   // the Content-Length, set by decoding.expect; see there
	err    error   // the error that Read returns from now on, io.EOF at the end of the coding; nil while it can read
}

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (n int, err error) {
	if g.err != nil { // the caller may have ignored the error that the last Read returned together with bytes
		return 0, g.err
	}
	// A decoder fills the whole buffer that it gets. A small buffer makes the checks below come
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
// member of a gzip file follows, or an error. If the layer below has failed, end returns the error
// of that layer, because the decoder may have taken the failure for the end of its input.
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
