package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A host is the per-host fetcher of one site. It has no lock: only the visit that has a turn of
// the site uses it. Between two visits only the Fetcher uses it, to close its connection or to
// forget it.
type host struct {
	fetcher  *Fetcher
	site     frontier.Site
	settings *settings // settings of the site; nil until settle has set them

	// conn is the one connection to the site. It is kept between visits, and is nil when it is
	// closed. Only exchange opens it, and only drop closes it. So no answer is read from a
	// connection whose last answer was not read to its end.
	conn     *conn
	only1    bool // the site wants HTTP/1.1 (RFC 9113, section 7)
	lostKept int  // number of kept connections in a row that were closed during a request
	refused  int  // number of requests in a row that were not processed on new connections

	// failed are the addresses of the site to which connecting failed. Only avoid adds addresses.
	// The method endpoint clears failed when it contains all known addresses.
	failed []netip.Addr

	// The rules of the site. loaded says that snapshot was loaded from Snapshots. Until then
	// snapshot is nil, and it stays nil if robots.txt was never fetched. group is compiled from
	// snapshot when it is needed. Code that changes snapshot must set group to nil.
	loaded   bool
	snapshot *robots.Snapshot
	group    *robots.Group
	mining   *robots.TDMRep // parsed from snapshot.Mining on demand

	// licenses are the URLs of the license documents that the group namedBy of robots.txt names.
	licenses []frontier.URL
	namedBy  *robots.Group

	// chain has the redirects of a robots.txt that is being fetched over several turns. While
	// chain is set, the site gets no other request, and the Fetcher keeps the host, because the
	// chain is stored nowhere else.
	chain *chain

	// miningChain is the chain of redirects of a tdmrep.json. All its URLs are on the site.
	miningChain *chain
}

// A Result is the result of a visit to a site.
type Result struct {
	Exchanges []*Exchange      // all requests that were made, including those for robots.txt, in order
	Page      *Exchange        // the exchange for the queued URL, one of Exchanges; nil if the server did not answer it
	Verdict   robots.Verdict   // the verdict of robots.txt on the queued URL; Defer if robots.txt had to be fetched first
	Snapshot  *robots.Snapshot // the robots.txt that gave Verdict
	Rules     *robots.Group    // the rules of Snapshot for this crawler; nil if robots.txt had to be fetched first
	Mining    *robots.TDMRep   // the rules of the site's tdmrep.json; nil if it was not fetched
	Licenses  robots.Licenses  // the terms of the license documents that robots.txt names, if they were fetched
	Outcome   frontier.Outcome // the value for Turn.Finish; the caller adds the links of the page

	barred *Error // why no request is possible: the site has no public address; nil if it has one
}

// Release releases all exchanges. With Options.BodyBudget the caller must call it after using the
// exchanges. Their bodies may still be used after Release, unless Options.Lend is set.
func (r *Result) Release() {
	for _, x := range r.Exchanges {
		x.Release()
	}
}

// get makes the one request of the turn. It requests robots.txt if the stored copy is stale.
// Otherwise it requests the entry, if the rules allow it. For fields, see Fetcher.visit.
func (h *host) get(ctx context.Context, turn *frontier.Turn, fields func(http.Header) http.Header) (Result, error) {
	entry := turn.Entry()
	if why, err := h.fetcher.optedOut(entry.URL); err != nil {
		return Result{}, err
	} else if why != "" {
		return Result{Outcome: frontier.Outcome{Fate: frontier.Fate{Code: frontier.OptedOut, Detail: why}}}, nil
	}
	if err := h.load(); err != nil {
		return Result{}, err
	}
	now := time.Now()
	if h.chain != nil || !h.fresh(turn, entry.URL, now) {
		return h.refresh(ctx, turn, purpose{url: entry.URL})
	}
	res := Result{Verdict: h.verdict(entry.URL, now), Snapshot: h.snapshot, Rules: h.group}
	res.Outcome.Gap = h.gap(now)
	switch res.Verdict.Access {
	case robots.Allow:
		if by, refused := h.refuses(entry.URL); refused {
			res.Outcome.Fate = frontier.Fate{Code: frontier.UseRefused, Detail: by.String(), Rules: h.snapshot.Fetched}
			return res, nil
		}
		if opens := h.group.NextVisit(now); opens.After(now) {
			res.Outcome.Again, res.Outcome.Defer, res.Outcome.DeferBy = true, opens, frontier.VisitTimeClock
			return res, nil
		}
	case robots.Disallow:
		res.Outcome.Fate = frontier.Fate{
			Code: frontier.RobotsDisallowed, Detail: because(res.Verdict), Rules: h.snapshot.Fetched,
		}
		return res, nil
	default:
		res.Outcome.Again, res.Outcome.Defer = true, res.Verdict.Until
		return res, nil
	}
	if done, err := h.consult(ctx, turn, &res); done || err != nil {
		return res, err
	}
	header := fields(h.settings.page)
	x, err := h.exchange(ctx, turn, requestSpec{url: entry.URL, head: asksHead(entry), limit: h.fetcher.opts.MaxSize, header: header})
	if err != nil && !isSpool(err) {
		return res, notYet(err, &res.Outcome)
	}
	h.concludePage(x, entry, &res)
	return res, err
}

