//go:build !unix

package http1

// canLook is false, since the data of a socket cannot be read here without waiting.
const canLook = false

func (*Line) readNow(uintptr) {}
