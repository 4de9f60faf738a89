//go:build !unix

package http1

// canLook is false on systems that cannot read from a socket without waiting.
const canLook = false

func (*Line) readNow(uintptr) {}
