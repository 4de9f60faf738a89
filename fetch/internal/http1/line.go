package http1

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A Line is a connection that can be checked for data without waiting. TLS or HTTP uses it like
// any other connection.
type Line struct {
	net.Conn
	raw    syscall.RawConn // for reading without waiting; nil if the system cannot do that
	inside bool            // Conn is a pipe of package net

	looking bool // a check is under way, so Read must not wait
	try     func(fd uintptr)
	p       []byte // p is the buffer that the function try fills; n and err are its results
	n       int
	err     error
}

// NewLine returns a Line over c.
func NewLine(c net.Conn) *Line {
	l := &Line{Conn: c}
	if at := c.LocalAddr(); at != nil {
		l.inside = at.Network() == "pipe"
	}
	if tcp, ok := c.(*net.TCPConn); ok && canLook { // only a *net.TCPConn itself, because a connection that wraps one may buffer data
		if raw, err := tcp.SyscallConn(); err == nil {
			l.raw, l.try = raw, l.readNow
		}
	}
	return l
}

// Read implements net.Conn.
func (l *Line) Read(p []byte) (int, error) {
	if !l.looking {
		return l.Conn.Read(p)
	}
	if l.raw == nil {
		return l.readSoon(p)
	}
	l.p, l.n, l.err = p, 0, nil
	err := l.raw.Control(l.try) // RawConn.Read would wait
	l.p = nil
	if err == nil {
		err = l.err
	}
	return l.n, err
}

// soon is how long a check for data waits on a system that cannot read without waiting.
const soon = 50 * time.Microsecond

// readSoon reads the data that arrives within the time soon. It does not read from a pipe of
// package net: a pipe contains no data, because each writer waits for a reader. Setting the
// deadline of a pipe fails if its other end is closed.
func (l *Line) readSoon(p []byte) (n int, err error) {
	if err := l.Conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		return 0, err
	}
	if err = errNothing; !l.inside {
		n, err = l.Conn.Read(p)
	}
	if cerr := l.Conn.SetReadDeadline(time.Time{}); cerr != nil {
		return n, cerr
	}
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errNothing
	}
	return n, err
}

// errNothing is the error of a check that finds no data. crypto/tls does not treat this error
// as the end of the connection.
var errNothing error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "nothing has come" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

// Quiet reports whether a kept connection can be used for the next exchange: it is open, and the
// server has sent nothing since the last answer. The Line l is the connection below c, or below
// the TLS that c uses. Data that only TLS uses, such as session tickets, is accepted.
func (c *Conn) Quiet(l *Line) bool {
	l.looking = true
	n, err := c.on.Read(c.one[:])
	l.looking = false
	return n == 0 && errors.Is(err, errNothing)
}
