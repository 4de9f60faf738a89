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
	Robots bool // it asked for robots.txt
	Via    string

	RequestHeader http.Header
	Status        int    // 0 if there was no answer
	Proto         string // "h2", "http/1.1", "http/1.0", "ftp"
	Header        http.Header
	Body          []byte // decoded; at most the cap
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

	Asked time.Duration  // the pause that was to be kept before Started
	Clock frontier.Clock // that asked it

	Err *Error

	lent *[]byte // that Body is in
}

// Release gives the memory of Body, and of Wire where that is the same, back to
// the Fetcher, with Options.Lend: nothing may use them any more. It need not be
// called.
func (x *Exchange) Release() {
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

// trouble says whose fault it is that the exchange did not bring what was
// asked for.
func (x *Exchange) trouble() frontier.Trouble {
	if x.Err != nil {
		switch {
		case x.Err.Stage.noConnection():
			return frontier.ConnectTrouble
		case x.Err.Stage == StageAnswerTimeout:
			return frontier.SilenceTrouble
		case x.Err.Stage == StageChallenge:
			return frontier.SiteTrouble
		case x.Err.Stage == StageStale, x.Err.Stage == StageStopped, x.Err.Stage == StageAddress:
			return frontier.NoTrouble
		}
		return frontier.PageTrouble
	}
	switch x.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return frontier.SiteTrouble
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly:
		return frontier.PageTrouble
	}
	if x.Status/100 == 5 {
		return frontier.PageTrouble
	}
	return frontier.NoTrouble
}

// retryAfter is when the site may be asked again by its Retry-After field
// (RFC 9110, section 10.2.3), which counts on every answer that carries it.
func (x *Exchange) retryAfter() time.Time {
	return ParseRetryAfter(x.Header.Get("Retry-After"), x.Ended)
}

// ParseRetryAfter reads a Retry-After field, in seconds or as a date, that
// came with an answer at now. It is the zero time where the value is neither,
// or lies in the past. More than 29 years count as 29 years.
func ParseRetryAfter(value string, now time.Time) time.Time {
	if value == "" {
		return time.Time{}
	}
	const most = int64(29 * 365 * 24 * time.Hour / time.Second)
	n := int64(0)
	digits := true
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			digits = false
			break
		}
		n = min(n*10+int64(value[i]-'0'), most)
	}
	if digits {
		return now.Add(time.Duration(n) * time.Second)
	}
	t, err := http.ParseTime(value)
	if err != nil || !t.After(now) {
		return time.Time{}
	}
	return t
}
