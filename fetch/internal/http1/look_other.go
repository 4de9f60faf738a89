//go:build !unix

package http1

// canLook is false, because the data of a socket cannot be read here without waiting.
const canLook = false

func (*Line) readNow(uintptr) {}
