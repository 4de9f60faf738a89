// Package http1 is a client for HTTP/1.1 (RFC 9112). It makes one request at a time over one
// connection, on the goroutine of the caller. It starts no goroutine, has no lock and repeats
// no request. The data that it reads from a server is limited. Each limit has a name below.
//
// It accepts deviations that browsers and curl accept, if they have only one meaning: lines
// that end in LF alone, status lines without a reason, folded fields, lines that are not
// fields, a length that is not a number. If two clients could read an answer differently, it
// returns an error, or does not use the connection after that answer.
package http1

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Limits of an answer. The caller limits the body, because it can stop reading.
const (
	MaxHead = 256 << 10 // largest number of bytes of the head, including the interim answers before it

	maxInterim = 64       // largest number of interim answers before the final one
	maxSize    = 4 << 10  // largest number of bytes of the line with the size of a chunk, including its extensions
	maxExcess  = 16 << 10 // largest value of Body.excess, in bytes
	maxTrailer = 16 << 10 // largest number of bytes of the trailer section
	maxNothing = 100      // largest number of reads in a row that return no byte
)

// Errors of an answer that cannot be parsed. If the connection fails, the error of the connection
// is returned instead. If it ends too early, the error is io.ErrUnexpectedEOF or wraps it.
var (
	// ErrHeadSize is the error of a head that is longer than MaxHead or has too many interim
	// answers.
	ErrHeadSize = errors.New("the head of the answer is longer than 256 KiB, or has more than 64 interim answers before it")

	// ErrProtocol is the error of an answer that violates RFC 9112. The returned errors wrap
	// ErrProtocol and say what is wrong.
	ErrProtocol = errors.New("no answer of HTTP/1.1")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}

// A Conn is the client's end of a connection. Each exchange calls Send, then Receive, reads
// the body, and calls End, in this order and on one goroutine at a time. A Conn does not
// close the connection below it.
type Conn struct {
	on   io.ReadWriter
	buf  *[]byte // (*buf)[r:w] are bytes that were read and not used yet; nil between two exchanges
	r, w int
	err  error // error of the last read; it is returned after all bytes before the error were used

	head []byte // the received part of the answer's head; it points into buf, and is valid until the next read
	resp Response
	body Body
	one  [1]byte
}

// bufferSize is the size of a buffer in bytes. The head of most answers fits into it, together
// with the beginning of the page.
const bufferSize = 8 << 10

// maxPooled is the size in bytes of the largest buffer that is kept for another exchange.
const maxPooled = 32 << 10

var buffers = sync.Pool{New: func() any {
	b := make([]byte, bufferSize)
	return &b
}}

// New returns a Conn over a new connection. The caller sets the deadlines of the connection.
func New(on io.ReadWriter) *Conn {
	return &Conn{on: on}
}

// Send writes a request that AppendRequest made. If Send fails, the server may still have
// answered, so the caller should call Receive.
func (c *Conn) Send(request []byte) error {
	c.begin()
	_, err := c.on.Write(request)
	return err
}

func (c *Conn) begin() {
	c.buf = buffers.Get().(*[]byte)
	c.r, c.w, c.err = 0, 0, nil
}

// End ends the exchange. It reports whether another request may be sent. This is so if the answer
// was read to its end, no byte followed the answer, and neither side wants to close the
// connection. After End, the results of Receive and Head must not be used, except for the header
// fields.
func (c *Conn) End() (again bool) {
	again = c.resp.keep && c.body.done && c.err == nil && c.r == c.w
	if c.buf != nil && len(*c.buf) <= maxPooled {
		buffers.Put(c.buf)
	}
	c.buf, c.head = nil, nil
	c.resp, c.body = Response{}, Body{done: true}
	return again
}

// buffered returns the bytes that were read and not yet used.
func (c *Conn) buffered() []byte { return (*c.buf)[c.r:c.w] }

// fill reads at least one more byte into the buffer, which grows if it is full.
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

// makeRoom moves the unused bytes to the front of the buffer, or to a larger buffer.
func (c *Conn) makeRoom() {
	to := *c.buf
	if c.w-c.r > len(to)/2 {
		to = make([]byte, min(2*len(to), MaxHead+bufferSize))
	}
	c.w = copy(to, c.buffered())
	c.r = 0
	*c.buf = to
}

// pull reads from the connection. After an error, all later calls return the same error.
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

// unexpected returns io.ErrUnexpectedEOF if err is io.EOF, because the connection then ended
// within an answer. Otherwise it returns err.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
