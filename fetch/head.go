package fetch

import (
	"net/http"

	"github.com/permesso-crawler/permesso/frontier"
)

// asksHead reports whether e is asked for with HEAD. FTP has no such thing: there the
// file is retrieved.
func asksHead(e frontier.Entry) bool {
	return e.Head && !e.ByGet && e.URL.Scheme() != "ftp"
}

// method is that of a on the wire.
func (a *ask) method() string {
	if a.head {
		return http.MethodHead
	}
	return http.MethodGet
}

// refusesHead reports whether an answer is about the method, and says nothing of the
// page: it is to be asked for with GET (RFC 9110, sections 15.5.6 and 15.6.2).
func (x *Exchange) refusesHead() bool {
	return x.Head && x.Err == nil && (x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotImplemented)
}

// bodiless is what stands behind an answer to HEAD, whatever its header says of a length
// or a coding (RFC 9110, section 9.3.2). Where a server sends a body all the same, it
// belongs to no answer, and the connection is not used again.
func bodiless(resp *http.Response) *body {
	resp.Body.Close()
	b := &body{}
	b.plain.share, b.kept.share = &b.share, &b.share
	return b
}
