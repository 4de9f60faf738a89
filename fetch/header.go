package fetch

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// ownFields are the header fields that Options.Header must not contain, each with the reason.
var ownFields = map[string]string{
	"Host":       "it is the host of each URL",
	"User-Agent": "it is made from the name and the contact of the crawler, so that site owners know whom to ask",
	"From":       "it is made from the contact of the crawler, so that site owners know whom to ask",

	"Accept-Encoding": "an answer in a coding that is not built in could not be read",

	"Connection":          perConnection,
	"Keep-Alive":          perConnection,
	"Proxy-Connection":    perConnection,
	"Te":                  perConnection,
	"Trailer":             perConnection,
	"Transfer-Encoding":   perConnection,
	"Upgrade":             perConnection,
	"Http2-Settings":      perConnection,
	"Content-Length":      noContent,
	"Content-Type":        noContent,
	"Content-Encoding":    noContent,
	"Expect":              noContent,
	"Range":               onlyWhole,
	"If-Range":            onlyWhole,
	"If-Match":            onlyWhole,
	"If-None-Match":       onlyWhole,
	"If-Modified-Since":   onlyWhole,
	"If-Unmodified-Since": onlyWhole,
	"Cookie":              secret,
	"Authorization":       secret,
	"Proxy-Authorization": "it would reach the sites, too; USER:PASSWORD@ belongs before the host of the proxy",
	"Forwarded":           disguise,
	"X-Forwarded-For":     disguise,
	"X-Real-Ip":           disguise,
	"Via":                 disguise,
	"Signature":           signed,
	"Signature-Input":     signed,
	"Signature-Agent":     signed,
}

const (
	perConnection = "it concerns the connection, not the page (RFC 9110, section 7.6.1)"
	noContent     = "requests have no content"
	onlyWhole     = "pages are always requested whole; the crawler sends its own conditions"
	secret        = "every site of the crawl would get it; a Go program can give it to one site (Options.Site)"
	disguise      = "it would name another client"
	signed        = "a signature is for one request to one site; a Go program signs all requests with Signing"
)

// ParseHeader parses header fields, each written "Name: value". It returns an error for
// fields that RFC 9110 does not permit, that this package sends itself, or that would change
// the meaning of a request.
func ParseHeader(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := cutField(line)
		if !ok {
			return nil, fmt.Errorf("the header field %q has no colon: write it as \"Name: value\"", line)
		}
		h.Add(name, value)
	}
	return h, CheckHeader(h, false)
}

func cutField(line string) (name, value string, ok bool) {
	for i := range len(line) {
		if line[i] == ':' {
			return line[:i], textproto.TrimString(line[i+1:]), true
		}
	}
	return "", "", false
}

// credentials are the fields that only SiteOptions.Header may contain, because they must be sent
// to one site only.
var credentials = []string{"Authorization", "Cookie"}

// CheckHeader returns an error if h has a field that Options.Header must not contain. If oneSite
// is true, it checks h for SiteOptions.Header instead. The result of ParseHeader need not be
// checked for Options.Header.
func CheckHeader(h http.Header, oneSite bool) error {
	for name, values := range h {
		if err := checkField(name, values); err != nil {
			return err
		}
		name = http.CanonicalHeaderKey(name)
		if why := ownFields[name]; why != "" && !(oneSite && slices.Contains(credentials, name)) {
			return fmt.Errorf("the header field %s cannot be set: %s", name, why)
		}
	}
	return nil
}

// checkField returns an error if RFC 9110 does not permit the field.
func checkField(name string, values []string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("%q is no name of a header field: it has letters, digits and hyphens, as in Accept-Language", name)
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return fmt.Errorf("the header field %s has a control character in its value %q", name, v)
		}
	}
	return nil
}

// Validators identify the copy of a page that the caller has (RFC 9110, section 8.8): the
// fields ETag and Last-Modified of that copy. Either may be empty.
type Validators struct {
	ETag, LastModified string
}

// maxValidator is the length in bytes of the longest validator that is sent. Some servers send
// whole tokens as ETag, and later refuse them as too long.
const maxValidator = 1 << 10

// condition returns header, or a copy of it with conditions: the server sends the page only if it
// has changed. If both conditions are set, servers evaluate If-None-Match first (RFC 9110, section
// 13.2.2). An ETag of "*" is ignored, because the condition would be false for every existing page
// (section 13.1.2).
func (v Validators) condition(header http.Header) http.Header {
	etag, modified := sendable(v.ETag) && v.ETag != "*", sendable(v.LastModified)
	if !etag && !modified {
		return header
	}
	header = header.Clone()
	if etag {
		header.Set("If-None-Match", v.ETag)
	}
	if modified {
		header.Set("If-Modified-Since", v.LastModified)
	}
	return header
}

func sendable(validator string) bool {
	return validator != "" && len(validator) <= maxValidator && httpguts.ValidHeaderFieldValue(validator)
}
