package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// maxURL is the length of the longest URL of a frontier, in bytes. RFC 9110, section 4.1,
// recommends that every server supports at least this length.
const maxURL = 8000

// Errors that a *URLError wraps.
var (
	errRelative = errors.New("not an absolute URL: it must start with http:// or https://")
	errScheme   = errors.New("scheme is not supported: only http, https and ftp are crawled")
	errHost     = errors.New("host is not valid")
	errPort     = errors.New("port is not a number from 1 to 65535")
	errTooLong  = fmt.Errorf("longer than %d bytes", maxURL)
)

// A URLError reports a string that cannot be crawled as a URL, and why.
type URLError struct {
	Raw string
	Err error
}

func (e *URLError) Error() string {
	raw := e.Raw
	if len(raw) > 200 {
		raw = raw[:200] + "..."
	}
	return fmt.Sprintf("URL %q: %v", raw, e.Err)
}

func (e *URLError) Unwrap() error { return e.Err }

// A URL is the URL of an entry: a site and the request target that is sent to it, as it was
// written. It is parsed from the raw string as a browser does (WHATWG URL, section 4.4),
// because net/url refuses URLs that servers use, such as /100%zz.
//
// Two URLs are the same page if their Keys are equal. The zero value is not a URL. A
// URL is comparable, but URLs with equal Keys may differ by ==.
type URL struct {
	text string // the site, followed by the target
	site int    // length of the site in text
}

// ParseURL parses an absolute http, https or ftp URL. It removes white space around it,
// tabs and line ends inside it, user information and the fragment. It resolves dot
// segments, and escapes bytes that a request must not contain. The error is a *URLError.
func ParseURL(raw string) (URL, error) {
	s := clean(raw)
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return URL{}, &URLError{raw, errRelative}
	}
	return parseAbsolute(raw, scheme, rest, nil, nil)
}

// URL returns the URL of target on the site: the result of ParseURL for site and target
// joined. The error is a *URLError.
func (s Site) URL(target string) (URL, error) {
	scheme, authority, _ := strings.Cut(string(s), "://")
	if defaultPort(scheme) != 0 && len(s)+len(target) <= maxURL && plainTarget(target) {
		host, port, err := parseAuthority(scheme, authority)
		if n := len(host); err == nil && n+len(port) == len(authority) && host == authority[:n] && port == authority[n:] {
			return URL{string(s) + target, len(s)}, nil
		}
	}
	return ParseURL(string(s) + target)
}

// Resolve returns the URL of ref, a link in a document at u (RFC 3986, section 5). A reference
// that is only a fragment gives u itself. If u is the zero URL, only absolute references can be
// resolved. The error is a *URLError.
func (u URL) Resolve(ref string) (URL, error) { return u.ResolveQuery(ref, nil) }

// ResolveQuery is like Resolve, for a document that may not be in UTF-8: browsers send the
// characters of a query in the document's encoding (WHATWG URL, section 4.4, the query state).
// The function encode returns a query in that encoding, with a percent-encoded "&#N;" for each
// character that the encoding lacks. A nil encode means UTF-8.
func (u URL) ResolveQuery(ref string, encode func(query string) string) (URL, error) {
	if u.IsZero() {
		return ParseURL(ref)
	}
	if keep, rest, ok := resolvePlain(u, ref); ok {
		return URL{u.text[:keep] + rest, u.site}, nil
	}
	return u.resolve(ref, encode, nil)
}

// plainTarget reports whether t already has the form that the function target returns.
func plainTarget(t string) bool {
	if t == "" || t[0] != '/' {
		return false
	}
	for i := 1; i < len(t); i++ {
		switch refBytes[t[i]] {
		case segment:
			if t[i-1] == '/' {
				return false
			}
		case other, hash:
			return false
		}
	}
	return true
}

