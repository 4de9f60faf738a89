package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An Exchange is one request and its answer, or what came of it instead.
type Exchange struct {
	URL    frontier.URL
	Robots bool // it asked for what has to be known before a page is asked for: robots.txt, tdmrep.json, or a license
	Mining bool // of these it was no robots.txt
	Head   bool // with HEAD: the answer has no body, and the fields about it are of the one that GET would bring
	Via    string

	RequestHeader http.Header
	Status        int    // 0 if there was no answer
	Proto         string // "h2", "http/1.1", "http/1.0", "ftp"
	Header        http.Header
	Body          []byte // decoded; at most the cap; of one that broke off, as far as it came
	Truncated     string // why Body is not the whole: "length", "time", "disconnect", "unspecified" (WARC 1.1, section 5.13)
	WireBytes     int64  // of the content as it came

	// Wire is the content with its content coding, without the transfer coding
	// (RFC 9112, section 7): what WARC keeps behind ResponseHead. Where there is
	// no content coding it is Body itself. It ends where Body was cut; bytes
	// that a server puts behind the end of a content coding are not waited for.
	Wire []byte // with Options.KeepWire

	// Request line, status line and fields, with the empty line behind them,
	// with Options.KeepWire: as they were on the wire, in order and letter case
	// (interim answers left out, credentials for a proxy, too). Where Proto is
	// "h2" they are written anew in the form of HTTP/1.1, in the order of the
	// names. A head that broke off is as long as it came.
	RequestHead, ResponseHead []byte

	Addr   netip.AddrPort // that was talked to; invalid behind a proxy, which alone knows
	Proxy  string         // that was used, without credentials, as in "http://proxy.example:3128"
	Reused bool           // a kept connection was used

	TLSVersion string // as crypto/tls names it: "TLS 1.3"; empty without TLS
	TLSCipher  string // by its IANA name: "TLS_AES_128_GCM_SHA256"

	Started   time.Time // from here on bytes may have been sent
	FirstByte time.Time // of the answer; zero if there was none
	Ended     time.Time

	Asked frontier.Pause // that was to be kept before Started

	// Err says why there is no answer, or not the whole of one with a 2xx status; nil for the
	// last try of a page that broke off, which is taken as far as it came. With any other
	// status a body that is broken sets Truncated alone: the answer means the same without.
	Err *Error

	lent   *[]byte // that Body is in
	share  share   // that Body has of the budget
	broken []byte  // head of an answer that could not be read; nil if it could
}

// Release says that the visit is done with the exchange, whose body no longer
// counts in Options.BodyBudget. With Options.Lend it also gives the memory of
// Body, and of Wire where that is the same, back to the Fetcher: nothing may use
// them any more.
func (x *Exchange) Release() {
	x.share.release()
	if x.lent != nil {
		x.Body, x.Wire = nil, nil
		scratch.Put(x.lent)
		x.lent = nil
	}
}

// request is the exchange as the clocks see it.
func (x *Exchange) request() *frontier.Request {
	return &frontier.Request{Started: x.Started, FirstByte: x.FirstByte, Ended: x.Ended, Bytes: x.WireBytes}
}

// Trouble says whose fault it is that the exchange did not bring what was
// asked for. What the answer says counts before what became of the rest of it.
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

// incomplete reports whether an answer with a 2xx status has lost the end of its body, and
// some of that came.
func (x *Exchange) incomplete() bool {
	return x.Err != nil && x.Err.Stage.ofBody() && x.Status/100 == 2 && len(x.Body) > 0
}

// answer is what the server said, in a head that could not be read as a whole,
// too. The status is 0 if it said nothing.
func (x *Exchange) answer() (int, http.Header) {
	if x.Status == 0 && x.broken != nil {
		return readHead(x.broken)
	}
	return x.Status, x.Header
}

// RetryAfter returns when the site may be asked again by its Retry-After fields,
// whatever the status (RFC 9110, section 10.2.3, names three, and others have
// it, too): the latest counts. It returns the zero time if there are none.
func (x *Exchange) RetryAfter() (latest time.Time) {
	_, header := x.answer()
	for _, value := range header["Retry-After"] {
		if t := ParseRetryAfter(value, x.Ended); t.After(latest) {
			latest = t
		}
	}
	return latest
}
