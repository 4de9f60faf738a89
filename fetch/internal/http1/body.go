package http1

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
)

// A Body is a reader of the content of an answer, without its transfer coding. A complete body
// ends with io.EOF. An incomplete one ends with io.ErrUnexpectedEOF, an error that wraps
// ErrProtocol, or an error of the connection.
type Body struct {
	c    *Conn
	done bool // the body was read to its end
	err  error

	left    int64 // unread bytes of the body or of the current chunk; -1: all bytes until the connection ends
	chunked bool
	behind  bool  // the content of a chunk was read, so its line end comes next, and then the size of the next chunk
	bare    bool  // the line with the chunk size ended in LF alone, so the chunk may do so, too
	excess  int64 // bytes that are neither content nor allowed for the size and line ends of a chunk
}

// Close does not read the rest of the body. If the body was not read to its end, the connection
// cannot be used for another request.
func (*Body) Close() error { return nil }

// frame determines how long the body of the answer is (RFC 9112, section 6.3). If bodiless is
// true, the answer has no body.
func (c *Conn) frame(bodiless bool) error {
	resp, h := &c.resp, c.resp.Header
	resp.keep = keeps(resp) && !resp.odd
	resp.Length, c.body = 0, Body{done: true}
	coding, coded := h["Transfer-Encoding"]
	current := resp.isCurrent()
	if coded {
		delete(h, "Transfer-Encoding")
		resp.keep = resp.keep && current
	}
	if bodiless || resp.Status == http.StatusSwitchingProtocols || resp.Status == http.StatusNoContent || resp.Status == http.StatusNotModified {
		return nil
	}
	if coded && current { // Transfer-Encoding does not exist in HTTP/1.0
		chunks, err := countChunked(coding)
		if err != nil {
			return err
		}
		if chunks > 0 {
			if _, both := h["Content-Length"]; both || chunks > 1 {
				delete(h, "Content-Length")
				resp.keep = false
			}
			resp.Length, c.body = -1, Body{c: c, chunked: true}
			return nil
		}
	}
	length, err := parseLength(h["Content-Length"])
	if err != nil {
		return err
	}
	resp.Length, c.body = length, Body{c: c, left: length, done: length == 0}
	return nil
}

// isCurrent reports whether the version of an answer is HTTP/1.1.
func (r *Response) isCurrent() bool { return r.Major == 1 && r.Minor >= 1 }

// keeps reports whether a server keeps the connection open after an answer (RFC 9112, section
// 9.3).
func keeps(resp *Response) bool {
	if resp.Status == http.StatusSwitchingProtocols {
		return false
	}
	closes, keeps := false, resp.isCurrent()
	for _, value := range resp.Header["Connection"] {
		for token := range strings.SplitSeq(value, ",") {
			token = trim(token)
			closes = closes || strings.EqualFold(token, "close")
			keeps = keeps || strings.EqualFold(token, "keep-alive")
		}
	}
	return keeps && !closes
}

// countChunked returns how often the values of Transfer-Encoding contain chunked. The coding is
// applied once in any case. The coding identity is ignored, because it changes nothing (RFC 2616,
// section 3.6). countChunked fails for any other coding, because no request accepts one.
func countChunked(values []string) (n int, err error) {
	for _, value := range values {
		for coding := range strings.SplitSeq(value, ",") {
			switch coding = trim(coding); {
			case strings.EqualFold(coding, "chunked"):
				n++
			case coding != "" && !strings.EqualFold(coding, "identity"):
				return n, malformed("the transfer coding %.100q was not asked for", coding)
			}
		}
	}
	return n, nil
}

// parseLength parses the Content-Length fields. There may be several if all have the same value
// (RFC 9110, section 8.6). The length is -1 if there is no such field. It is also -1 if there is
// one field with a value that is not a number: browsers ignore such a field.
func parseLength(values []string) (int64, error) {
	length := int64(-1)
	if len(values) == 1 && !strings.Contains(values[0], ",") {
		if n, ok := parseInt(trim(values[0]), 10); ok {
			return n, nil
		}
		return -1, nil
	}
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			n, ok := parseInt(trim(one), 10)
			if !ok || length >= 0 && n != length {
				return length, malformed("the length %.100q", strings.Join(values, ", "))
			}
			length = n
		}
	}
	return length, nil
}

// parseInt parses a number of the given base that consists of digits only.
func parseInt(s string, base int64) (n int64, ok bool) {
	for i := range len(s) {
		digit := int64(base)
		switch c := s[i] | 0x20; {
		case isDigit(s[i]):
			digit = int64(s[i] - '0')
		case 'a' <= c && c <= 'f':
			digit = int64(c-'a') + 10
		}
		if digit >= base || n > (math.MaxInt64-digit)/base {
			return 0, false
		}
		n = n*base + digit
	}
	return n, s != ""
}

