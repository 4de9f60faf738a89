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

// A request is a line of crawl.log about a request that was made.
type request struct {
	line       int64
	run        int
	url        frontier.URL
	site       frontier.Site
	via        frontier.Site // for a robots.txt: the site that needed it
	robots     bool          // the request was for a robots.txt, or for another file that must be known before a page is requested
	use        bool          // that file was about use: a tdmrep.json or a license document
	status     int
	size       int64 // size of the body on the wire, in bytes; negative: there was no body
	failure    fetch.Stage
	start, end time.Time
	ttfb       time.Duration // time to the first byte of the answer; zero: there was no answer
	asked      time.Duration // the pause that was required, according to the line
	clock      frontier.Clock
	since      time.Time // when that pause began, according to the line; zero: at the end of the last answer of the site
	addr       netip.Addr
	public     bool      // the address of the site is public, or not known because of a proxy
	rules      time.Time // when the robots.txt in force was fetched, according to the line; zero: not known
	retryAfter time.Time // time before which the answer allows no new request; zero: not known
	ended      time.Time // end of the request by the clock at that moment; it contradicts the other times if the clock was set during the request
	digest     string    // SHA-1 of the body of a robots.txt or a page; empty: not recorded

	contradiction string // how facts of the line contradict each other; empty: they do not
	mayBeClock    bool   // the contradiction may be the effect of setting the clock
}

// requestOf returns the request in a line. It returns nil if the line is not about a request. n
// is the number of the line, and run the number of the run that has written it.
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

// rests reports whether a site must rest after a request, because it asked for a rest or did
// not answer.
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

// answer returns the result of a request in words.
func (r *request) answer() string {
	if r.failure != "" && r.failure != fetch.StageChallenge {
		return string(r.failure)
	}
	return fmt.Sprint(r.status)
}
