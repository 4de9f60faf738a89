package audit

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A visit is one request in a log that another program has written, such as a web server.
type visit struct {
	line       int64
	host       string // host name from the line; empty if the line has none
	addr       string
	target     string
	agent      string
	status     int
	at         time.Time // time of the line, to the second: nginx logs the end of the answer, Apache the beginning of the request
	start, end time.Time // set only if the log has both times
}

func (v *visit) exact() bool { return !v.start.IsZero() }

func (v *visit) robots() bool {
	path, _, _ := strings.Cut(v.target, "?")
	return path == rulesTarget
}

// hostname returns the host without scheme and port. In a crawl.log, v.host has both.
func (v *visit) hostname() string {
	if _, rest, ok := strings.Cut(v.host, "://"); ok {
		return hostOf(rest)
	}
	return v.host
}

// url returns the host and the target of the request.
func (v *visit) url() string { return v.host + v.target }

const accessTime = "02/Jan/2006:15:04:05 -0700"

// parseAccess parses a line in the combined format of nginx and Apache. The host or the
// addresses of X-Forwarded-For may precede it, as in vhost_combined. The target is empty if the
// request was not an HTTP request.
func parseAccess(text string) (*visit, error) {
	before, rest, closed := strings.Cut(text, `] "`)
	open := strings.LastIndex(before, " [") // use the last " [", because a user name may contain one, too
	if open < 0 || !closed {
		return nil, errors.New(`it is not in the combined format: ADDRESS - USER [TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT"`)
	}
	before, date := before[:open], before[open+len(" ["):]
	v := &visit{}
	var err error
	if v.at, err = time.Parse(accessTime, date); err != nil {
		return nil, fmt.Errorf("its time is not written as 02/Jan/2006:15:04:05 -0700: %q", clip(date))
	}
	fields := strings.Fields(before)
	if len(fields) < 3 {
		return nil, errors.New("it has no address, or no user, before its time")
	}
	v.from(fields)
	request, rest, ok := quotedField(rest)
	numbers := strings.Fields(rest)
	if !ok || len(numbers) < 2 {
		return nil, errors.New("no status and size follow its request")
	}
	if v.status, err = strconv.Atoi(numbers[0]); err != nil {
		return nil, fmt.Errorf("%q is no status", clip(numbers[0]))
	}
	_, rest, _ = strings.Cut(rest, `"`)
	_, rest, ok = quotedField(rest) // skip the Referer, which is not used
	_, rest, more := strings.Cut(rest, `"`)
	v.agent, _, closed = quotedField(rest)
	if !ok || !more || !closed {
		return nil, errors.New("it ends without a User-Agent (\"REFERER\" \"AGENT\")")
	}
	v.ask(request)
	return v, nil
}

// from parses the fields before the time: the address, the identity and the user. If the server
// is configured so, the host and the value of X-Forwarded-For come before the address.
// X-Forwarded-For is "-" or a list of addresses that begins with the client's. from
// recognises a host by its form, so that a bare address is never taken for a host.
func (v *visit) from(fields []string) {
	client := ""
	for len(fields) > 3 {
		first, next := fields[0], fields[1]
		listed := strings.HasSuffix(first, ",")
		switch {
		case listed || (first == "-" || isAddr(first)) && isAddr(next):
			if client == "" && first != "-" {
				client = strings.TrimSuffix(first, ",")
			}
		case v.host == "" && first != "-" && !isAddr(first) && (isAddr(next) || strings.HasSuffix(next, ",") || next == "-" && isAddr(fields[2])):
			v.host = hostOf(first)
		default:
			v.addr = cmp.Or(client, first)
			return
		}
		fields = fields[1:]
	}
	v.addr = cmp.Or(client, fields[0])
}

// ask parses a request line, such as "GET /a HTTP/1.1", and sets the target of v.
func (v *visit) ask(request string) {
	part := strings.Split(request, " ")
	if len(part) < 2 {
		return
	}
	v.target = part[1]
	if _, rest, ok := strings.Cut(v.target, "://"); ok && v.target[0] != '/' {
		host, path, _ := strings.Cut(rest, "/")
		v.host, v.target = hostOf(host), "/"+path
	}
}

// isAddr reports whether a field is an IP address.
func isAddr(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// hostOf returns a host without its port, in lower case.
func hostOf(s string) string {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.Contains(s[i:], "]") {
		if _, err := strconv.ParseUint(s[i+1:], 10, 16); err == nil {
			s = s[:i]
		}
	}
	return strings.ToLower(s)
}

// quotedField returns the text before the next quotation mark, and the rest of the line after
// it. It decodes the escapes that servers write for special bytes: \xHH, \" and \\. ok is false
// if there is no quotation mark.
func quotedField(s string) (field, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		case s[i+1] == 'x' && i+3 < len(s):
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				b.WriteByte(c)
				continue
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			i++
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// parseHeritrix parses a line in a crawl.log of Heritrix. Further fields may follow the first
// twelve. It returns nil if the line is not about a request to a site.
func parseHeritrix(text string) (*visit, error) {
	fields := strings.Fields(text)
	l, err := crawllog.Parse(strings.Join(fields[:min(len(fields), 12)], " "))
	if err != nil {
		return nil, err
	}
	const leastFailure = -10 // a lower status, or 0, means that no request was made
	if l.Start.IsZero() || l.Status == 0 || l.Status < leastFailure {
		return nil, nil
	}
	u, err := frontier.ParseURL(l.URL)
	if err != nil {
		return nil, nil // schemes without a request to a site: dns, whois and others
	}
	end := l.Start.Add(l.Duration)
	return &visit{host: string(u.Site()), target: u.Target(), status: l.Status, at: end, start: l.Start, end: end}, nil
}
