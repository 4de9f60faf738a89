package http1

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A Response is an answer without its body.
type Response struct {
	Major, Minor int // version of HTTP
	Status       int // status code, at least 100

	// Header has the fields under their canonical names. The values have no white space around
	// them, and a space in place of each control character (RFC 9110, section 5.5). Folded fields
	// are joined to one line. Header lacks lines that are not valid fields, Transfer-Encoding, and
	// a Content-Length that was ignored.
	Header http.Header

	Length int64 // length of the body in bytes; -1 if it is not known before the end
	Body   *Body

	keep bool // the server keeps the connection open
	odd  bool // the head had a line that was not a field
}

// Receive reads the answer up to its body. bodiless says that the request was HEAD: the answer
// then has no body, even if its header announces one (RFC 9110, section 9.3.2). Receive skips
// interim answers, except for an answer with status 101. No request asks for status 101. So this
// answer has no body, and it is the last one of the connection.
//
// The error is ErrHeadSize, wraps ErrProtocol, or comes from the connection.
func (c *Conn) Receive(bodiless bool) (*Response, error) {
	spent := 0
	for interim := 0; ; interim++ {
		if interim > maxInterim {
			c.head = nil
			return nil, ErrHeadSize
		}
		if err := c.readHead(MaxHead - spent); err != nil {
			return nil, err
		}
		spent += len(c.head)
		major, minor, status, _ := parseStatus(firstLine(c.head)) // no error: readHead has checked the status line
		if status/100 == 1 && status != http.StatusSwitchingProtocols {
			continue
		}
		c.resp = Response{Major: major, Minor: minor, Status: status, Body: &c.body}
		var err error
		if c.resp.Header, c.resp.odd, err = parseFields(c.head); err == nil {
			err = c.frame(bodiless)
		}
		if err != nil {
			c.resp = Response{}
			return nil, err
		}
		return &c.resp, nil
	}
}

// Head returns the head of the answer as it was received, up to its empty line. If the head
// could not be read, Head returns the part that was received. The bytes are valid until the
// body is read or End is called.
func (c *Conn) Head() []byte { return c.head }

// readHead reads a head and nothing after it. The parameter most is the largest length of the head
// in bytes.
func (c *Conn) readHead(most int) error {
	c.head = nil
	if err := c.skipEmptyLines(); err != nil {
		return err
	}
	for from, checked := 0, false; ; {
		b := c.buffered()
		c.head = b[:min(len(b), most)]
		if !checked && bytes.IndexByte(b[from:], '\n') >= 0 {
			// Do not wait for an empty line: a server of another protocol may never send one.
			if _, _, _, ok := parseStatus(firstLine(b)); !ok {
				if end := HeadEnd(c.head, 0); end >= 0 {
					c.head = b[:end]
				}
				return malformed("%.100q is no status line", firstLine(b))
			}
			checked = true
		}
		if end := HeadEnd(b, from); end >= 0 && end <= most {
			c.head = b[:end:end]
			c.r += end
			return nil
		} else if end > most || len(b) > most {
			return ErrHeadSize
		}
		from = max(0, len(b)-2)
		if err := c.fill(); err != nil {
			return c.cutOff(err)
		}
	}
}

// cutOff returns the error to report if reading a head ended early with err.
func (c *Conn) cutOff(err error) error {
	switch b := c.buffered(); {
	case err != io.EOF:
		return err
	case len(b) > 0 && b[len(b)-1] != '\n':
		return malformed("the connection ended within a line of the head")
	}
	return fmt.Errorf("the connection ended before the answer: %w", io.ErrUnexpectedEOF)
}

// skipEmptyLines skips at most four bytes of line ends and spaces before an answer, as
// browsers do: some servers send them after a body with a wrong length.
func (c *Conn) skipEmptyLines() error {
	for range 4 {
		if c.r == c.w {
			if err := c.fill(); err != nil {
				return c.cutOff(err)
			}
		}
		if b := (*c.buf)[c.r]; b != '\r' && b != '\n' && b != ' ' {
			return nil
		}
		c.r++
	}
	return nil
}

// HeadEnd returns the length of the head at the start of b, including its first empty line. It
// returns -1 if b does not contain the empty line yet. The search begins at b[from]. Lines may
// end in LF alone (RFC 9112, section 2.2).
func HeadEnd(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1
		}
		from += i + 1
		switch rest := b[from:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return from + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return from + 2
		}
	}
}

