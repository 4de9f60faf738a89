package warc

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Coding says which codings (transfer and content codings) the body of an HTTP message still
// has.
type Coding uint8

const (
	// AsSent says that the body has all codings: it is byte for byte as it was sent, including
	// chunks.
	AsSent Coding = iota
	// Unchunked says that the transfer codings are removed, but not the content codings. net/http
	// returns such bodies if it does not decompress.
	Unchunked
	// Decoded says that the transfer codings and the content codings are removed.
	Decoded
)

// HTTP is a request or a response in the form of a record's block: start line, header fields,
// empty line, body (sections 6.3.2 and 6.5.2; RFC 9112, section 2.1).
//
// If Body lacks a coding that a header field states, readers would decode it twice. Such a field
// is written under another name, which other crawlers also use and replay software knows:
// Transfer-Encoding becomes X-Archive-Orig-Transfer-Encoding, Content-Encoding becomes
// X-Archive-Orig-Content-Encoding, Content-Length becomes X-Archive-Orig-Content-Length. A
// Content-Length with the length of Body is then added. If no coding was removed, every field
// stays as it was received.
//
// If readers would not find the status in a status line, such as "HTTP/1.1 200OK", the line is
// corrected. The original line is stored in a field X-Archive-Orig-Status-Line.
type HTTP struct {
	// Head is the start line, the fields and the empty line, byte for byte as they were sent.
	// If Head is nil, they are made from StartLine and Header.
	Head []byte

	// StartLine is the status line or the request line, without its line end. See the functions
	// StatusLine and RequestLine.
	StartLine string
	// Header is written with canonical names, sorted by name, except that a Host field comes first
	// (RFC 9110, section 7.2). The caller must add fields that net/http keeps elsewhere, such as
	// Request.Host.
	Header http.Header

	Body   []byte
	Coding Coding // the codings that Body still has
}

// StatusLine returns the first line of a response (RFC 9112, section 4). The version is always
// HTTP/1.1, because messages of HTTP/2 and HTTP/3 have no text form, and readers know no other
// version. The field WARC-Protocol has the real version.
func StatusLine(status int) string {
	if 100 <= status && status <= 999 { // the status of every valid answer is in this range
		return "HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status)
	}
	return fmt.Sprintf("HTTP/1.1 %03d %s", status, http.StatusText(status))
}

// RequestLine returns the first line of a request (RFC 9112, section 3). The version is always
// HTTP/1.1, see StatusLine.
func RequestLine(method, target string) string {
	return method + " " + target + " HTTP/1.1"
}

// renamed are the fields that state a coding. A body with the Coding Decoded has none of these
// codings. One with Unchunked still has the codings of the second field.
var renamed = [...]string{"Transfer-Encoding", "Content-Encoding"}

const (
	contentLength = "Content-Length"
	original      = "X-Archive-Orig-"
)

// appendHead appends everything that is before the body.
func (m *HTTP) appendHead(b []byte) ([]byte, error) {
	if m.Head != nil {
		return m.appendRaw(b)
	}
	if m.StartLine == "" {
		return b, fmt.Errorf("HTTP message without a start line: set Head, or StartLine to StatusLine or RequestLine")
	}
	if strings.ContainsAny(m.StartLine, "\r\n") {
		return b, fmt.Errorf("start line %q has a line end inside: leave it out", clip(m.StartLine))
	}
	b = append(b, m.StartLine...)
	b = append(b, "\r\n"...)

	changed := false
	for _, name := range m.removed() {
		changed = changed || m.Header.Get(name) != ""
	}
	names := slices.Sorted(maps.Keys(m.Header))
	if i := slices.Index(names, "Host"); i > 0 {
		copy(names[1:i+1], names[:i])
		names[0] = "Host"
	}
	for _, name := range names {
		if !isToken(name) {
			return b, fmt.Errorf("HTTP header field name %q is no token (RFC 9110, section 5.1): give the message as Head", clip(name))
		}
		for _, value := range m.Header[name] {
			if changed && m.stale(name) {
				b = append(b, original...)
			}
			b = append(b, http.CanonicalHeaderKey(name)...)
			b = append(b, ": "...)
			from := len(b)
			b = append(b, value...)
			for i, c := range b[from:] {
				if c == '\r' || c == '\n' || c == 0 {
					b[from+i] = ' ' // replaces a control character (RFC 9110, section 5.5)
				}
			}
			b = append(b, "\r\n"...)
		}
	}
	return m.finish(b, changed), nil
}