// Read implements io.Reader. If Read has content to return, it does not wait for more bytes,
// except for the end of the trailer section.
func (b *Body) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	switch {
	case b.done:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case b.chunked:
		n, err = b.readChunks(p)
	case b.left < 0:
		if n, err = b.c.read(p); err == io.EOF {
			b.done = true
		}
	default:
		n, err = b.readContent(p)
		b.done = b.left == 0
	}
	if err != nil && !b.done {
		b.err = err
	}
	return n, err
}

// readContent reads content of a body or a chunk that has b.left bytes left.
func (b *Body) readContent(p []byte) (int, error) {
	n, err := b.c.read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, unexpected(err)
}

// read reads into p, through the buffer of c if p is small. It never returns bytes together
// with an error.
func (c *Conn) read(p []byte) (int, error) {
	if c.r == c.w {
		if len(p) >= len(*c.buf) {
			n, err := c.pull(p)
			if n > 0 {
				err = nil
			}
			return n, err
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buffered())
	c.r += n
	return n, nil
}

var (
	errChunkEnd  = errors.New("a chunk does not end where its size says")
	errExcess    = errors.New("the chunks have too much beside their content")
	errTrailer   = errors.New("the trailer section is longer than 16 KiB")
	errChunkLine = errors.New("the line with the size of a chunk is longer than 4 KiB")
)

// readChunks reads the content of chunks (RFC 9112, section 7.1), and the trailer section
// after the last one.
func (b *Body) readChunks(p []byte) (n int, err error) {
	for n < len(p) {
		if b.left == 0 {
			if n > 0 && !b.nextHasCome() {
				return n, nil
			}
			if err := b.nextChunk(); err != nil || b.done {
				return n, err
			}
			continue
		}
		if n > 0 && b.c.r == b.c.w {
			return n, nil
		}
		m, err := b.readContent(p[n:])
		n += m
		b.behind = b.left == 0
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// nextHasCome reports whether the line with the size of the next chunk has already arrived.
func (b *Body) nextHasCome() bool {
	_, behind, _ := bytes.Cut(b.c.buffered(), []byte("\n"))
	return bytes.IndexByte(behind, '\n') >= 0
}

// nextChunk reads the bytes before the content of the next chunk. It returns io.EOF at the end
// of the body.
func (b *Body) nextChunk() error {
	if b.behind {
		line, bare, err := b.c.line(2, errChunkEnd)
		if err != nil {
			return unexpected(err)
		}
		if len(line) > 0 || bare && !b.bare {
			return malformed("%w", errChunkEnd)
		}
		b.behind = false
	}
	line, bare, err := b.c.line(maxSize, errChunkLine)
	if err != nil {
		return unexpected(err)
	}
	b.bare = bare
	size, _, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimRight(size, " \t")
	n, ok := parseInt(string(size), 16)
	if !ok {
		return malformed("%.40q is no size of a chunk", line)
	}
	// Besides its content, a chunk may have 16 bytes for its size and line ends, and two more
	// bytes for each byte of its content. Further bytes count as excess.
	b.excess = max(0, b.excess+int64(len(line))-16-2*min(n, maxSize))
	if b.excess > maxExcess {
		return malformed("%w", errExcess)
	}
	if b.left = n; n == 0 {
		return b.trailer()
	}
	return nil
}

// trailer reads the lines after the last chunk, up to an empty line. The body is complete
// before these lines, so a malformed line or a missing end is not an error. But after a
// malformed line the connection is not used again.
func (b *Body) trailer() error {
	for size := 0; ; {
		line, bare, err := b.c.line(maxTrailer-size, errTrailer)
		switch {
		case err == io.EOF:
		case err != nil:
			return err
		case len(line) > 0:
			if size += len(line) + 2; bare {
				size--
			}
			if bytes.IndexByte(line, ':') <= 0 {
				b.c.resp.keep = false
			}
			continue
		}
		b.done = true
		return io.EOF
	}
}

// line reads a line with its line end, and returns it without the line end. The line end is CRLF,
// or LF alone; bare is true for LF alone. The returned line is valid until more is read. The line
// may have as many bytes as the parameter most says, including its line end. If it has more, the
// error wraps long.
func (c *Conn) line(most int, long error) (line []byte, bare bool, err error) {
	for from := 0; ; {
		b := c.buffered()
		if i := bytes.IndexByte(b[from:], '\n'); i >= 0 && from+i < most {
			c.r += from + i + 1
			line, found := bytes.CutSuffix(b[:from+i], []byte("\r"))
			return line, !found, nil
		}
		if from = len(b); from >= most {
			return nil, false, malformed("%w", long)
		}
		if err := c.fill(); err != nil {
			return nil, false, err
		}
	}
}
