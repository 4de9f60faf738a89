package crawllog

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A Request is what the annotations of a line say of its request.
type Request struct {
	Start, End time.Time
	TTFB       time.Duration // from Start to the first byte; zero where there was no answer
	Asked      time.Duration // the pause that was to be kept
	Clock      string        // that asked it; empty where none did
	Since      time.Time     // from when on Asked counts; zero: the end of the last answer of the site in the same run
	RetryAfter time.Time     // when the site may be asked again, by the Retry-After of the answer; zero where it has none
	Addr       netip.AddrPort
	Proxy      string    // that was used; only it knows the address of the site
	Robots     time.Time // when the robots.txt in force was fetched; zero where it says nothing
	Use        bool      // it asked what the owner says about use: for a tdmrep.json, or a license
	Error      string    // the stage at which it failed
	Refused    string    // the statement by which the owner refuses the purpose of the crawl
	Kept       string    // of a 304 for which a page stands that is archived: the media type of that, "unknown" where it has none
}

// Request reads the annotations of a request. It is nil where the line is about none: a
// URL that ended without, or the crawl itself.
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

// note takes in one annotation.
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
