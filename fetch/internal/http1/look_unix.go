//go:build unix

package http1

import (
	"io"
	"syscall"
)

const canLook = true

// readNow reads the data that has arrived. The sockets of package net never block.
func (l *Line) readNow(fd uintptr) {
	for {
		n, err := syscall.Read(int(fd), l.p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			l.err = errNothing
		case err != nil:
			l.err = err
		case n == 0:
			l.err = io.EOF
		}
		l.n = max(0, n)
		return
	}
}
