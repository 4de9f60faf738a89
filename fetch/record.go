package fetch

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"sync"
)

// A recorder captures the heads of the exchanges on a connection: the bytes of
// the request, and those of the answer up to the end of its header. Interim
// answers (1xx) are left out, as WARC does.
//
// Where nobody wants them whole, it has the beginning of the answer only: what
// it said counts, even if it cannot be read as HTTP.
type recorder struct {
	net.Conn
	whole bool

	// mu guards what follows: net/http writes a request and reads the answer on two
	// goroutines of its own, and the visit asks for both.
	mu       sync.Mutex
	reading  bool // the answer's header is not complete
	request  []byte
	response []byte
	from     int  // where the end of the header may be in response
	more     bool // something came behind the header, or may have
}

// begin says that a request is sent next.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.response, r.from = r.response[:0], 0
	r.reading, r.more = true, false
}

// end returns what was captured since begin. It counts until the next begin.
func (r *recorder) end() (request, response []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request, response = r.request, r.response
	r.reading = false
	if r.whole {
		r.request, r.response = nil, nil
	}
	return request, response
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	if r.whole {
		r.request = append(r.request, p...)
	}
	r.mu.Unlock()
	return r.Conn.Write(p)
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	if r.reading {
		r.keep(p[:n])
	} else {
		r.more = r.more || n > 0
	}
	r.mu.Unlock()
	return n, err
}

// behind reports whether anything came behind the header of the answer so far.
func (r *recorder) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.more
}

// beginning is how much of an answer is kept where nobody wants it whole.
const beginning = 4 << 10

// keep takes what was read. It requires that mu is held.
func (r *recorder) keep(p []byte) {
	came := len(p)
	if !r.whole {
		p = p[:min(came, beginning-len(r.response))]
	}
	r.response = append(r.response, p...)
	r.scan()
	if len(p) < came { // nothing is put behind a gap
		r.reading, r.more = false, true
	}
}

// scan looks for the end of the header. It requires that mu is held.
func (r *recorder) scan() {
	for r.reading {
		end := headEnd(r.response, r.from)
		switch {
		case end == -1:
			r.from = max(0, len(r.response)-2)
			// net/http gives up there.
			r.reading = len(r.response) <= maxHeaderBytes
			return
		case isInterim(r.response):
			r.response, r.from = append(r.response[:0], r.response[end:]...), 0
		default:
			r.more = len(r.response) > end
			r.response, r.reading = r.response[:end:end], false
		}
	}
}

// headEnd is where the body begins, behind the first empty line: -1 if that
// has not come yet. Lines may end in LF alone (RFC 9112, section 2.2).
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		switch rest := b[i+1:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return i + 2
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return i + 3
		}
	}
	return -1
}

// isInterim reports whether a head has a status from 100 to 199, but for 101,
// which ends HTTP (RFC 9110, section 15.2).
func isInterim(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, rest, _ := bytes.Cut(line, []byte(" "))
	rest = bytes.TrimLeft(rest, " ") // as net/http does
	return len(rest) >= 3 && rest[0] == '1' && string(rest[:3]) != "101"
}

// readHead reads what it can of a head: the status, 0 if there is none, and the
// fields that are whole lines with a name.
func readHead(head []byte) (int, http.Header) {
	header := http.Header{}
	status := 0
	first := true
	for line := range bytes.Lines(head) {
		if first {
			first = false
			version, rest, _ := bytes.Cut(line, []byte(" "))
			rest = bytes.TrimLeft(rest, " ")
			n, err := strconv.Atoi(string(rest[:min(3, len(rest))]))
			if err != nil || n < 100 || !bytes.HasPrefix(version, []byte("HTTP/")) {
				return 0, nil
			}
			status = n
			continue
		}
		name, value, ok := cutField(string(line))
		if ok && bytes.HasSuffix(line, []byte("\n")) {
			header.Add(name, textproto.TrimString(value))
		}
	}
	return status, header
}

// withoutField removes a field's lines from a head.
func withoutField(head []byte, name string) []byte {
	var kept []byte
	for line := range bytes.Lines(head) {
		field, _, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(field, []byte(name)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// requestHead is a request in the form of HTTP/1.1, for protocols that have
// another one on the wire. Fields stand in the order of their names.
func requestHead(req *http.Request, target string) []byte {
	return appendHeader([]byte(req.Method+" "+target+" HTTP/1.1\r\nHost: "+req.Host+"\r\n"), req.Header)
}

func responseHead(status int, header http.Header) []byte {
	return appendHeader([]byte("HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\n"), header)
}

func appendHeader(b []byte, header http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b = append(b, name+": "+value+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}
