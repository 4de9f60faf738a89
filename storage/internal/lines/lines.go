// Package lines reads files of lines that may be damaged: a hole in one is a line
// without an end, as long as the hole.
package lines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Max is the longest line of a crawl, without the body of a page, in bytes.
const Max = 8 << 20

// ErrLong is that of a line that is longer than Max, and was skipped.
var ErrLong = fmt.Errorf("the line is longer than %d bytes, the body of a page not counted", Max)

// A Reader reads lines, none of which takes more memory than Max bytes and what
// is doubled to get there.
type Reader struct {
	r      *bufio.Reader
	line   []byte
	torn   bool
	bodies bool // are left out
}

// NewReader reads lines of any kind.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// NewPageReader reads JSON lines without the strings of the members body and
// base64, which become empty: they are most of the file, may be as large as a
// page may be, and are not needed.
func NewPageReader(r io.Reader) *Reader {
	l := NewReader(r)
	l.bodies = true
	return l
}

// Torn reports whether the line that was read had no end.
func (l *Reader) Torn() bool { return l.torn }

// Next is the next line, without its end, valid until the next call. The error
// is ErrLong for a line that was skipped, and io.EOF where there is no more.
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
			if keep && len(l.line)+n > Max {
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

// A bodyScanner follows JSON as far as is needed to find the value of a member
// of the outermost object.
type bodyScanner struct {
	depth   int
	value   bool   // in the outermost object, behind the colon
	text    bool   // within a string
	escaped bool   // behind a backslash
	drop    bool   // within the string that is dropped
	name    []byte // of the member, as far as it may be one of a body
}

// step says how many bytes of b belong together, and whether they are kept.
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
				// The closing quotation mark is not dropped, and is taken for
				// the end of a string.
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
