package audit

import (
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
	robots     bool          // a robots.txt, or what else has to be known before a page is asked for
	use        bool          // of these, what is said about use
	status     int
	size       int64 // of the body on the wire; negative for none
	failure    fetch.Stage
	start, end time.Time
	ttfb       time.Duration // zero where there was no answer
	asked      time.Duration // the pause that the line says was asked
	clock      frontier.Clock
	since      time.Time // from when on; zero: the last answer of the site
	addr       netip.Addr
	public     bool      // the site is at a public address, or may be: a proxy alone knows which
	rules      time.Time // when the robots.txt in force was fetched, by the line; zero: it says nothing
	retryAfter time.Time // when the site may be asked again, by the answer; zero: it says nothing
	ended      time.Time // end, by the clock of then: of a machine whose clock was set meanwhile it is another one
	digest     string    // of the body of a robots.txt or a page; empty: it is not recorded

	contradiction string // what the line says in two ways; empty: nothing
	mayBeClock    bool   // the clock may have been set meanwhile
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
	told, err := l.Request()
	if err != nil {
		return nil, err
	}
	addr := told.Addr.Addr().Unmap()
	r := &request{
		line: n, run: run, url: u, site: u.Site(), status: l.Status, size: l.Size, failure: fetch.Stage(told.Error),
		start: told.Start, end: told.End, ttfb: told.TTFB, asked: told.Asked, clock: frontier.Clock(told.Clock), since: told.Since, use: told.Use,
		addr: addr, public: fetch.Public(addr) || told.Proxy != "", rules: told.Robots, retryAfter: told.RetryAfter, ended: l.Time, digest: l.Digest,
	}
	r.contradiction, r.mayBeClock = contradiction(l, told)
	if strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
		via, err := frontier.ParseURL(l.Via)
		if err != nil {
			return nil, fmt.Errorf("the page that the robots.txt was needed for: %w", err)
		}
		r.robots, r.via = true, via.Site()
	}
	return r, nil
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
