package warc

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Skip searches for the next record after a record that could not be read. It finds a gzip member
// that begins like a record, or a record after two line ends. The next call of Next returns that
// record, or io.EOF if none exists. Skip returns the number of bytes from the unreadable record
// to the place where the search ended.
func (r *Reader) Skip() (int64, error) {
	if r.current != nil && r.err == nil {
		if _, err := r.current.Close(); err == nil {
			return 0, nil
		}
	}
	from := r.offset()
	if e := (*Error)(nil); errors.As(r.err, &e) {
		from = e.Offset
	}
	last := r.before // the four bytes before ahead
	for {
		ahead, err := r.in.Peek(r.in.Size())
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return r.offset() - from, r.fail(r.offset(), err)
		}
		if len(ahead) == 0 {
			break
		}
		// Leave enough bytes after the current one to recognize the beginning of a record.
		n := len(ahead)
		if err == nil {
			n = len(ahead) / 2
		}
		for i := range n {
			// The record that failed must not be found again.
			if r.offset()+int64(i) > from && r.begins(ahead[i:], last) {
				r.in.Discard(i) // no error: Peek has read these bytes
				r.err, r.current = nil, nil
				return r.offset() - from, nil
			}
			last = last<<8 | uint32(ahead[i])
		}
		r.in.Discard(n)
	}
	r.err, r.current = nil, nil
	return r.offset() - from, nil
}

// begins reports whether a record begins at b. before has the four bytes of the file before b.
func (r *Reader) begins(b []byte, before uint32) bool {
	const version = "WARC/1."
	if before == 0x0d0a0d0a && bytes.HasPrefix(b, []byte(version)) {
		return true
	}
	if r.arc && before&0xff == '\n' {
		if _, ok := lineOfARC(b); ok {
			return true
		}
	}
	// The header of a gzip member (RFC 1952, section 2.3.1) begins with two bytes that identify
	// gzip, method deflate, and no reserved flag.
	if len(b) < 4 || b[0] != 0x1f || b[1] != 0x8b || b[2] != 8 || b[3]&0xe0 != 0 {
		return false
	}
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return false
	}
	start := make([]byte, len(version), 512)
	n, _ := io.ReadFull(zip, start)
	if string(start[:n]) == version {
		return true
	}
	if bytes.ContainsFunc(start, control) {
		return false
	}
	rest, _ := io.ReadAll(io.LimitReader(zip, maxARCLine))
	_, ok := lineOfARC(append(start[:n], rest...))
	return ok
}
