// Package http1 speaks HTTP/1.1 (RFC 9112) as a client: one request at a time over one
// connection, on the goroutine of who asks. It starts none, has no lock and repeats
// nothing. What a server sends has bounds, each of them with a name below.
//
// It reads what browsers and curl read, where that cannot be taken for something else:
// lines that end in LF alone, status lines without a reason, folded fields, lines that are
// no field, a length that is no number. Where two readers could see two different answers, it sees none, or gives the
// connection up behind it.
package http1

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of what is read of an answer. A body has none here: who reads it stops.
const (
	MaxHead = 256 << 10 // bytes of the head, with those of the interim answers before it

	maxInterim = 64       // interim answers before one that is final
	maxSize    = 4 << 10  // bytes of the line with the size of a chunk, its extensions included
	maxExcess  = 16 << 10 // bytes of chunks that are no content, beyond what small chunks need
	maxTrailer = 16 << 10 // bytes of the trailer section
	maxNothing = 100      // reads in a row that bring nothing
)

// Errors of an answer that cannot be read. A connection that fails has the errors of its
// own, and io.ErrUnexpectedEOF where it ends too early.
var (
	// ErrHeadSize is that of a head over MaxHead, or with too many interim answers.
	ErrHeadSize = errors.New("the head of the answer is longer than 256 KiB, or has more than 64 interim answers before it")

	// ErrProtocol is that of an answer that is none by RFC 9112: all that say why wrap it.
	ErrProtocol = errors.New("no answer of HTTP/1.1")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}

// A Conn is the client's end of a connection. After Send comes Receive, then the body is
// read, then End: in this order, by one goroutine at a time. It does not close what it is on.
type Conn struct {
	on   io.ReadWriter
	buf  *[]byte // what was read and not yet used is in (*buf)[r:w]; nil between two exchanges
	r, w int
	err  error // of the last read: it is told once all that came before is used

	head []byte // of the answer, as far as it came; in buf, until more is read
	resp Response
	body Body
	one  [1]byte
}

// bufferSize is what most heads fit in, and the beginning of a page.
const bufferSize = 8 << 10

// maxPooled is the largest buffer that is kept.
const maxPooled = 32 << 10

var buffers = sync.Pool{New: func() any {
	b := make([]byte, bufferSize)
	return &b
}}

// New returns a Conn over a connection on which nothing was said yet. Deadlines are the
// matter of who made that.
func New(on io.ReadWriter) *Conn {
	c := &Conn{on: on}
	c.body.c = c
	return c
}

// Send writes a request, as AppendRequest makes it. Where that fails, the server may have
// answered all the same: Receive tells.
func (c *Conn) Send(request []byte) error {
	c.begin()
	_, err := c.on.Write(request)
	return err
}

func (c *Conn) begin() {
	if c.buf == nil {
		c.buf = buffers.Get().(*[]byte)
	}
	c.r, c.w, c.err, c.head = 0, 0, nil, nil
	c.resp = Response{}
	c.body = Body{c: c, done: true}
}

// End ends the exchange: what Receive and Head returned must not be used any more, but for
// the fields. It reports whether another request may be sent: the answer was read to its
// end, nothing came behind it, and neither side wants to close.
func (c *Conn) End() (again bool) {
	again = c.resp.keep && c.body.done && c.err == nil && c.r == c.w
	if c.buf != nil && len(*c.buf) <= maxPooled {
		buffers.Put(c.buf)
	}
	c.buf, c.head = nil, nil
	c.resp, c.body = Response{}, Body{c: c, done: true}
	return again
}

// buffered is what was read and not yet used.
func (c *Conn) buffered() []byte { return (*c.buf)[c.r:c.w] }

// fill reads at least one byte more into the buffer, which grows where it is full.
func (c *Conn) fill() error {
	if c.err != nil {
		return c.err
	}
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.w == len(*c.buf) {
		c.makeRoom()
	}
	n, err := c.pull((*c.buf)[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom moves what is not yet used to the front, or to a larger buffer.
func (c *Conn) makeRoom() {
	to := *c.buf
	if c.w-c.r > len(to)/2 {
		to = make([]byte, min(2*len(to), MaxHead+bufferSize))
	}
	c.w = copy(to, c.buffered())
	c.r = 0
	*c.buf = to
}

// pull reads from the connection. Its error is kept for later where it brought something.
func (c *Conn) pull(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	for range maxNothing {
		n, err := c.on.Read(p)
		if err != nil {
			c.err = err
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	c.err = io.ErrNoProgress
	return 0, c.err
}

// unexpected is the end of a connection within an answer.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
