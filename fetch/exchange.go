package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An Exchange is one request with its answer, or with the error instead.
type Exchange struct {
	URL    frontier.URL
	Robots bool // the request was for a robots.txt, a tdmrep.json or a license, which are read before a page is fetched
	Mining bool // the request was for a tdmrep.json or a license
	Head   bool // the method was HEAD: the answer has no body, and its header describes the body that GET would bring
	Via    string

	RequestHeader http.Header
	Status        int    // 0 if there was no answer
	Proto         string // "h2", "http/1.1", "http/1.0", "ftp"
	Header        http.Header
	Body          []byte // decoded, up to the limit; of a body that broke off, the part that was received
	Truncated     string // why Body is incomplete; empty if it is not: "length", "time", "disconnect", "unspecified" (WARC 1.1, section 5.13)
	WireBytes     int64  // size of the content on the wire

	// Wire is the content with its content coding, without the transfer coding (RFC 9112, section
	// 7), which a WARC file stores after ResponseHead. Without a content coding it is Body
	// itself. It ends where Body was cut; bytes that a server sends after the end of a content
	// coding are not waited for.
	Wire []byte // with Options.KeepWire

	// RequestHead and ResponseHead are the request or status line and the fields, up to the empty
	// line, with Options.KeepWire. They are the bytes on the wire, in order and letter case,
	// without interim answers and without credentials for a proxy. If Proto is "h2", they are
	// written in the form of HTTP/1.1, in the order of the names. A head that broke off is as
	// long as the part received.
	RequestHead, ResponseHead []byte

	Addr   netip.AddrPort // address of the server; invalid with a proxy, since only the proxy knows it
	Proxy  string         // the proxy used, without credentials, as in "http://proxy.example:3128"
	Reused bool           // a kept connection was used

	TLSVersion string // as crypto/tls names it: "TLS 1.3"; empty without TLS
	TLSCipher  string // by its IANA name: "TLS_AES_128_GCM_SHA256"

	Started   time.Time // no byte was sent before
	FirstByte time.Time // of the answer; zero if there was none
	Ended     time.Time

	Asked frontier.Pause // the pause that had to pass before Started

	// Err says why there is no answer, or why the body of an answer with a 2xx status is
	// incomplete. It is nil for the last try of a page that broke off, whose received part is
	// used. With any other status a broken body only sets Truncated: the answer means the same
	// without its body.
	Err *Error

	lent   *[]byte // the scratch buffer that holds Body
	share  share   // the part of the budget that Body has
	broken []byte  // head of an answer that could not be parsed; nil if it could
}

// Release ends the use of the exchange: its body no longer counts in Options.BodyBudget. With
// Options.Lend it also returns the memory of Body, and of Wire if that is the same, to the
// Fetcher: neither may be used afterwards.
func (x *Exchange) Release() {
	x.share.release()
	if x.lent != nil {
		x.Body, x.Wire = nil, nil
		scratch.Put(x.lent)
		x.lent = nil
	}
}

// request returns the times and the size of the exchange for the clocks.
func (x *Exchange) request() *frontier.Request {
	return &frontier.Request{Started: x.Started, FirstByte: x.FirstByte, Ended: x.Ended, Bytes: x.WireBytes}
}

// Trouble returns whose fault it is that the exchange did not fetch its URL. The status of
// the answer counts before an error in the rest of it.
func (x *Exchange) Trouble() frontier.Trouble {
	status, _ := x.answer()
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return frontier.SiteTrouble
	case x.Err != nil:
		return x.Err.Stage.trouble()
	case status == http.StatusRequestTimeout || status == http.StatusMisdirectedRequest || status == http.StatusTooEarly:
		return frontier.PageTrouble
	case status/100 == 5:
		return frontier.PageTrouble
	}
	return frontier.NoTrouble
}

// incomplete reports whether the body of an answer with a 2xx status broke off after its
// first bytes.
func (x *Exchange) incomplete() bool {
	return x.Err != nil && x.Err.Stage.ofBody() && x.Status/100 == 2 && len(x.Body) > 0
}

// answer returns the status and header of the answer, also from a head that cannot be
// parsed completely. The status is 0 without an answer.
func (x *Exchange) answer() (int, http.Header) {
	if x.Status == 0 && x.broken != nil {
		return readHead(x.broken)
	}
	return x.Status, x.Header
}

// RetryAfter returns the time before which the site must not be asked again by its
// Retry-After fields, or the zero time if there are none. Any status may have them (RFC 9110,
// section 10.2.3, names three); the latest time counts.
func (x *Exchange) RetryAfter() (latest time.Time) {
	_, header := x.answer()
	for _, value := range header["Retry-After"] {
		if t := ParseRetryAfter(value, x.Ended); t.After(latest) {
			latest = t
		}
	}
	return latest
}
