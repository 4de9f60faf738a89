package warc

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A Type is the value of WARC-Type (section 5.5).
type Type string

// The record types of section 6.
const (
	Warcinfo     Type = "warcinfo"
	Response     Type = "response"
	Resource     Type = "resource"
	Request      Type = "request"
	Metadata     Type = "metadata"
	Revisit      Type = "revisit"
	Conversion   Type = "conversion"
	Continuation Type = "continuation"
)

// The named fields of section 5, and two fields that archives have agreed on later: WARC-Protocol,
// which may repeat, and WARC-Cipher-Suite.
const (
	fieldType           = "WARC-Type"
	fieldRecordID       = "WARC-Record-ID"
	FieldDate           = "WARC-Date"
	fieldContentLength  = "Content-Length"
	FieldContentType    = "Content-Type"
	FieldConcurrentTo   = "WARC-Concurrent-To"
	fieldBlockDigest    = "WARC-Block-Digest"
	FieldPayloadDigest  = "WARC-Payload-Digest"
	FieldIPAddress      = "WARC-IP-Address"
	fieldRefersTo       = "WARC-Refers-To"
	FieldRefersToURI    = "WARC-Refers-To-Target-URI"
	FieldRefersToDate   = "WARC-Refers-To-Date"
	FieldTargetURI      = "WARC-Target-URI"
	FieldTruncated      = "WARC-Truncated"
	fieldWarcinfoID     = "WARC-Warcinfo-ID"
	fieldFilename       = "WARC-Filename"
	FieldProfile        = "WARC-Profile"
	FieldIdentifiedType = "WARC-Identified-Payload-Type"
	fieldProtocol       = "WARC-Protocol"
	fieldCipherSuite    = "WARC-Cipher-Suite"
)

// fieldMethod is a field of this package; section 4 permits such fields. In the record of an
// answer to HEAD it has the method of the request. Without the field, a replay would use the
// record as a capture of the page, and show an empty page.
const fieldMethod = "WARC-Request-Method"

// A Truncation is the value of WARC-Truncated (section 5.15): the reason why a block is
// incomplete. The zero value means that the block is complete.
type Truncation string

const (
	TruncatedLength      Truncation = "length"      // the body is longer than the limit of the crawler
	TruncatedTime        Truncation = "time"        // the answer took longer than the limit of the crawler
	TruncatedDisconnect  Truncation = "disconnect"  // the connection broke
	TruncatedUnspecified Truncation = "unspecified" // any other reason
)

// A Profile is the value of WARC-Profile (section 5.18), which every revisit record has: the
// reason why it refers to an earlier record.
type Profile string

const (
	// IdenticalPayloadDigest says that the payloads of this and the earlier record have the same
	// digest (section 6.7.2).
	IdenticalPayloadDigest Profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	// ServerNotModified says that the server reported that the page has not changed, as with
	// status 304 (section 6.7.3).
	ServerNotModified Profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// A Field is a name with a value. A record's header consists of fields, and so does a block of
// type application/warc-fields.
type Field struct{ Name, Value string }

// A Header is a record's named fields in their order.
type Header []Field

// Get returns the first value of the field, or "". Names are compared without regard to
// case (section 4).
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns every value of a field. Some fields may repeat.
func (h Header) Values(name string) []string {
	var v []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			v = append(v, f.Value)
		}
	}
	return v
}

// dateForm has the fraction of a second that WARC 1.1 permits (section 5.4).
const dateForm = "2006-01-02T15:04:05.000000Z"

// parseDate parses a WARC-Date of any precision that section 5.4 permits.
func parseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	for _, form := range []string{"2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006"} {
		if err == nil {
			break
		}
		t, err = time.Parse(form, s)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %q is no date such as 2030-01-02T03:04:05Z", FieldDate, clip(s))
	}
	return t.UTC(), nil
}

// newID returns a version 4 UUID (RFC 9562, section 5.4) as a URI.
func newID(random io.Reader) (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(random, u[:]); err != nil {
		return "", fmt.Errorf("WARC record ID: the source of random bytes fails: %w", err)
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	const digits = "0123456789abcdef"
	b := append(make([]byte, 0, len("urn:uuid:00000000-0000-4000-8000-000000000000")), "urn:uuid:"...)
	for i, c := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return string(b), nil
}

// appendField appends a line with a field. The values are concatenated. It fails if the name or
// the value is invalid (section 4).
func appendField(b []byte, name string, value ...string) ([]byte, error) {
	if !isToken(name) {
		return b, fmt.Errorf("field name %q: only letters, digits and !#$%%&'*+-.^_`|~ are allowed", clip(name))
	}
	for _, part := range value {
		if i := strings.IndexFunc(part, control); i >= 0 {
			// Clone the part: otherwise each part would be allocated on the heap, even without an
			// error.
			return b, fmt.Errorf("field %s: %q has the control character %#02x: leave it out or escape it", name, clip(strings.Clone(part)), part[i])
		}
	}
	b = append(b, name...)
	b = append(b, ": "...)
	for _, part := range value {
		b = append(b, part...)
	}
	return append(b, "\r\n"...), nil
}

// isToken reports whether s is a token of HTTP (RFC 9110, section 5.6.2). WARC permits slightly
// more characters in its tokens.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// clip returns s, shortened if necessary, for an error message.
func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}