// optedOut returns why u must not be requested, or "" if it may be requested.
func (f *Fetcher) optedOut(u frontier.URL) (why string, err error) {
	if f.opts.OptOut == nil {
		return "", nil
	}
	return f.opts.OptOut(u)
}

// refuses reports whether the current rules refuse the purpose of the crawl for u, and returns the
// statement that refuses it. It is called only if the rules allow u.
func (h *host) refuses(u frontier.URL) (by robots.Statement, refused bool) {
	if h.fetcher.opts.Purpose == "" {
		return by, false
	}
	return h.group.Signals(u.Target()).Refuses(h.fetcher.opts.Purpose)
}

// fresh reports whether the stored copy of robots.txt may still be used.
//
// A copy that was fetched after the last request to the site may always be used for the next
// request, even if the copy's lifetime ends before that request (RFC 9309, section 2.4, says at
// most 24 hours). The wait may be a pause between requests, which may last over several runs. It
// may also be the wait in this run for the turn of the URL for which the copy was fetched. Without
// this exception, some sites would only get requests for their robots.txt: a site with a
// Crawl-delay of days, or one of many sites of a crawl with little time.
//
// The exception does not apply if no earlier request to the site is known. The copy then comes
// from another crawl, which has already used it for a request.
func (h *host) fresh(turn *frontier.Turn, u frontier.URL, now time.Time) bool {
	s := h.snapshot
	if s == nil || s.Fetched.After(now) {
		return false
	}
	rested := turn.Rested()
	unused := !rested.After(s.Fetched)
	waited := !rested.IsZero() && now.Before(turn.Due().Add(time.Minute)) || !turn.First().IsZero() && !s.Fetched.Before(turn.First())
	if unused && waited && h.verdict(u, now).Access != robots.Defer {
		return true
	}
	return now.Before(s.Expires(h.settings.policy))
}

// add records x, an exchange for a robots.txt, a tdmrep.json or a license. It also records the
// request in o, the outcome of the turn in which the request was made. It records nothing if
// the name of the site has no public address, because then no request was made.
func (r *Result) add(x *Exchange, o *frontier.Outcome) {
	if x.Err != nil && x.Err.Stage == StageAddress {
		return
	}
	r.Exchanges = append(r.Exchanges, x)
	o.Request, o.Trouble, o.RetryAfter = x.request(), x.Trouble(), x.RetryAfter()
}

// concludePage sets res.Outcome from x, the exchange for the queued URL.
func (h *host) concludePage(x *Exchange, entry frontier.Entry, res *Result) {
	o := &res.Outcome
	o.Fate = frontier.Fate{Code: frontier.Failed, Status: x.Status, Rules: h.snapshot.Fetched}
	if x.Err != nil {
		o.Fate.Detail = string(x.Err.Stage)
	} else {
		o.Fate.Detail = "http " + strconv.Itoa(x.Status)
	}
	if x.Err != nil && x.Err.Stage == StageAddress {
		o.Again, o.Gone, o.Fate.Detail = true, true, x.Err.Err.Error()
		res.barred = x.Err
		return
	}
	res.Exchanges = append(res.Exchanges, x)
	o.Request, o.Trouble, o.RetryAfter = x.request(), x.Trouble(), x.RetryAfter()
	if x.incomplete() && entry.Tries+1 >= frontier.MaxTries {
		// This was the last try, so the received part is used as the page. The site still gets the
		// pause that follows a failure.
		x.Err, res.Page = nil, x
		o.Fate.Code, o.Fate.Detail = frontier.Fetched, ""
		return
	}
	if x.Err != nil {
		o.Again = x.Err.Stage == StageStale || x.Err.Stage == StageStopped
		return
	}
	if x.refusesHead() {
		o.Again, o.ByGet, o.Trouble = true, true, frontier.NoTrouble
		return
	}
	if o.Trouble == frontier.NoTrouble {
		res.Page = x
		o.Fate.Code, o.Fate.Detail = frontier.Fetched, ""
	}
}

