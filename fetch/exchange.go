package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An Exchange is one request with its answer, or with an error instead of the answer.
type Exchange struct {
	URL    frontier.URL
	Robots bool   // the request was for a robots.txt, a tdmrep.json or a license, not for a page
	Mining bool   // the request was for a tdmrep.json or a license
	Head   bool   // the method was HEAD, so the answer has no body
	Via    string // URL of the page on which URL was found; empty for a seed

	RequestHeader http.Header // header fields of the request, without Authorization and Cookie
	Status        int         // status of the answer; 0 if there was no answer
	Proto         string      // protocol: "h2", "http/1.1", "http/1.0" or "ftp"
	Header        http.Header
	Body          []byte // decoded body, up to the limit of its size; if the body broke off, the part that was received
	Truncated     string // why Body is incomplete: "length", "time", "disconnect" or "unspecified" (WARC 1.1, section 5.13); empty if it is complete
	WireBytes     int64  // size of the content in bytes, as received

	// Wire is the content in the form that a WARC file stores after ResponseHead: with its content
	// coding, and without the transfer coding (RFC 9112, section 7). Without a content coding,
	// Wire is the same as Body. If Body was cut, Wire ends at the same place. If the server sends
	// bytes after the end of a content coding, Wire may lack them, because the Fetcher does not
	// wait for them. Wire is set only with Options.KeepWire.
	Wire []byte

	// RequestHead and ResponseHead are the request line or status line and the fields, up to the
	// empty line. They are set only with Options.KeepWire. They are the bytes on the wire, in
	// their order and letter case, without interim answers and without credentials for a proxy. If
	// Proto is "h2", they are written in the form of HTTP/1.1, with the fields in the order of
	// their names. If a head broke off, only the part that was received is set.
	RequestHead, ResponseHead []byte

	Addr   netip.AddrPort // address of the server; not valid if a proxy was used, because only the proxy knows it
	Proxy  string         // the proxy that was used, without credentials, for example "http://proxy.example:3128"
	Reused bool           // the connection was kept from an earlier exchange

	TLSVersion string // version of TLS, such as "TLS 1.3" (crypto/tls); empty without TLS
	TLSCipher  string // IANA name of the cipher, such as "TLS_AES_128_GCM_SHA256"

	Started   time.Time // when the request was started, before its first byte was sent
	FirstByte time.Time // when the first byte of the answer came; zero if none came
	Ended     time.Time

	Asked frontier.Pause // the pause that the frontier required before Started

	// Err says why there is no answer, or why the body of an answer with a 2xx status is
	// incomplete. If the body of a page breaks off at the last try, Err is nil, and the part that
	// was received is used. With any other status an incomplete body only sets Truncated, because
	// such an answer means the same without its body.
	Err *Error

	lent   *[]byte // the scratch buffer that holds Body
	share  share   // the part of Options.BodyBudget that Body has taken
	broken []byte  // head of an answer if it could not be parsed; otherwise nil
}

// Release ends the use of the exchange. Its body no longer counts in Options.BodyBudget. With
// Options.Lend, Release also gives the memory of Body back to the Fetcher (and of Wire, if it is
// the same memory). The caller must then not use Body and Wire any more.
func (x *Exchange) Release() {
	x.share.release()
	if x.lent != nil {
		x.Body, x.Wire = nil, nil
		scratch.Put(x.lent)
		x.lent = nil
	}
}

// request returns the times and the size of the exchange, from which the frontier computes the
// pause before the next request.
func (x *Exchange) request() *frontier.Request {
	return &frontier.Request{Started: x.Started, FirstByte: x.FirstByte, Ended: x.Ended, Bytes: x.WireBytes}
}

// Trouble returns the frontier's class of the failure of the exchange, or frontier.NoTrouble if it
// did not fail. If both the status of the answer and a later error are failures, the status
// counts.
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

// incomplete reports whether an answer with a 2xx status has a body that broke off after its first
// bytes.
func (x *Exchange) incomplete() bool {
	return x.Err != nil && x.Err.Stage.ofBody() && x.Status/100 == 2 && len(x.Body) > 0
}

// answer returns the status and the header of the answer. If its head was broken, it returns the
// parts that could be parsed. The status is 0 if there was no answer.
func (x *Exchange) answer() (int, http.Header) {
	if x.Status == 0 && x.broken != nil {
		return readHead(x.broken)
	}
	return x.Status, x.Header
}

// RetryAfter returns the time before which the site must not get another request, according to the
// Retry-After fields of the answer. It returns the zero time if there are none. Answers with any
// status may have such fields, although RFC 9110, section 10.2.3, names only three statuses. If
// there are several fields, the latest time counts.
func (x *Exchange) RetryAfter() (latest time.Time) {
	_, header := x.answer()
	for _, value := range header["Retry-After"] {
		if t := ParseRetryAfter(value, x.Ended); t.After(latest) {
			latest = t
		}
	}
	return latest
}
