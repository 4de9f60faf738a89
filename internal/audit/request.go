package audit

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A request is a line of crawl.log about a request.
type request struct {
	line       int64
	run        int
	url        frontier.URL
	site       frontier.Site
	via        frontier.Site // of a robots.txt: the site that needed it
	robots     bool          // a robots.txt, or another file that must be known before a page is requested
	use        bool          // such a file, if it is about use: a tdmrep.json or a license
	status     int
	size       int64 // of the body on the wire; negative if there is none
	failure    fetch.Stage
	start, end time.Time
	ttfb       time.Duration // zero if there was no answer
	asked      time.Duration // the required pause, from the line
	clock      frontier.Clock
	since      time.Time // the beginning of the pause, from the line; zero: the last answer of the site
	addr       netip.Addr
	public     bool      // the address of the site is public, or is unknown because of a proxy
	rules      time.Time // when the robots.txt in force was fetched, from the line; zero if unknown
	retryAfter time.Time // when the site may be requested again, from the answer; zero if unknown
	ended      time.Time // end by the clock at the end; it differs from the other times if the clock was set in between
	digest     string    // of the body of a robots.txt or a page; empty if it was not recorded

	contradiction string // which facts of the line contradict each other; empty if none do
	mayBeClock    bool   // setting the clock may be the cause of the contradiction
}

// requestOf returns the request of a line, or nil if the line is not about a request.
func requestOf(n int64, run int, l *crawllog.Line) (*request, error) {
	if l.URL == crawllog.RunURL || l.Start.IsZero() {
		return nil, nil
	}
	u, err := frontier.ParseURL(l.URL)
	if err != nil {
		return nil, err
	}
	parsed, err := l.Request()
	if err != nil {
		return nil, err
	}
	addr := parsed.Addr.Addr().Unmap()
	r := &request{
		line: n, run: run, url: u, site: u.Site(), status: l.Status, size: l.Size, failure: fetch.Stage(parsed.Error),
		start: parsed.Start, end: parsed.End, ttfb: parsed.TTFB, asked: parsed.Asked, clock: frontier.Clock(parsed.Clock), since: parsed.Since, use: parsed.Use,
		addr: addr, public: fetch.Public(addr) || parsed.Proxy != "", rules: parsed.Robots, retryAfter: parsed.RetryAfter, ended: l.Time, digest: l.Digest,
	}
	r.contradiction, r.mayBeClock = contradiction(l, parsed)
	if strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
		via, err := frontier.ParseURL(l.Via)
		if err != nil {
			return nil, fmt.Errorf("the page that the robots.txt was needed for: %w", err)
		}
		r.robots, r.via = true, via.Site()
	}
	return r, nil
}

// rests reports whether a site must rest after a request: it asked for rest, or did not answer.
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

// answer returns the result of a request, in words.
func (r *request) answer() string {
	if r.failure != "" && r.failure != fetch.StageChallenge {
		return string(r.failure)
	}
	return fmt.Sprint(r.status)
}
