package warc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// isHTTP reports whether the block of the record is an HTTP message.
func (rec *Record) isHTTP() bool {
	t, _, _ := strings.Cut(rec.Header.Get(FieldContentType), ";")
	return strings.EqualFold(strings.TrimSpace(t), "application/http")
}

// head reads the block up to the end of the HTTP head. The result rest is what it has read beyond
// the head. If the block ends before the head is complete, head is the whole block.
func (rec *Record) head() (head, rest []byte, err error) {
	if !rec.isHTTP() {
		return nil, nil, &Error{rec.Offset, fmt.Errorf("the block is of type %q, not application/http", clip(rec.Header.Get(FieldContentType)))}
	}
	var b []byte
	for {
		if end := headEnd(b); end >= 0 && end <= maxHead {
			rec.start = b[:end:end]
			return rec.start, b[end:], nil
		}
		if len(b) > maxHead {
			return nil, nil, &Error{rec.Offset, fmt.Errorf("the HTTP head is longer than %d bytes", maxHead)}
		}
		at := len(b)
		b = append(b, make([]byte, max(4<<10, at))...)
		n, err := rec.Read(b[at:])
		b = b[:at+n]
		if err == io.EOF {
			// The head is incomplete: the record is a revisit, or the answer was cut off.
			rec.start = b
			return b, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// Head reports whether the record is an answer to a HEAD request, according to its field
// WARC-Request-Method.
func (rec *Record) Head() bool { return rec.Header.Get(fieldMethod) == http.MethodHead }

// Response parses the block as an HTTP response. No part of the block may have been read before.
// The body of the result is the payload: without its transfer coding, but with its content coding.
// In a truncated record the body may end with io.ErrUnexpectedEOF. An answer to HEAD has no body,
// even if its header announces one. If net/http refuses a head whose meaning is clear, Response
// reads it as browsers do.
func (rec *Record) Response() (*http.Response, error) {
	head, rest, err := rec.head()
	if err != nil {
		return nil, err
	}
	if headEnd(head) < 0 {
		head = append(head, "\r\n\r\n"...)
	}
	var req *http.Request
	if rec.Head() {
		req = &http.Request{Method: http.MethodHead}
	}
	read := func(head []byte) (*http.Response, error) {
		in := io.MultiReader(bytes.NewReader(head), bytes.NewReader(rest), rec)
		return http.ReadResponse(bufio.NewReader(in), req)
	}
	resp, err := read(head)
	if err != nil { // ReadResponse has read only the head, so it can read the body after the corrected head, too
		resp, err = read(mended(head, rec.Head()))
	}
	if err != nil {
		return nil, &Error{rec.Offset, fmt.Errorf("the block is no HTTP response: %w", err)}
	}
	return resp, nil
}

// Fields parses a block of type application/warc-fields. Records of type warcinfo and metadata
// have such blocks. The fields are in the order of the block. The error is an *Error; a block of
// more than 64 KiB is an error, too.
func (rec *Record) Fields() ([]Field, error) {
	b, err := io.ReadAll(io.LimitReader(rec, maxHeader+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxHeader {
		return nil, &Error{rec.Offset, fmt.Errorf("the block is longer than %d bytes", maxHeader)}
	}
	var fields []Field
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		if (line[0] == ' ' || line[0] == '\t') && len(fields) > 0 {
			fields[len(fields)-1].Value += " " + strings.TrimSpace(line)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, &Error{rec.Offset, fmt.Errorf("the line %q of the block is no field", clip(line))}
		}
		fields = append(fields, Field{name, strings.TrimSpace(value)})
	}
	return fields, nil
}