// because returns the rule that forbids the page, as text.
func because(v robots.Verdict) string {
	if v.Rule.Line == 0 {
		return v.Reason.String()
	}
	return "line " + strconv.Itoa(v.Rule.Line) + ": Disallow: " + v.Rule.Pattern
}

// notYet handles the error of a request. A *frontier.NotYet means that the turn must not make its
// request now: notYet sets o so that the frontier hands out the URL again, and returns nil. It
// returns any other error unchanged.
func notYet(err error, o *frontier.Outcome) error {
	var wait *frontier.NotYet
	if errors.As(err, &wait) {
		o.Again = true
		return nil
	}
	return err
}

// load loads the settings of the site and its last snapshot, unless they are loaded.
func (h *host) load() error {
	if err := h.settle(); err != nil || h.loaded {
		return err
	}
	s, err := h.fetcher.opts.Snapshots.Snapshot(h.site)
	if err != nil {
		return err
	}
	h.snapshot, h.loaded = s, true
	return nil
}

// unload drops the data that load has loaded.
func (h *host) unload() {
	h.loaded, h.snapshot, h.group, h.mining = false, nil, nil, nil
	h.licenses, h.namedBy = nil, nil
}

// rulesSize returns how many bytes of robots.txt and tdmrep.json the host has in memory.
func (h *host) rulesSize() int { return sizeOf(h.snapshot) }

// sizeOf returns how many bytes of robots.txt and tdmrep.json a snapshot has in memory. s may be
// nil.
func sizeOf(s *robots.Snapshot) int {
	if s == nil {
		return 0
	}
	return len(s.Body) + sizeOf(s.Copy) + sizeOf(s.Mining)
}

// verdict returns the verdict of robots.txt on a URL of this site.
func (h *host) verdict(u frontier.URL, now time.Time) robots.Verdict {
	return h.groupAt(now).Match(u.Target())
}

// groupAt returns the group of robots.txt that applies at the time now. It is kept for later
// calls, unless it comes from an old copy that is used because robots.txt is unreachable: the old
// copy may become too old between two requests.
func (h *host) groupAt(now time.Time) *robots.Group {
	if h.group == nil || h.snapshot.Copy != nil {
		h.group = h.snapshot.Group(h.settings.policy, now)
	}
	return h.group
}

// gap returns the pause between requests that the current group demands: the longer one of
// Crawl-delay and Request-rate.
func (h *host) gap(now time.Time) *frontier.Gap {
	group := h.groupAt(now)
	var gap frontier.Gap
	if d, ok := group.CrawlDelay(); ok {
		gap = frontier.Gap{For: d, By: frontier.CrawlDelayClock}
	}
	if d, ok := group.RequestRate(); ok && d > gap.For {
		gap = frontier.Gap{For: d, By: frontier.RateClock}
	}
	return &gap
}

// A requestSpec describes a request to make.
type requestSpec struct {
	url    frontier.URL
	robots bool
	head   bool  // use the method HEAD
	limit  int64 // largest size of the decoded body, in bytes
	header http.Header
	turn   *frontier.Turn // a turn of the site, from Next or Hop; set by exchange
}

