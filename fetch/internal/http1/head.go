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

// A Response is an answer up to its body.
type Response struct {
	Major, Minor int // of its version
	Status       int // from 100 on

	// Header has the fields under their canonical names, without blanks around them, and
	// with spaces for control characters (RFC 9110, section 5.5). Folded ones are one line;
	// lines that are no field are left out, and so is what was said of how the body is cut
	// into chunks, and of a length that did not count.
	Header http.Header

	Length int64 // of the body, in bytes; -1: not known before its end
	Body   *Body

	keep bool // the server wants to go on
	odd  bool // a line of the head was no field
}

// Receive reads the answer up to its body; noBody says that it has none whatever it says,
// as it is asked for with HEAD (RFC 9110, section 9.3.2). Interim answers are left out, but
// for 101, which nobody asked for: it is an answer without a body, and the last one.
//
// The error is ErrHeadSize, one that wraps ErrProtocol, or that of the connection.
func (c *Conn) Receive(noBody bool) (*Response, error) {
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
		major, minor, status, ok := parseStatus(firstLine(c.head))
		if !ok {
			return nil, malformed("%.100q is no status line", firstLine(c.head))
		}
		if status/100 == 1 && status != http.StatusSwitchingProtocols {
			continue
		}
		c.resp = Response{Major: major, Minor: minor, Status: status, Body: &c.body}
		var err error
		if c.resp.Header, c.resp.odd, err = parseFields(c.head); err == nil {
			err = c.frame(noBody)
		}
		if err != nil {
			c.resp = Response{}
			return nil, err
		}
		return &c.resp, nil
	}
}

// Head is the head of the answer as it came, up to its empty line: of one that could not be
// read, as far as that went. It can be used until the body is read, or End is called.
func (c *Conn) Head() []byte { return c.head }

// readHead reads a head of at most so many bytes, and leaves what is behind it.
func (c *Conn) readHead(most int) error {
	c.head = nil
	if err := c.skipEmptyLines(); err != nil {
		return err
	}
	for from, checked := 0, false; ; {
		b := c.buffered()
		c.head = b[:min(len(b), most)]
		if !checked && bytes.IndexByte(b[from:], '\n') >= 0 {
			// Whoever speaks something else may never come to an empty line.
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

// cutOff is the error of a head that ended within.
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
// browsers do: some servers send them after a body that they have counted wrongly.
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

// HeadEnd is where a head ends that is at the front of b, behind its first empty line: -1
// if that has not come yet. It is not looked for before from. Lines may end in LF alone
// (RFC 9112, section 2.2).
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

// firstLine is b up to its first line end.
func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// parseStatus reads a status line (RFC 9112, section 4). Its reason may be missing, and so
// may the blank before that. A version above 1.1 is read as 1.1, with which the request was
// sent (RFC 9110, section 2.5), and one without a minor number as 1.0, as browsers do.
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

// maxShared is the longest head of which the fields are parts of one string: who keeps one
// of them keeps all of it.
const maxShared = 4 << 10

// parseFields reads the fields of a head, whose first line is left out. odd says that a line
// was left out that is no field.
func parseFields(head []byte) (_ http.Header, odd bool, _ error) {
	if bytes.IndexByte(head, 0) >= 0 {
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
		for end < len(head) && isBlank(head[end]) { // folded: RFC 9112, section 5.2
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

// lineEnd is where the line ends that begins at a place of b.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// fields are those of a head, line after line.
type fields struct {
	header http.Header
	room   []string // for the values
	odd    bool     // a line was no field
}

// add takes a line, folded or not. One without a colon is left out, as browsers do: programs
// print into the head. So is what begins with a blank after the status line (RFC 9112, section
// 2.2), unless another reader may take it to say where the body ends.
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

// frames reports whether a field says where a body ends.
func frames(name string) bool {
	return strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding")
}

func trim(s string) string { return strings.Trim(s, " \t\r\n") }

// clean is a value without blanks around it, with a space for each place where it is folded
// and for each other control character.
func clean(value string) string {
	value = trim(value)
	for i := range len(value) {
		if isControl(value[i]) {
			return replaced(value, i)
		}
	}
	return value
}

// hidden reports whether a value has a control character that is not where it is folded, or
// ends: what cuts the body out of the answer must be the same to everybody.
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

// replaced is clean for a value of which the first control character is known.
func replaced(value string, from int) string {
	b := append(make([]byte, 0, len(value)), value[:from]...)
	for i := from; i < len(value); i++ {
		switch {
		case value[i] == '\n':
			b = append(bytes.TrimRight(b, " \t"), ' ')
			for i+1 < len(value) && isBlank(value[i+1]) {
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
