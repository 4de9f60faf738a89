package store

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// notUpdated lists the header fields that a 304 does not replace in the stored answer: the
// fields about the connection (RFC 9111, section 3.1), and the fields that describe the
// content, because the content of the stored answer is kept (section 3.2).
var notUpdated = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
	"Upgrade": true, "Proxy-Authenticate": true, "Proxy-Authentication-Info": true, "Proxy-Authorization": true,
	"Content-Length": true, "Content-Encoding": true, "Content-Range": true, "Content-Type": true, "Content-Md5": true,
	"Content-Digest": true, "Repr-Digest": true, "Digest": true,
}

// UpdatedHeader returns the header of a stored answer, updated by the header of a 304: the
// fields of the 304 replace stored fields of the same name (RFC 9110, section 15.4.5; RFC
// 9111, section 3.2), except the fields about the connection and about the content. Neither
// argument is changed.
func UpdatedHeader(kept, by http.Header) http.Header {
	h := kept.Clone()
	if h == nil {
		h = http.Header{}
	}
	var named []string // fields that Connection names; they are about the connection, too
	for _, value := range by["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			named = append(named, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for name, values := range by {
		if !notUpdated[name] && !slices.Contains(named, name) {
			h[name] = slices.Clone(values)
		}
	}
	return h
}

// plainHeader returns h without the field in which a WARC record stores the transfer coding
// with which the body was sent.
func plainHeader(h http.Header) http.Header {
	const original = "X-Archive-Orig-Transfer-Encoding"
	if h[original] == nil {
		return h
	}
	h = maps.Clone(h)
	delete(h, original)
	return h
}