// exchange makes one request with turn, a turn of the site. If the error is a *frontier.NotYet,
// nothing was sent. Later failures are recorded in the Exchange.
func (h *host) exchange(ctx context.Context, turn *frontier.Turn, a requestSpec) (*Exchange, error) {
	x := &Exchange{URL: a.url, Robots: a.robots, Head: a.head, Via: turn.Entry().Via, RequestHeader: withoutCredentials(a.header)}
	if !h.fetcher.opts.Lend || h.fetcher.opts.MaxBody != nil {
		x.RequestHeader = x.RequestHeader.Clone() // a copy, because the caller may change the header of x
	}
	a.turn = turn
	x.Asked = turn.Asked()
	x.Started = time.Now()
	if h.snapshot != nil {
		if err := turn.Pace(*h.gap(x.Started)); err != nil {
			return nil, err
		}
	}
	w := newWatch(ctx, h.fetcher.opts.Timeout)
	defer w.stop()

	c := h.kept()
	var ep endpoint
	if c != nil {
		ep, x.Reused = c.to, true
	} else {
		var err error
		if ep, err = h.endpoint(w.context()); err != nil {
			return x, h.fail(x, w, err)
		}
	}
	if err := turn.Bind(ep.site, ep.public); err != nil {
		return nil, err
	}
	x.Asked = turn.Asked()
	x.Started = time.Now()
	if ep.proxy == nil {
		x.Addr = ep.addr
	} else {
		x.Proxy = proxyName(ep.proxy)
	}
	if h.site.Scheme() == "ftp" {
		err := h.retrieve(ctx, x, w, ep, a)
		if x.Err != nil && x.Err.Stage.noConnection() {
			h.avoid(ep)
		}
		return x, err
	}
	if c == nil {
		w.enter(phaseConnect)
		var err error
		if c, err = h.connect(w, ep); err != nil {
			return h.notConnected(x, w, ep, err)
		}
		h.conn = c
	}
	return h.talk(ctx, w, x, a, c)
}

// talk sends the request a over c and records the answer in x.
func (h *host) talk(ctx context.Context, w *watch, x *Exchange, a requestSpec, c *conn) (*Exchange, error) {
	w.enter(phaseAnswer)
	h.sign(&a, x)
	resp, err := c.ask(w, a, x)
	if err != nil {
		h.only1 = h.only1 || c.h2 != nil && wantsHTTP11(err)
		c.finish()
		h.drop()
		h.fail(x, w, err)
		h.lost(x)
		return x, nil
	}
	keep := h.answered(x)
	if c.absolute() && x.Status == http.StatusProxyAuthRequired {
		c.finish()
		h.drop()
		return nil, &proxyError{Proxy: x.Proxy, Status: x.Status}
	}
	b, err := h.read(w, a, x, resp)
	h.only1 = h.only1 || c.h2 != nil && err != nil && wantsHTTP11(err)
	c.used = time.Now()
	if again := c.finish(); err != nil || b.cut || !keep || !again {
		h.drop()
	}
	return x, h.take(ctx, w, x, b, err)
}

// sign signs the request a, if requests are signed. It is called just before the request is sent,
// so that the time in the signature is right even if connecting has taken long. It gives a its own
// copy of the header, so that no other request gets the signature.
func (h *host) sign(a *requestSpec, x *Exchange) {
	if h.fetcher.signer == nil {
		return
	}
	a.header = a.header.Clone()
	h.fetcher.signer.Sign(a.header, a.url.Site().Authority(), time.Now())
	x.RequestHeader = withoutCredentials(a.header).Clone()
}

// notConnected records in x why there is no connection. If the site did not cause the failure, it
// also returns the failure as an error.
func (h *host) notConnected(x *Exchange, w *watch, ep endpoint, err error) (*Exchange, error) {
	switch {
	case TooManyOpen(err): // this machine is the cause, not the site
		return nil, fmt.Errorf("a connection cannot be opened: %w: raise the limit of open files (ulimit -n), or lower the concurrency", err)
	case refusedByProxy(err):
		return nil, err
	}
	h.avoid(ep)
	return x, h.fail(x, w, err)
}

// Limits of a body that does not matter: of a redirect, or of an answer that means the same
// without its body.
const (
	maxRedirectBody = 64 << 10        // largest number of bytes of the body of a robots.txt redirect
	needlessWait    = 5 * time.Second // time after which such a body is cut; a body that never ends would take the whole time-out
)

// bodyLimit returns the largest number of decoded bytes that are read of the body of an answer
// with the given status.
func (a *requestSpec) bodyLimit(status int) int64 {
	if a.robots && status/100 == 3 {
		return min(a.limit, maxRedirectBody)
	}
	return a.limit
}

// needless reports whether an answer means the same without its body: a redirect, or an
// answer other than 2xx for robots.txt, tdmrep.json or a license.
func (a *requestSpec) needless(resp *http.Response) bool {
	status := resp.StatusCode
	return status/100 == 3 && resp.Header.Get("Location") != "" || a.robots && status/100 != 2
}