func (u URL) resolve(ref string, encode func(string) string, to *texts) (URL, error) {
	s := clean(ref)
	if scheme, rest, ok := cutScheme(s); ok {
		if scheme != u.Scheme() || startsWithTwo(rest) {
			return parseAbsolute(ref, scheme, rest, encode, to)
		}
		s = rest
	}
	if startsWithTwo(s) {
		return parseAbsolute(ref, u.Scheme(), s, encode, to)
	}
	path, query, hasQuery := strings.Cut(s, "?")
	query = escapeQuery(query, encode)
	switch {
	case path == "" && !hasQuery:
		return u, nil
	case path == "":
		base, _, _ := strings.Cut(u.Target(), "?")
		return joinURL(ref, u.Site(), base+"?"+query, to)
	case !isSlash(path[0]):
		base, _, _ := strings.Cut(u.Target(), "?")
		path = base[:strings.LastIndexByte(base, '/')+1] + path
	}
	return joinURL(ref, u.Site(), target(path, query, hasQuery), to)
}

// String returns the URL as it is requested.
func (u URL) String() string { return u.text }

// Clone returns a copy of u in memory of its own, like strings.Clone. Use it to keep a URL
// longer than the text from which it was parsed.
func (u URL) Clone() URL { return URL{strings.Clone(u.text), u.site} }

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u.text == "" }

// Site returns the site of u.
func (u URL) Site() Site { return Site(u.text[:u.site]) }

// Scheme returns "http", "https" or "ftp".
func (u URL) Scheme() string { return u.Site().Scheme() }

// Host returns the DNS name (A-labels) or address, without port or brackets.
func (u URL) Host() string { return u.Site().Host() }

// Target returns the path and query that are sent in a request. It starts with a slash. Match
// robots.txt rules against it.
func (u URL) Target() string { return u.text[u.site:] }

// Key returns the identity of the page: the URL with its percent-encoding in normal form (RFC
// 3986, section 6.2.2). Escapes of unreserved characters are decoded, and hex digits are
// upper-cased. Two things are escaped: characters that a URI must not contain, as in ?a[]=1,
// and percent signs that begin no escape. Dot segments that result are resolved. Compare the
// Keys of URLs, but request their String.
func (u URL) Key() string {
	if isKey(u.Target()) {
		return u.text
	}
	path, query, hasQuery := strings.Cut(u.Target(), "?")
	key := string(u.Site()) + removeDots(normalEscapes(path))
	if hasQuery {
		key += "?" + normalEscapes(query)
	}
	return key
}

// isKey reports whether target is already in normal form because it has no character of
// keyChanged.
func isKey(target string) bool {
	for i := range len(target) {
		if keyChanged[target[i]] {
			return false
		}
	}
	return true
}

// MarshalText returns the text of String, for example for JSON.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText parses text like ParseURL; an empty text gives the zero URL.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	v, err := ParseURL(string(text))
	if err == nil {
		*u = v
	}
	return err
}