// appendRaw appends Head. It renames the fields whose names m.removed returns.
func (m *HTTP) appendRaw(b []byte) ([]byte, error) {
	end := headEnd(m.Head)
	if end != len(m.Head) {
		return b, fmt.Errorf("HTTP head of %d bytes does not end with its first empty line: Head is all bytes before the body", len(m.Head))
	}
	b, head := appendStatus(b, m.Head)
	changed := false
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		changed = changed || m.isRemoved(string(bytes.TrimRight(name, " \t")))
	}
	if !changed {
		return append(b, head...), nil
	}
	for line := range bytes.Lines(head) {
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		name, _, _ := bytes.Cut(line, []byte(":"))
		if m.stale(string(bytes.TrimRight(name, " \t"))) {
			b = append(b, original...)
		}
		b = append(b, line...)
	}
	return m.finish(b, true), nil
}

// appendStatus appends the status line of a head. If readers would not find the status in it, it
// appends two lines instead: the line that a correct server would have sent, and a field with the
// received line. rest is the part of the head that the caller must append afterwards. This is the
// whole head if no line was corrected, and otherwise the head without its status line.
func appendStatus(b, head []byte) (_, rest []byte) {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if isPlainStatus(line) {
		return b, head
	}
	mended := mendedStatus(string(line))
	if mended == "" {
		return b, head
	}
	b = append(b, mended+"\r\n"+original+"Status-Line: "+spaced(string(line))+"\r\n"...)
	return b, rest
}

// isPlainStatus reports whether all readers find the status in the line.
func isPlainStatus(line []byte) bool {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return false
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func (m *HTTP) finish(b []byte, changed bool) []byte {
	if changed {
		b = append(b, contentLength+": "...)
		b = strconv.AppendInt(b, int64(len(m.Body)), 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// removed returns the names of the fields that state a coding that Body no longer has.
func (m *HTTP) removed() []string {
	return renamed[:min(int(m.Coding), len(renamed))]
}

func (m *HTTP) isRemoved(name string) bool {
	return slices.ContainsFunc(m.removed(), func(r string) bool { return strings.EqualFold(r, name) })
}

// stale reports whether a field is wrong because a coding was removed.
func (m *HTTP) stale(name string) bool {
	return m.isRemoved(name) || strings.EqualFold(name, contentLength)
}

// chunked reports whether Body still consists of chunks.
func (m *HTTP) chunked() bool {
	if m.Coding != AsSent {
		return false
	}
	if m.Head == nil {
		return endsChunked(m.Header.Get("Transfer-Encoding"))
	}
	return endsChunked(headField(m.Head, "Transfer-Encoding"))
}

// endsChunked reports whether chunked is the last transfer coding, as it must be (RFC 9112,
// section 6.1).
func endsChunked(value string) bool {
	last := value[strings.LastIndexByte(value, ',')+1:]
	return strings.EqualFold(strings.TrimSpace(last), "chunked")
}

// headField returns the last value of a field in a head, as received.
func headField(head []byte, name string) string {
	found := ""
	for line := range bytes.Lines(head) {
		n, value, ok := bytes.Cut(line, []byte(":"))
		if ok && strings.EqualFold(string(bytes.TrimRight(n, " \t")), name) {
			found = string(bytes.TrimSpace(value))
		}
	}
	return found
}

// headEnd returns the offset of the body in b, after the first empty line, or -1 if b has
// no empty line. A line may end in LF alone (RFC 9112, section 2.2).
func headEnd(b []byte) int {
	at := 0
	for at < len(b) {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return -1
		}
		if n == 0 || n == 1 && b[at] == '\r' {
			return at + n + 1
		}
		at += n + 1
	}
	return -1
}
