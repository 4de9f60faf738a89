package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is sent with every request whose header is not plain. What
// comes in another coding is an error.
const acceptEncoding = "gzip, br, zstd"

// maxWindow is the largest window of zstd as a content coding (RFC 9659,
// section 3).
const maxWindow = 8 << 20

// idleDecoders is how many decoders of one coding are kept for the next body.
// One may hold a window of many MiB.
const idleDecoders = 2

// A decoder undoes one content coding (RFC 9110, section 8.4.1), of one body
// after the other.
type decoder struct {
	coding string
	src    source // of the body at hand
	undo   interface {
		io.Reader
		Reset(io.Reader) error
	}
}

// codingOf is the content coding of an answer: empty where the body stands as
// it is.
func codingOf(h http.Header) (string, error) {
	switch coding := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ","))); coding {
	case "", "identity":
		return "", nil
	case "gzip", "x-gzip": // RFC 9110, section 8.4.1.3
		return "gzip", nil
	case "br", "zstd":
		return coding, nil
	case "compress", "x-compress", "deflate", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm":
		return "", &decodeError{fmt.Errorf("Content-Encoding %s was not asked for", coding)}
	default:
		if strings.Contains(coding, ",") {
			return "", &decodeError{fmt.Errorf("Content-Encoding %.100q is more than one coding", coding)}
		}
		return "", nil // not registered with IANA: a mistake of the server
	}
}

func newDecoder(coding string) *decoder {
	d := &decoder{coding: coding}
	switch coding {
	case "gzip":
		d.undo = new(gzip.Reader)
	case "br":
		d.undo = new(brotli.Reader)
	default:
		// Only options out of their bounds are an error.
		d.undo, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}
	return d
}

// begin starts on the body that src has.
func (d *decoder) begin() {
	d.undo.Reset(&d.src) // its error is that of the first Read, too
	if z, ok := d.undo.(*gzip.Reader); ok {
		z.Multistream(false) // what comes behind it is no part of the body
	}
}

func (d *decoder) close() {
	if z, ok := d.undo.(*zstd.Decoder); ok {
		z.Close()
	}
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
	d.src = source{}
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

// blame turns what a decoder said of the body that came from src into whose
// fault it is: an end that comes too early is the connection's.
func blame(err error, src *source) error {
	switch {
	case src.err != nil:
		return src.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return &decodeError{err}
}

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

// A guarded reader ends a bomb early.
type guarded struct {
	d *decoder
	n int64 // decoded
}

func (g *guarded) Read(p []byte) (int, error) {
	// A decoder fills what it is given: in small portions it is stopped in time.
	n, err := g.d.undo.Read(p[:min(len(p), 64<<10)])
	g.n += int64(n)
	if g.n > freeBytes && g.n > maxRatio*g.d.src.n {
		return n, ErrBomb
	}
	return n, err
}
