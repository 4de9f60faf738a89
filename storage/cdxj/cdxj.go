package cdxj

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// SURT returns the key of a URL: its host with the labels in reverse order, then its path and
// query, all in lower case. It leaves out user information, the fragment, the scheme's default
// port, and a prefix of the host such as www. or www2. The parameters of the query are sorted.
//
// ReplayWeb.page looks up URLs by the same rules, so it can use this index. The surt library of
// Python, which pywb uses, also removes a slash at the end of a path, and session IDs.
//
// A URL that is not http or https, or that cannot be parsed, is its own key. White space in a key
// is always escaped.
func SURT(rawURL string) string {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return escape(rawURL)
	}
	u, err := frontier.ParseURL(strings.ToLower(scheme) + "://" + strings.ToLower(withoutWWW(rest)))
	if err != nil {
		return escape(rawURL)
	}
	host, port := string(u.Site())[len(u.Scheme())+len("://"):], ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i:]
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	path, query, _ := strings.Cut(u.Target(), "?")
	key := strings.Join(labels, ",") + port + ")" + path
	if query != "" {
		parameters := strings.Split(query, "&")
		slices.Sort(parameters)
		key += "?" + strings.Join(parameters, "&")
	}
	return escape(key)
}

// withoutWWW removes www and the digits after it from the beginning of a host.
func withoutWWW(rest string) string {
	if len(rest) < 4 || !strings.EqualFold(rest[:3], "www") {
		return rest
	}
	if host := strings.TrimLeft(rest[3:], "0123456789"); strings.HasPrefix(host, ".") {
		return host[1:]
	}
	return rest
}

// escape escapes the white space in a key.
func escape(s string) string {
	if strings.IndexFunc(s, blank) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if blank(rune(s[i])) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// timeForm is the layout of the time in a line.
const timeForm = "20060102150405"

// An Entry is one line of an index.
type Entry struct {
	Key  string    // the result of SURT for URL
	Time time.Time // time of the capture in UTC, to the second

	URL      string
	MIME     string // media type without parameters; "warc/revisit" for a revisit
	Status   int    // HTTP status; 0 if the answer has no status
	Digest   string // digest of the payload, without the name of the algorithm
	Length   int64  // size of the record as stored, in bytes
	Offset   int64  // position of the record in its file, in bytes
	Filename string // name of the WARC file, without directories
}

// Append appends the line of e to b, with the newline. The members of the JSON object are in the
// order of the specification. Members for mime, status and digest are left out if the values are
// not known. If the key is empty or contains white space, Append returns b and an error.
func (e *Entry) Append(b []byte) ([]byte, error) {
	if e.Key == "" || strings.IndexFunc(e.Key, blank) >= 0 {
		return b, fmt.Errorf("CDXJ: the key %q is empty or has white space in it: make it with SURT", e.Key)
	}
	b = append(b, e.Key...)
	b = append(b, ' ')
	b = e.Time.UTC().AppendFormat(b, timeForm)
	b = appendString(append(b, ` {"url":`...), e.URL)
	if e.MIME != "" {
		b = appendString(append(b, `,"mime":`...), e.MIME)
	}
	if e.Status != 0 {
		b = appendNumber(append(b, `,"status":`...), int64(e.Status))
	}
	if e.Digest != "" {
		b = appendString(append(b, `,"digest":`...), e.Digest)
	}
	b = appendNumber(append(b, `,"length":`...), e.Length)
	b = appendNumber(append(b, `,"offset":`...), e.Offset)
	b = appendString(append(b, `,"filename":`...), e.Filename)
	return append(b, "}\n"...), nil
}

// appendNumber appends a number as a JSON string.
func appendNumber(b []byte, n int64) []byte {
	return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
}

// appendString appends s as a JSON string. Nearly all strings need no escapes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // no error: a string is written to a buffer
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

// Parse parses a line, with or without its newline. It ignores unknown members. Status, length and
// offset may also be JSON numbers, because some writers use them. The error says which part of the
// line is malformed.
func Parse(line string) (*Entry, error) {
	key, rest, _ := strings.Cut(line, " ")
	stamp, object, ok := strings.Cut(rest, " ")
	if !ok || key == "" {
		return nil, fmt.Errorf("CDXJ: the line %q is not a key, a time and an object", clip(line))
	}
	e := &Entry{Key: key}
	var err error
	if e.Time, err = time.Parse(timeForm, stamp); err != nil || len(stamp) != len(timeForm) {
		return nil, fmt.Errorf("CDXJ: the time %q does not have the form YYYYMMDDhhmmss", clip(stamp))
	}
	var m struct {
		URL, MIME, Digest, Filename string
		Status, Length, Offset      number
	}
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		return nil, fmt.Errorf("CDXJ: the object of %q: %w", clip(key), err)
	}
	e.URL, e.MIME, e.Digest, e.Filename = m.URL, m.MIME, m.Digest, m.Filename
	e.Status, e.Length, e.Offset = int(m.Status), int64(m.Length), int64(m.Offset)
	if e.Length < 0 || e.Offset < 0 || e.Status < 0 {
		return nil, fmt.Errorf("CDXJ: the object of %q has a number below 0", clip(key))
	}
	return e, nil
}

