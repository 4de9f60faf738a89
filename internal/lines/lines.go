// Package lines reads files of lines that may be damaged. A damaged file may have a large part
// of zero bytes, which looks like one very long line. So the length of a line is limited.
package lines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Max is the largest length of a line without the body of a page, in bytes. A crawl never
// writes a longer line.
const Max = 8 << 20

// MaxBody is the largest length of a line with the body of a page, in bytes. JSON may need six
// bytes for one byte of the body.
const MaxBody = 128 << 20

// ErrLong is the error for a line that is too long. The line is skipped.
var ErrLong = fmt.Errorf("the line is longer than %d bytes, the body of a page not counted", Max)

// A Reader reads lines. It needs at most twice as many bytes of memory as the largest length of
// a line.
type Reader struct {
	r      *bufio.Reader
	line   []byte
	torn   bool
	bodies bool // leave out the bodies of pages, see NewPageReader
	most   int  // largest length of a line, in bytes
}

// NewReader returns a Reader that returns lines unchanged.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10), most: Max} }

// NewPageReader returns a Reader of JSON lines that replaces the values of the members body and
// base64 by empty strings. Most of the file is in these values, which are as large as pages can
// be, and the callers do not need them.
func NewPageReader(r io.Reader) *Reader {
	l := NewReader(r)
	l.bodies = true
	return l
}

// NewBodyReader returns a Reader of JSON lines that may have the bodies of pages. A line may
// have MaxBody bytes.
func NewBodyReader(r io.Reader) *Reader {
	l := NewReader(r)
	l.most = MaxBody
	return l
}

// Torn reports whether the last line read had no newline.
func (l *Reader) Torn() bool { return l.torn }

// Next returns the next line, without its newline. The line is valid until the next call. The
// error is ErrLong if a line was skipped because it is too long, and io.EOF at the end.
func (l *Reader) Next() ([]byte, error) {
	l.line = l.line[:0]
	var scan bodyScanner
	read, long := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		read = read || len(part) > 0
		text := bytes.TrimSuffix(part, []byte("\n"))
		for len(text) > 0 {
			n, keep := len(text), true
			if l.bodies {
				n, keep = scan.step(text)
			}
			if keep && len(l.line)+n > l.most {
				long = true
			}
			if keep && !long {
				l.line = append(l.line, text[:n]...)
			}
			text = text[n:]
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && !read:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		l.torn = err == io.EOF
		if long {
			return nil, ErrLong
		}
		return l.line, nil
	}
}

// A bodyScanner scans JSON for the members body and base64 of the outermost object.
type bodyScanner struct {
	depth   int
	value   bool   // the position is in the outermost object, after the colon of a member
	text    bool   // the position is in a string
	escaped bool   // the position is after a backslash
	drop    bool   // the string is one that is dropped
	name    []byte // name of the member, cut to the length of "base64"
}

// step returns the number of bytes at the beginning of b that are all kept or all dropped, and
// whether they are kept.
func (s *bodyScanner) step(b []byte) (n int, keep bool) {
	if s.drop {
		for n < len(b) {
			c := b[n]
			if c == '"' && !s.escaped {
				s.drop = false
				return n, false
			}
			s.escaped = c == '\\' && !s.escaped
			n++
		}
		return n, false
	}
	for n < len(b) {
		c := b[n]
		n++
		if s.text {
			if c == '"' && !s.escaped {
				s.text = false
				continue
			}
			s.escaped = c == '\\' && !s.escaped
			if s.depth == 1 && !s.value && len(s.name) <= len("base64") {
				s.name = append(s.name, c)
			}
			continue
		}
		switch c {
		case '"':
			if s.depth == 1 && s.value && (string(s.name) == "body" || string(s.name) == "base64") {
				// Keep the closing quotation mark, which ends the string.
				s.drop, s.text = true, true
				return n, true
			}
			s.text = true
			if s.depth == 1 && !s.value {
				s.name = s.name[:0]
			}
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		case ':':
			s.value = s.value || s.depth == 1
		case ',':
			s.value = s.value && s.depth != 1
		}
	}
	return n, true
}
