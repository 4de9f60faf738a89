package audit

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// A request is a line of crawl.log that is about one.
type request struct {
	line       int64
	run        int
	url        frontier.URL
	site       frontier.Site
	via        frontier.Site // for a robots.txt: the site that it was needed for
	robots     bool
	status     int
	size       int64 // of the body on the wire; negative for none
	failure    fetch.Stage
	start, end time.Time
	ttfb       time.Duration // zero where there was no answer
	asked      time.Duration // the pause that the line says was asked
	clock      frontier.Clock
	since      time.Time // from when on; zero: the last answer of the site
	addr       netip.Addr
	public     bool
	rules      time.Time // when the robots.txt in force was fetched, by the line; zero: it says nothing
}

// requestOf is what a line says of a request; nil where it is about none.
func requestOf(n int64, run int, l *crawllog.Line) (*request, error) {
	if l.URL == crawllog.RunURL || l.Start.IsZero() {
		return nil, nil
	}
	u, err := frontier.ParseURL(l.URL)
	if err != nil {
		return nil, err
	}
	r := &request{line: n, run: run, url: u, site: u.Site(), status: l.Status, size: l.Size}
	took := time.Duration(-1)
	for _, a := range l.Annotations {
		key, value, _ := strings.Cut(a, ":")
		if err := r.note(key, value, &took); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", a, err)
		}
	}
	if r.start.IsZero() || took < 0 {
		return nil, errors.New("a request without the annotations start and took")
	}
	r.end = r.start.Add(took)
	if strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
		via, err := frontier.ParseURL(l.Via)
		if err != nil {
			return nil, fmt.Errorf("the page that the robots.txt was needed for: %w", err)
		}
		r.robots, r.via = true, via.Site()
	}
	return r, nil
}

// note takes in one annotation.
func (r *request) note(key, value string, took *time.Duration) (err error) {
	switch key {
	case "start":
		r.start, err = time.Parse(crawllog.MicroForm, value)
	case "took":
		*took, err = seconds(value)
	case "ttfb":
		r.ttfb, err = seconds(value)
	case "asked":
		r.asked, err = seconds(value)
	case "clock":
		r.clock = frontier.Clock(value)
	case "since":
		r.since, err = time.Parse(crawllog.MicroForm, value)
	case "robots":
		r.rules, err = time.Parse(crawllog.MicroForm, value)
	case "error":
		r.failure = fetch.Stage(value)
	case "ip":
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(value)
		r.addr = at.Addr().Unmap()
		r.public = fetch.Public(r.addr)
	}
	return err
}

// seconds reads a time as the log has it. A negative one is none.
func seconds(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text + "s")
	if err == nil && d < 0 {
		err = errors.New("less than no time")
	}
	return d, err
}

// rests reports whether a site rests after what became of a request: it asked for that,
// or was not there.
func (r *request) rests() bool {
	if r.status == 429 || r.status == 503 {
		return true
	}
	switch r.failure {
	case fetch.StageDNS, fetch.StageDNSTimeout, fetch.StageConnect, fetch.StageConnectTimeout, fetch.StageTLS, fetch.StageTLSTimeout,
		fetch.StageReset, fetch.StageProxy, fetch.StageAnswerTimeout, fetch.StageChallenge, fetch.StageCalm:
		return true
	}
	return false
}

// answer says what came of a request.
func (r *request) answer() string {
	if r.failure != "" && r.failure != fetch.StageChallenge {
		return string(r.failure)
	}
	return fmt.Sprint(r.status)
}
