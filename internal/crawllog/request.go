package crawllog

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A Request has the values of the annotations of a line about a request.
type Request struct {
	Start, End time.Time
	TTFB       time.Duration // time from Start to the first byte of the answer; zero: there was no answer
	Asked      time.Duration // the pause that was required
	Clock      string        // value of the annotation clock: the rule that required the pause; empty: no pause was required
	Since      time.Time     // start of the required pause; zero: the end of the site's last answer in the same run
	RetryAfter time.Time     // time before which the Retry-After of the answer allows no new request; zero: there was none
	Addr       netip.AddrPort
	Proxy      string    // URL of the proxy; only the proxy knows the address of the site
	Robots     time.Time // when the robots.txt in force was fetched; zero: the line does not say
	Use        bool      // the request was for terms of use: a tdmrep.json or a license document
	Error      string    // stage at which the request failed; empty: it did not fail
	Refused    string    // the statement by which the owner refuses the purpose of the crawl
	Kept       string    // if an archived page was answered with 304: the page's media type, or "unknown"
}

// Request parses the annotations of a request. It returns nil if the line is about a URL that
// ended without a request, or about the crawl itself.
func (l *Line) Request() (*Request, error) {
	if l.URL == RunURL || l.Start.IsZero() {
		return nil, nil
	}
	r := &Request{}
	took := time.Duration(-1)
	for _, a := range l.Annotations {
		key, value, _ := strings.Cut(a, ":")
		if err := r.note(key, value, &took); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", a, err)
		}
	}
	if r.Start.IsZero() || took < 0 {
		return nil, errors.New("a request without the annotations start and took")
	}
	r.End = r.Start.Add(took)
	return r, nil
}

// note sets the field of one annotation.
func (r *Request) note(key, value string, took *time.Duration) (err error) {
	switch key {
	case "start":
		r.Start, err = parseTime(MicroForm, value)
	case "took":
		*took, err = parseSeconds(value)
	case "ttfb":
		r.TTFB, err = parseSeconds(value)
	case "asked":
		r.Asked, err = parseSeconds(value)
	case "clock":
		r.Clock = value
	case "since":
		r.Since, err = parseTime(MicroForm, value)
	case "retry-after":
		r.RetryAfter, err = parseTime(MicroForm, value)
	case "robots":
		r.Robots, err = parseTime(MicroForm, value)
	case "for":
		r.Use = value == "use"
	case "error":
		r.Error = value
	case "refused":
		r.Refused = value
	case "kept":
		r.Kept = value
	case "proxy":
		r.Proxy = value
	case "ip":
		r.Addr, err = netip.ParseAddrPort(value)
	}
	return err
}
