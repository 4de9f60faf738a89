package fetch

import (
	"net/http"

	"github.com/permesso-crawler/permesso/frontier"
)

// asksHead reports whether the queued URL e is fetched with HEAD. FTP has no such method, so a
// file on an FTP server is always retrieved.
func asksHead(e frontier.Entry) bool {
	return e.Head && !e.ByGet && e.URL.Scheme() != "ftp"
}

// method returns the HTTP method of a.
func (a *requestSpec) method() string {
	if a.head {
		return http.MethodHead
	}
	return http.MethodGet
}

// refusesHead reports whether an answer refuses the method HEAD. Such an answer says nothing about
// the page, which must then be fetched with GET (RFC 9110, sections 15.5.6 and 15.6.2).
func (x *Exchange) refusesHead() bool {
	return x.Head && x.Err == nil && (x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotImplemented)
}

// bodiless returns the empty body of an answer to HEAD. The header of such an answer may still
// name a length or a coding (RFC 9110, section 9.3.2). If a server sends a body, it is not
// read, and the connection is not used again.
func bodiless(resp *http.Response) *body {
	resp.Body.Close()
	b := &body{}
	b.plain.share, b.kept.share = &b.share, &b.share
	return b
}