// firstLine returns b up to its first line end.
func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// parseStatus parses a status line (RFC 9112, section 4). The reason may be missing, with or
// without the space before it. A version above 1.1 is read as 1.1, the version of the request
// (RFC 9110, section 2.5). A version without a minor number is read as 1.0, as browsers do.
func parseStatus(line []byte) (major, minor, status int, ok bool) {
	if len(line) < 10 || !bytes.EqualFold(line[:5], []byte("HTTP/")) || !isDigit(line[5]) {
		return 0, 0, 0, false
	}
	behind := line[6:]
	switch {
	case behind[0] == '.' && isDigit(behind[1]):
		if major, minor = int(line[5]-'0'), int(behind[1]-'0'); major > 1 {
			major, minor = 1, 1
		}
		behind = behind[2:]
	case behind[0] == ' ':
		major, minor = 1, 0
	default:
		return 0, 0, 0, false
	}
	rest := bytes.TrimLeft(behind, " ")
	if len(rest) < 3 || len(rest) == len(behind) || len(rest) > 3 && rest[3] != ' ' && rest[3] != '\t' && !isLetter(rest[3]) {
		return 0, 0, 0, false
	}
	for _, b := range rest[:3] {
		if !isDigit(b) {
			return 0, 0, 0, false
		}
		status = 10*status + int(b-'0')
	}
	return major, minor, status, status >= 100
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// maxShared is the length in bytes of the longest head whose values all share the memory of one
// string. A caller that keeps one such value keeps the whole head in memory.
const maxShared = 4 << 10

// parseFields parses the fields of a head after its first line. odd says that it skipped a
// line that is not a field.
func parseFields(head []byte) (_ http.Header, odd bool, _ error) {
	if bytes.ContainsRune(head, 0) {
		return nil, false, malformed("a zero byte in the head")
	}
	p := fields{header: make(http.Header, min(bytes.Count(head, []byte("\n")), 32))}
	shared := ""
	if len(head) <= maxShared {
		shared = string(head)
	}
	for at := bytes.IndexByte(head, '\n') + 1; at < len(head); {
		end := lineEnd(head, at)
		if end-at == 1 || end-at == 2 && head[at] == '\r' {
			break
		}
		for end < len(head) && isBlank(head[end]) { // the line continues (is folded): RFC 9112, section 5.2
			end = lineEnd(head, end)
		}
		line := shared
		if shared != "" {
			line = shared[at:end]
		} else {
			line = string(head[at:end])
		}
		if err := p.add(line); err != nil {
			return nil, false, err
		}
		at = end
	}
	return p.header, p.odd, nil
}

// lineEnd returns the offset after the line that begins at b[at], including its line end.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// fields collects the fields of a head line by line.
type fields struct {
	header http.Header
	room   []string // memory from which the slices of values are taken
	odd    bool     // a line was not a field
}

// add adds a line, which may be folded. It skips a line without a colon, as browsers do,
// because some programs print messages into the head. It also skips a line that begins with
// white space directly after the status line (RFC 9112, section 2.2). add fails if another
// client could take such a skipped line for a field with the length of the body.
func (p *fields) add(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name = strings.TrimRight(name, " \t")
	if blank := isBlank(line[0]); !ok || blank {
		if blank && frames(strings.TrimLeft(name, " \t")) {
			return malformed("%.100q is no field, and looks like one", line)
		}
		p.odd = true
		return nil
	}
	if !httpguts.ValidHeaderFieldName(name) {
		return nil
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	if frames(name) && hidden(value) {
		return malformed("a control character in %.100q", line)
	}
	value = clean(value)
	if values, ok := p.header[name]; ok {
		p.header[name] = append(values, value)
		return nil
	}
	if len(p.room) == 0 {
		p.room = make([]string, 16)
	}
	p.room[0] = value
	p.header[name], p.room = p.room[:1:1], p.room[1:]
	return nil
}

// frames reports whether the named field determines where the body ends.
func frames(name string) bool {
	return strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding")
}

func trim(s string) string { return strings.Trim(s, " \t\r\n") }

// clean returns value without white space around it. Each fold, and each other control
// character, becomes one space.
func clean(value string) string {
	value = trim(value)
	for i := range len(value) {
		if isControl(value[i]) {
			return replaced(value, i)
		}
	}
	return value
}

// hidden reports whether a value has a control character that is not part of a fold or of a
// line end. Such a value is refused if it determines where the body ends, because all clients
// must agree on that.
func hidden(value string) bool {
	for i := range len(value) {
		switch {
		case !isControl(value[i]), value[i] == '\n', value[i] == '\r' && i+1 < len(value) && value[i+1] == '\n':
		default:
			return true
		}
	}
	return false
}

func isControl(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f }

// replaced returns the same as clean, for a value whose first control character is value[from].
func replaced(value string, from int) string {
	b := append(make([]byte, 0, len(value)), value[:from]...)
	for i := from; i < len(value); i++ {
		switch {
		case value[i] == '\n':
			b = append(bytes.TrimRight(b, " \t"), ' ')
			for isBlank(value[i+1]) { // value does not end with white space, so value[i+1] exists
				i++
			}
		case isControl(value[i]):
			b = append(b, ' ')
		default:
			b = append(b, value[i])
		}
	}
	return trim(string(b))
}
