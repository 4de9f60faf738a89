package fetch

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Values of Snapshot.Failure for a robots.txt that are not the name of a Stage.
const (
	failRedirect = "redirect" // too many redirects, a loop, an invalid target, or a target that must not be requested
)

// A chain has the redirects so far of a robots.txt or a tdmrep.json that is being fetched. It
// lasts for several turns, because every request needs a turn of its own, from Next or Hop.
type chain struct {
	at     frontier.URL // the next URL to request
	seen   map[string]bool
	plain  bool      // a refused request was repeated with plain header fields
	status int       // of the last redirect
	wanted time.Time // when another site first waited for the end of the chain; zero: none does
}

func newChain(at frontier.URL) *chain { return &chain{at: at, seen: map[string]bool{at.Key(): true}} }

// A purpose says why robots.txt is requested.
type purpose struct {
	url frontier.URL // the URL that needs a verdict

	// forOther says that another site needs the verdict, for example because the robots.txt of
	// that site redirects to url. A redirect to a further site is then left to a visit of this site,
	// because one visit has the right to one other site only.
	forOther bool
}

// refresh fetches robots.txt, or the next URL of its redirects. The frontier hands out the URL
// of the turn again.
func (h *host) refresh(ctx context.Context, turn *frontier.Turn, to purpose) (Result, error) {
	if h.chain == nil {
		at, _ := frontier.ParseURL(string(h.site) + rulesTarget) // no error: a site is the beginning of a URL
		h.chain = newChain(at)
	}
	res := Result{Snapshot: h.snapshot, Outcome: frontier.Outcome{Again: true}}
	for {
		c := h.chain
		own := c.at.Site() == h.site
		switch {
		case own && res.Outcome.Request != nil:
			return res, nil // the one request of the turn was made; the next turn continues the chain
		case !own && to.forOther:
			return res, nil
		}
		x, failure, err := h.askRules(ctx, turn, &res)
		if x == nil || err != nil {
			return res, err
		}
		if x.Err != nil && x.Err.Stage == StageAddress && own {
			h.chain = nil
			res.Outcome.Gone, res.Outcome.Fate.Detail = true, x.Err.Err.Error()
			res.barred = x.Err
			return res, nil
		}
		if x.Err != nil && (x.Err.Stage == StageStopped || x.Err.Stage == StageStale) {
			return res, nil
		}
		again := false
		if failure == "" {
			failure, again = c.follow(x)
		}
		if !again {
			h.chain = nil
			return res, h.conclude(x, failure, to.url, &res)
		}
	}
}

// askRules requests the next URL of the chain, either with turn itself, or with a turn from
// Turn.Hop for another site. x is nil if no turn of that site was available. If failure is not
// empty, the URL must not be requested: no request was made, and only the URL of x is set.
func (h *host) askRules(ctx context.Context, turn *frontier.Turn, res *Result) (x *Exchange, failure string, err error) {
	if why, err := h.fetcher.optedOut(h.chain.at); why != "" || err != nil {
		return &Exchange{URL: h.chain.at, Status: h.chain.status, Ended: time.Now()}, failRedirect, err
	}
	a := requestSpec{url: h.chain.at, robots: true, limit: robots.MaxBytes}
	if a.url.Site() != h.site {
		return h.askOther(ctx, turn, a, res)
	}
	a.header = h.rulesHeader(h.settings)
	if x, err = h.exchange(ctx, turn, a); err != nil {
		return nil, "", notYet(err, &res.Outcome)
	}
	res.add(x, &res.Outcome)
	return x, "", nil
}

// follow moves the chain to the next request after the answer x. If again is false, there is no
// next request. Then failure says why the chain ends without an answer. It is empty if x is the
// answer for robots.txt.
func (c *chain) follow(x *Exchange) (failure string, again bool) {
	if x.Err != nil {
		return string(x.Err.Stage), false
	}
	switch x.Status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		if !c.plain {
			c.plain = true
			return "", true
		}
		return "", false
	}
	return c.move(x, frontier.MaxRedirects)
}

// move does the part of follow that concerns redirects. most is the largest number of redirects in
// a row.
func (c *chain) move(x *Exchange, most int) (failure string, again bool) {
	switch x.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMultipleChoices: // a redirect only if it has a Location (RFC 9110, section 15.4.1)
		if x.Header.Get("Location") == "" {
			return "", false
		}
	default:
		return "", false
	}
	location := x.Header.Get("Location")
	next, err := c.at.Resolve(location)
	switch {
	case location == "" || err != nil || c.seen[next.Key()] || len(c.seen) > most:
		return failRedirect, false
	case next.Site().Scheme() == "ftp" && c.at.Site().Scheme() != "ftp":
		// A web site has no reason to redirect to ftp. An FTP client would connect to the host in
		// the redirect.
		return failRedirect, false
	}
	c.at, c.status = next, x.Status
	c.seen[next.Key()] = true
	return "", true
}

// conclude stores the last answer of the chain as a snapshot, and takes the verdict on u from it.
func (h *host) conclude(x *Exchange, failure string, u frontier.URL, res *Result) error {
	at, _ := robots.Locate(string(h.site) + rulesTarget)
	s := &robots.Snapshot{
		URL: at, Fetched: x.Ended, Status: x.Status, Failure: failure,
		Body: x.Body, Cut: x.Truncated == "length",
		Header: robots.ReadHeader(x.Header.Get),
	}
	s.Header.RetryAfter = x.RetryAfter()
	if s.Failure != "" {
		s.Body = nil
	}
	if final := x.URL.String(); final != at {
		s.Final = final
	}
	s = s.After(h.snapshot)
	if err := h.fetcher.opts.Snapshots.PutSnapshot(h.site, s); err != nil {
		return err
	}
	h.snapshot, h.group, h.mining = s, nil, nil
	res.Snapshot = s
	now := time.Now()
	res.Verdict = h.verdict(u, now)
	res.Outcome.Gap = h.gap(now)
	if res.Verdict.Access == robots.Defer {
		res.Outcome.Defer = res.Verdict.Until
		res.Outcome.RobotsFailures = s.Failures
		res.Outcome.Gone = x.URL.Site() == h.site && x.Err != nil && x.Err.Stage == StageDNS && gone(x.Err)
		res.Outcome.Fate.Detail = failure
		if failure == "" {
			res.Outcome.Fate.Detail = "http " + strconv.Itoa(x.Status)
		}
	}
	return nil
}

// rulesHeader returns the header of a request for robots.txt. The parameter asked has the settings
// of the site that gets the request. The request is conditional (RFC 9110, section 13.1) if the
// stored copy came from the same URL.
func (h *host) rulesHeader(asked *settings) http.Header {
	if h.chain.plain {
		return h.fetcher.plainHeader
	}
	header := asked.rules
	s := h.snapshot.Good()
	if s == nil {
		return header
	}
	from := s.URL
	if s.Final != "" {
		from = s.Final
	}
	if from != h.chain.at.String() {
		return header
	}
	return Validators{s.Header.ETag, s.Header.LastModified}.condition(header)
}