// read reads the body of the answer resp.
func (h *host) read(w *watch, a requestSpec, x *Exchange, resp *http.Response) (*body, error) {
	w.enter(phaseBody)
	if a.head {
		return bodiless(resp), nil
	}
	if a.needless(resp) {
		w.within(needlessWait)
	}
	defer resp.Body.Close()
	limit := a.bodyLimit(resp.StatusCode)
	if most := h.fetcher.opts.MaxBody; most != nil && !a.robots && resp.StatusCode/100 == 2 {
		limit = min(limit, max(0, most(x)))
	}
	resp.Body = h.metered(a, resp.Body)
	var b *body
	var err error
	if a.robots { // these bodies are outside of the memory budget, because a visit may hold several
		b, err = h.fetcher.readRules(resp, limit, h.progress(w))
	} else {
		b, err = h.fetcher.readBody(resp, h.fetcher.bodies, limit, h.fetcher.opts.Lend, h.progress(w))
	}
	return b, a.endOf(b, resp.Body, resp.StatusCode, err)
}

// take sets the body of x to b. The parameter err is the error that reading b returned.
func (h *host) take(ctx context.Context, w *watch, x *Exchange, b *body, err error) error {
	w.pause() // from here on, only this machine can delay the exchange, not the site
	x.Ended, x.WireBytes = time.Now(), b.n
	ended := x.Ended
	if err != nil && !isSpool(err) {
		h.fail(x, w, err)
	}
	serr := b.settle(ctx, h.fetcher)
	switch {
	case isSpool(err), isSpool(serr):
		b.free()
		err = cmp.Or(serr, err)
		x.Err = &Error{x.URL.String(), StageStopped, err}
		return err
	case err == nil && serr != nil:
		h.fail(x, w, serr)
	}
	x.Ended = ended
	x.Body, x.Wire, x.lent, x.share = b.decoded, b.wire, b.lent, b.share
	if b.cut {
		x.Truncated = "length"
	}
	if x.Err != nil && !x.Err.Stage.ofBody() {
		return nil
	}
	if x.Status/100 != 2 {
		x.Err = nil // the status and the header are enough to know what the answer means (RFC 9110, section 15)
	}
	seen := x.Body
	if x.Err != nil {
		seen = nil // without the whole page its length is not known, which distinguishes a challenge from a page that mentions one
	}
	if network := challengeOf(x.Status, x.Header, seen, x.URL.Target()); network != "" {
		x.Err = &Error{x.URL.String(), StageChallenge, &challengeError{network, x.Status}}
	}
	return nil
}

// progress returns the function that is called after each read of a body. The function restarts
// the time-out of the phase in which the body is read. If the bandwidth is limited, the function
// first waits until this limit permits the bytes that were read.
func (h *host) progress(w *watch) func(int) {
	t := h.fetcher.throttle
	if t == nil {
		return func(int) { w.enter(phaseBody) }
	}
	return func(n int) { t.pay(w, n) }
}

// endpoint returns the address to connect to: the first address of the site to which connecting
// has not failed.
func (h *host) endpoint(ctx context.Context) (endpoint, error) {
	eps, err := h.fetcher.resolve(ctx, h.site)
	if err != nil {
		return endpoint{}, err
	}
	for _, ep := range eps {
		if !slices.Contains(h.failed, ep.addr.Addr()) {
			return ep, nil
		}
	}
	h.failed = h.failed[:0]
	return eps[0], nil
}

// avoid records that connecting to ep failed. The name is then looked up again, because its
// known addresses may be out of date.
func (h *host) avoid(ep endpoint) {
	if len(h.failed) == 16 { // a name that resolves to new addresses each time must not fill the list
		h.failed = h.failed[:0]
	}
	h.failed = append(h.failed, ep.addr.Addr())
	h.fetcher.names.forget(ep.name)
}

// fail records in x why the exchange failed. It always returns nil.
func (h *host) fail(x *Exchange, w *watch, err error) error {
	x.Ended = time.Now()
	stage := stageOf(w.why(), w.at, x.Reused && len(x.broken) == 0, err)
	if x.Status != 0 && !x.Head {
		x.Truncated = truncation(stage)
	}
	if cause := w.why(); cause != nil {
		err = cause
	}
	x.Err = &Error{x.URL.String(), stage, err}
	return nil
}

func portOf(s frontier.Site) string { return strconv.Itoa(int(s.Port())) }

// gone reports whether err says that the site's name does not exist.
func gone(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