// A number is parsed from a JSON number, or from a JSON string that contains a number. "", "-" and
// null are 0.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "" || s == "-" || s == "null" {
		return nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", clip(s))
	}
	*n = number(v)
	return nil
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}

// EntryOf returns the entry of a record in the WARC file with the given name, or nil for a record
// that an index does not list. An index lists response, revisit and resource records, except for
// answers to HEAD: a replay would show such an answer as an empty page. EntryOf fails for a record
// without a URL.
func EntryOf(p *warc.Placed, filename string) (*Entry, error) {
	mime := ""
	switch {
	case p.Head:
		return nil, nil
	case p.Type == warc.Revisit:
		mime = "warc/revisit"
	case p.Type == warc.Response, p.Type == warc.Resource && p.ContentType != "application/warc-fields":
		mime = mediaType(p.ContentType)
	default:
		return nil, nil
	}
	if p.URL == "" {
		return nil, &warc.Error{Offset: p.Offset, Err: fmt.Errorf("a %s record without %s cannot be indexed", p.Type, warc.FieldTargetURI)}
	}
	return &Entry{
		Key: SURT(p.URL), Time: p.Date.UTC().Truncate(time.Second), URL: p.URL, MIME: mime, Status: p.Status,
		Digest: p.PayloadDigest, Length: p.Length, Offset: p.Offset, Filename: filename,
	}, nil
}

// NewEntry returns the entry of a record, or nil if an index does not list the record (see
// EntryOf). It reads the block of the record, no part of which may have been read before.
func NewEntry(rec *warc.Record, filename string) (*Entry, error) {
	p, err := rec.Placed()
	if err != nil {
		return nil, err
	}
	return EntryOf(&p, filename)
}

// mediaType returns the first media type of a Content-Type field, in lower case and without
// parameters (MIME Sniffing, section 4.4). It returns "" if the field does not begin with a
// media type.
func mediaType(s string) string {
	if i := strings.IndexAny(s, ";,"); i >= 0 {
		s = s[:i]
	}
	s = strings.ToLower(strings.Trim(s, " \t"))
	major, minor, ok := strings.Cut(s, "/")
	if !ok || major == "" || minor == "" || len(s) > maxMediaType || strings.IndexFunc(s, notMediaType) >= 0 {
		return ""
	}
	return s
}

// maxMediaType is the length of the longest media type (RFC 6838, section 4.2).
const maxMediaType = 127 + 1 + 127

// notMediaType reports whether a character cannot be in a media type: it is neither a slash nor
// permitted in a token (RFC 9110, section 5.6.2).
func notMediaType(c rune) bool {
	return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~/", c))
}

// Index iterates over the captures of a WARC file, in the order of the file. The parameter
// filename is the name that the entries get. If a block should be an HTTP message but is not one,
// its entry has no status and no media type. The caller may keep and change the entries.
//
// A record that cannot be read is yielded as a nil entry with an error that wraps a *warc.Error.
// The iteration then continues with the next record that it can find. It ends after any other
// error: an error of r, or the error of ctx, which is checked before each record.
func Index(ctx context.Context, r io.Reader, filename string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if ctx == nil {
			yield(nil, errors.New("cdxj: the context is nil: context.Background() is one that never ends"))
			return
		}
		in := warc.NewReader(r)
		for ctx.Err() == nil {
			e, err := nextEntry(in, filename)
			if err == io.EOF {
				return
			}
			if err == nil && e == nil {
				continue
			}
			goesOn := true
			if err != nil {
				err, goesOn = passed(in, err)
				err = fmt.Errorf("%s: %w", filename, err)
			}
			if !yield(e, err) || !goesOn {
				return
			}
		}
		yield(nil, ctx.Err())
	}
}

// nextEntry returns the entry of the next record, or nil if an index does not list the record.
func nextEntry(in *warc.Reader, filename string) (*Entry, error) {
	rec, err := in.Next()
	if err != nil {
		return nil, err
	}
	return NewEntry(rec, filename)
}

// passed moves a reader past a record that could not be read with the error wrong. If the reader
// itself fails, goesOn is false, and err is the reason.
func passed(in *warc.Reader, wrong error) (err error, goesOn bool) {
	var bad *warc.Error
	if !errors.As(wrong, &bad) {
		return wrong, false
	}
	_, err = in.Skip()
	if err == nil || err == io.EOF {
		return wrong, true
	}
	if errors.As(err, &bad) { // not a *warc.Error, because callers continue after one
		err = fmt.Errorf("byte %d: %w", bad.Offset, bad.Err)
	}
	return err, false
}