// parseAbsolute parses rest, the text after the scheme and its colon. rest may begin with any
// number of slashes, not only with two.
func parseAbsolute(raw, scheme, rest string, encode func(string) string, to *texts) (URL, error) {
	if defaultPort(scheme) == 0 {
		return URL{}, &URLError{raw, errScheme}
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?`)
	if end < 0 {
		end = len(rest)
	}
	host, port, err := parseAuthority(scheme, rest[:end])
	if err != nil {
		return URL{}, &URLError{raw, err}
	}
	t := rest[end:]
	if !plainTarget(t) {
		path, query, hasQuery := strings.Cut(t, "?")
		if path == "" {
			path = "/"
		}
		t = target(path, escapeQuery(query, encode), hasQuery)
	}
	site := len(scheme) + len("://") + len(host) + len(port)
	if site+len(t) > maxURL {
		return URL{}, &URLError{raw, errTooLong}
	}
	return URL{to.join(scheme, "://", host, port, t), site}, nil
}

func joinURL(raw string, site Site, target string, to *texts) (URL, error) {
	if len(site)+len(target) > maxURL {
		return URL{}, &URLError{raw, errTooLong}
	}
	return URL{to.join(string(site), target), len(site)}, nil
}

// target returns the request target with the given path and query. It escapes the path. The caller
// must have escaped the query.
func target(path, query string, hasQuery bool) string {
	if strings.IndexByte(path, '\\') >= 0 {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	t := removeDots(escape(path, &pathEscaped))
	if hasQuery {
		t += "?" + query
	}
	return t
}

// clean removes what a browser removes before it parses: control characters and
// spaces around the URL, tabs and line ends inside it, and the fragment.
func clean(raw string) string {
	s := raw
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if strings.IndexByte(s, '\t') >= 0 || strings.IndexByte(s, '\r') >= 0 || strings.IndexByte(s, '\n') >= 0 {
		s = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(s)
	}
	s, _, _ = strings.Cut(s, "#")
	return s
}

func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		case i > 0 && s[i] == ':':
			return strings.ToLower(s[:i]), s[i+1:], true
		default:
			return "", "", false
		}
	}
	return "", "", false
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func startsWithTwo(s string) bool { return len(s) >= 2 && isSlash(s[0]) && isSlash(s[1]) }

// removeDots resolves the segments "." and "..", including escaped ones. A server may decode a
// path before it resolves the path, so a path with %2e%2e could otherwise reach a path that a
// rule of robots.txt forbids.
func removeDots(path string) string {
	if !mayHaveDots(path) {
		return path
	}
	out := make([]byte, 0, len(path))
	for rest, more := path[1:], true; more; {
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		n := dots(seg)
		if n == 2 && len(out) > 0 {
			out = out[:bytes.LastIndexByte(out, '/')]
		}
		if n == 0 || !more {
			out = append(out, '/')
		}
		if n == 0 {
			out = append(out, seg...)
		}
	}
	return string(out)
}

func mayHaveDots(path string) bool {
	for i := 0; i+1 < len(path); i++ {
		if path[i] == '/' && (path[i+1] == '.' || path[i+1] == '%') {
			return true
		}
	}
	return false
}

// dots returns 1 for a "." segment, 2 for a ".." segment and 0 for any other.
func dots(seg string) int {
	n := 0
	for seg != "" {
		switch {
		case seg[0] == '.':
			seg = seg[1:]
		case len(seg) >= 3 && seg[0] == '%' && seg[1] == '2' && seg[2]|0x20 == 'e':
			seg = seg[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}

type byteSet [256]bool

func newByteSet(special string) (set byteSet) {
	for i := range set {
		set[i] = i <= ' ' || i >= 0x7f
	}
	for i := range len(special) {
		set[special[i]] = true
	}
	return set
}

// The percent-encode sets of a path and of a special query (WHATWG URL, section 1.3). A "#" in a
// query is escaped: the fragment was removed before, so this "#" is one byte of a character in the
// document's encoding.
var (
	pathEscaped  = newByteSet("\"<>^`{}")
	queryEscaped = newByteSet("\"#<>'")
)

// keyChanged is the set of characters that Key may change: the percent sign, which begins
// escapes, and characters that RFC 3986 does not permit in a URI although browsers send them.
var keyChanged = newByteSet("%\"<>[]\\^`{|}")

func escapeQuery(query string, encode func(string) string) string {
	if encode != nil && !isASCII(query) {
		query = encode(query)
	}
	return escape(query, &queryEscaped)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

const upperHex = "0123456789ABCDEF"

func escape(s string, set *byteSet) string {
	n := 0
	for i := range len(s) {
		if set[s[i]] {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; set[c] {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

func normalEscapes(s string) string {
	if isKey(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '%' && keyChanged[s[i]]:
			b = append(b, '%', upperHex[s[i]>>4], upperHex[s[i]&15])
			continue
		case s[i] != '%':
			b = append(b, s[i])
			continue
		}
		hi, lo := -1, -1
		if i+2 < len(s) {
			hi, lo = unhex(s[i+1]), unhex(s[i+2])
		}
		if hi < 0 || lo < 0 {
			// This percent sign begins no escape. If it stayed, it could begin one after the
			// following characters are decoded.
			b = append(b, "%25"...)
			continue
		}
		if c := byte(hi<<4 | lo); unreserved(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[hi], upperHex[lo])
		}
		i += 2
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
