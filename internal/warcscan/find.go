package warcscan

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
)

// A finder finds places in a file where a gzip member with a WARC record seems to begin.
type finder struct {
	file   io.ReaderAt
	length int64
	buf    []byte
	zip    gzip.Reader
}

const (
	windowSize = 32 << 10
	startSize  = 512 // number of bytes of a member that show how its record begins
)

// magic is the beginning of a gzip member (RFC 1952, section 2.3.1), with the method deflate.
var magic = []byte{0x1f, 0x8b, 8}

// after returns the first such place at the offset at or later. It returns the length of the
// file if no such place is left.
func (f *finder) after(at int64) int64 {
	if f.buf == nil {
		f.buf = make([]byte, windowSize)
	}
	for at < f.length {
		n, err := f.file.ReadAt(f.buf[:min(windowSize, f.length-at)], at)
		b, last := f.buf[:n], at+int64(n) == f.length
		if err != nil && !last {
			return f.length
		}
		most := n // look for the beginning of a member only before this
		if !last {
			most = n - startSize
		}
		for i := 0; i < most; i++ {
			next := bytes.Index(b[i:], magic)
			if next < 0 || i+next >= most {
				break
			}
			if i += next; f.begins(b[i:]) {
				return at + int64(i)
			}
		}
		if last {
			break
		}
		at += int64(most)
	}
	return f.length
}

func (f *finder) begins(b []byte) bool {
	var start [len("WARC/1.")]byte
	if f.zip.Reset(bytes.NewReader(b)) != nil {
		return false
	}
	_, err := io.ReadFull(&f.zip, start[:])
	return err == nil && string(start[:]) == "WARC/1."
}
