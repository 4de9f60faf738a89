package http1

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A Line is a connection that can be looked at without waiting: what TLS is spoken over, or
// HTTP itself.
type Line struct {
	net.Conn
	raw    syscall.RawConn // nil where the system cannot be asked
	inside bool            // a pipe of package net

	looking bool // reads do not wait
	try     func(fd uintptr)
	p       []byte // what try reads into, and what came of it
	n       int
	err     error
}

// NewLine returns the line that is c.
func NewLine(c net.Conn) *Line {
	l := &Line{Conn: c}
	if at := c.LocalAddr(); at != nil {
		l.inside = at.Network() == "pipe"
	}
	if tcp, ok := c.(*net.TCPConn); ok && canLook { // nobody else has a hand in what is read
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
	err := l.raw.Control(l.try) // Read of it would wait
	l.p = nil
	if err == nil {
		err = l.err
	}
	return l.n, err
}

// soon is how long a look takes where the system cannot be asked.
const soon = 50 * time.Microsecond

// readSoon reads what is there, but for what takes long to be told of. A pipe says that its
// other end is closed where it is given a deadline; who writes into it waits for a reader,
// so that nothing is on its way.
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

// errNothing is that of a look that sees nothing. It is one that crypto/tls does not take
// for the end of the connection.
var errNothing error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "nothing has come" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

// Quiet reports whether a connection between two exchanges can be used for the next: it is
// open, and the server said nothing that it was not asked. l is what c is on, or what the
// TLS is on that c is on: what only TLS has to say, such as session tickets, is taken.
func (c *Conn) Quiet(l *Line) bool {
	l.looking = true
	n, err := c.on.Read(c.one[:])
	l.looking = false
	return n == 0 && errors.Is(err, errNothing)
}
