package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/internal/shared"
	"github.com/permesso-crawler/permesso/robots"
)

// ClientOptions are the settings of a Client. Token and Contact are required. The zero value of
// every other field is polite. The fields from Purpose on have the meaning that they have in
// Options.
type ClientOptions struct {
	// Token is the product token of the program (RFC 9309, section 2.2.1): letters, "_" and "-".
	// The program obeys the groups of robots.txt for this token. The User-Agent begins with it.
	Token string

	// Contact is an http(s) URL about the program, or an e-mail address, through which site
	// owners reach its operator. The User-Agent contains the Contact. An e-mail address is also
	// sent in the field From.
	Contact string

	Delay time.Duration // least pause from the end of an answer to the next request to the same site; 0: 1 s, -1: none. At public addresses the pause is never shorter than 200 ms

	// Patience is the longest wait for a site that must not be contacted yet, for example because
	// of a Retry-After. If the site must rest for longer, the call fails with a *NotYetError.
	// Patience does not limit the wait for earlier calls: only the context limits it. 0: 2 min,
	// frontier.Forever: no limit.
	Patience time.Duration

	// Concurrency is the largest number of requests that are under way at once, all to
	// different sites; 0 means 64. Up to half of this number is kept back for sites that answer
	// quickly.
	Concurrency int

	// Dir is the directory of the file client.db. The Client makes both if they are missing. The
	// file keeps the clocks of the sites (the times before which a site gets no request) and
	// copies of robots.txt. So the next process is as polite as if this one had continued. If Dir
	// is empty, both are only in memory. Only one Client at a time can use a directory.
	Dir string

	// Shared has the clocks that the Client shares with other clients and crawlers. So a site does
	// not get requests from all of them at once. If Shared is nil, all clients and crawlers of
	// this process share clocks. Package storage/machine shares them among all processes of the
	// user on this machine.
	Shared frontier.Shared

	Purpose robots.Purpose                                      // how the program declares that it uses the answers
	OptOut  func(frontier.URL) (why string, err error)          // called with a URL; returns why the URL must not be requested, or ""
	Site    func(site frontier.Site) (s SiteOptions, err error) // returns the settings of one site
	Header  http.Header                                         // further fields of every request
	Signing Signing                                             // signs the requests

	Network      Network
	RootCAs      *x509.CertPool
	ConnectTo    []ConnectTo
	AllowPrivate bool
	Proxy        ProxyFunc
	Timeout      time.Duration
	Bandwidth    int64
	MaxSize      int64 // largest size of a decoded body, in bytes; 0: DefaultMaxSize
}

// A Client makes polite requests for any number of goroutines. A site gets one request at a time,
// so each request waits for its turn. A request follows the same rules as in a crawl. The Client
// first requests robots.txt, and obeys its rules and its Crawl-delay. There are pauses between
// requests, and longer ones after failures or a Retry-After. Sites that share an address or a host
// name share its pauses. One URL may be requested any number of times.
//
// Waiting requests are only in memory. Requests to one site are made in the order of the calls.
// The goroutine of a request calls the functions in ClientOptions. These functions must not make
// requests with the same Client, or close it: the request and the function would wait for each
// other.
type Client struct {
	fetcher  *Fetcher
	frontier *frontier.Frontier
	calls    *calls
	state    *clientState // the file in ClientOptions.Dir; nil: clocks and robots.txt are only in memory
	patience time.Duration
	reach    func(frontier.URL) error // returns an error if the contact must not be shown to the site of the URL

	ctx     context.Context // cancelled by Close
	cancel  context.CancelFunc
	ended   chan struct{}  // closed when no more turns are handed out
	tasks   chan task      // tasks for goroutines that wait for the next one
	workers sync.WaitGroup // counts the goroutines that serve tasks

	once   sync.Once
	closed error // error of closing the state, which Close returns
}

// maxSnapshots is the largest size in bytes of all robots.txt files that a Client without a
// directory keeps in memory.
const maxSnapshots = 64 << 20

// ErrClientClosed is returned by the methods of a Client after Close.
var ErrClientClosed = errors.New("fetch: the Client is closed")

// errNoClient is the error of calls with a Client that is nil or a zero value.
var errNoClient = errors.New("fetch: the Client is nil or a zero value: NewClient makes one")

// NewClient returns a Client, which must be closed with Close. The error says which option is not
// valid, or why Dir cannot be used.
func NewClient(o ClientOptions) (*Client, error) {
	id := identity.Identity{Token: o.Token, Contact: o.Contact}
	if err := id.Check(); err != nil {
		return nil, fmt.Errorf("fetch: ClientOptions.%w", err)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("fetch: ClientOptions.%w", err)
	}
	c := &Client{calls: newCalls(), patience: positive(o.Patience, 2*time.Minute), ended: make(chan struct{}), tasks: make(chan task)}
	c.reach = func(u frontier.URL) error {
		if o.Network != nil || len(o.ConnectTo) > 0 || !identity.IsPublic(u.Host()) {
			return nil
		}
		if err := id.CheckReach(); err != nil {
			return fmt.Errorf("fetch: ClientOptions.%w", err)
		}
		return nil
	}
	opts := Options{
		Policy: robots.Policy{Token: o.Token}, UserAgent: id.UserAgent(), From: id.From(),
		Purpose: o.Purpose, OptOut: o.OptOut, Site: o.Site, Header: o.Header, Signing: o.Signing,
		Network: o.Network, RootCAs: o.RootCAs, ConnectTo: o.ConnectTo, AllowPrivate: o.AllowPrivate, Proxy: o.Proxy,
		Timeout: o.Timeout, Bandwidth: o.Bandwidth, Bodies: Bodies{MaxSize: o.MaxSize},
	}
	limits := frontier.Options{Delay: o.Delay, Shared: shared.Of(o.Shared, o.Network), Revisits: true, DeadRest: time.Hour}
	if o.Dir == "" {
		opts.Snapshots = newMemorySnapshots(maxSnapshots)
	} else {
		var err error
		if c.state, err = openClientState(o.Dir); err != nil {
			return nil, err
		}
		opts.Snapshots, limits.Restarted, c.calls.disk = c.state, c.state.restarted, c.state
	}
	if err := c.start(opts, limits, positive(o.Concurrency, 64)); err != nil {
		if c.state != nil {
			err = errors.Join(err, c.state.bolt.Close()) // close the file, but keep the mark that it is open
		}
		return nil, err
	}
	return c, nil
}

// check returns an error for the first field that is not valid. NewClient calls it before it
// makes Dir.
func (o *ClientOptions) check() *identity.Error {
	switch {
	case o.Patience < 0:
		return &identity.Error{Field: "Patience", Reason: "is negative: 0 is two minutes, frontier.Forever has no limit"}
	case o.Concurrency < 0:
		return &identity.Error{Field: "Concurrency", Reason: "is negative: 0 is 64"}
	case o.Delay < 0 && o.Delay != -1:
		return &identity.Error{Field: "Delay", Reason: "is negative: 0 is a second, -1 is no pause"}
	}
	if err := o.Purpose.Check(); err != nil {
		return &identity.Error{Field: "Purpose", Reason: err.Error(), Err: err}
	}
	if err := CheckHeader(o.Header, false); err != nil {
		return &identity.Error{Field: "Header", Reason: err.Error(), Err: err}
	}
	if _, err := o.Signing.signer(); err != nil {
		return &identity.Error{Field: "Signing", Reason: err.Error(), Err: err}
	}
	return nil
}

// start makes the fetcher and the frontier, and begins to hand out turns.
func (c *Client) start(opts Options, limits frontier.Options, turns int) (err error) {
	if c.fetcher, err = New(opts); err != nil {
		return err
	}
	limits.Lease = c.fetcher.Longest(turns) + time.Minute
	if c.frontier, err = frontier.New(c.calls, limits); err != nil {
		return err
	}
	if err := c.frontier.Allow(func(l *frontier.Limits) { l.Turns, l.Open = turns, true }); err != nil {
		return err
	}
	if c.state != nil {
		if err := c.state.mark(); err != nil {
			return err
		}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.run()
	return nil
}

// Close ends all calls with ErrClientClosed, and cancels requests that are under way. Then it
// closes the file in ClientOptions.Dir, and returns the error of this. Later calls of Close return
// the same error.
func (c *Client) Close() error {
	if c == nil || c.frontier == nil {
		return nil
	}
	c.once.Do(func() {
		c.cancel()
		<-c.ended
		c.calls.turns.Wait()
		c.workers.Wait()
		c.fetcher.Close()
		if c.state != nil {
			c.closed = c.state.close()
		}
	})
	return c.closed
}

// run takes turns from the frontier, and gives each turn to the call that waits for it. The
// goroutine of this call then makes the request. run ends when Close is called, or when the
// frontier fails because a clock cannot be stored.
func (c *Client) run() {
	defer close(c.ended)
	for {
		turn, err := c.frontier.Next(c.ctx)
		if err != nil {
			if c.ctx.Err() != nil {
				err = ErrClientClosed
			}
			c.calls.close(err)
			return
		}
		if !c.calls.hand(turn) { // the call has ended while it waited for this turn
			c.drop(turn, nil)
		}
	}
}

// errEnded is the error of a call that has ended before its turn.
var errEnded = errors.New("fetch: the call has ended")

// A Response is the answer to a request of a Client.
type Response struct {
	*Exchange                  // final URL (after redirects), Status, Header, decoded Body, Truncated, times and more
	Verdict   robots.Verdict   // the rule of robots.txt that allowed the request
	Snapshot  *robots.Snapshot // the copy of robots.txt that gave Verdict
	Redirects []frontier.URL   // the URLs that redirected, in order, beginning with the URL of the call; empty without a redirect
}

// Get requests a URL, and follows up to frontier.MaxRedirects redirects (RFC 9110, section 15.4).
// Each redirect obeys the rules of its own site. A status such as 404 or 503 is no error. If a
// status makes the site rest, later calls wait, or fail with a *NotYetError. If the body is not
// complete, Response.Truncated says why. If a server closes a kept connection before it answers,
// the request is made again in another turn. A call waits for a turn of the site even if
// robots.txt then forbids its request.
//
// Get returns these errors: a *frontier.URLError for a text that is no URL; a *RefusedError if
// robots.txt or another rule forbids the request; a *NotYetError if the turn of the site does not
// come in time or robots.txt cannot be fetched; an *Error if there is no answer; ErrClientClosed;
// or an error of the directory or of an option. If ctx ends, or would end before the turn, the
// error wraps the error of ctx. A request that was sent continues without its caller, so that the
// site gets no second request in this time.
func (c *Client) Get(ctx context.Context, url string) (*Response, error) {
	u, err := frontier.ParseURL(url)
	if err != nil {
		return nil, err
	}
	var passed []frontier.URL
	var chain *chain
	for {
		resp, err := c.do(ctx, u, false, unchanged)
		if err != nil {
			return nil, err
		}
		if resp.Status/100 != 3 {
			resp.Redirects = passed
			return resp, nil
		}
		if chain == nil {
			chain = newChain(u)
		}
		failure, again := chain.move(resp.Exchange, frontier.MaxRedirects)
		if failure != "" {
			return nil, &Error{u.String(), failRedirect, fmt.Errorf("its redirect to %q leads nowhere: it is missing, not valid, goes in a circle, or is one of more than %d", resp.Header.Get("Location"), frontier.MaxRedirects)}
		}
		if !again {
			resp.Redirects = passed
			return resp, nil
		}
		passed, u = append(passed, u), chain.at
	}
}

func unchanged(usual http.Header) http.Header { return usual }

// do waits for a turn of the site of u, and makes one request.
func (c *Client) do(ctx context.Context, u frontier.URL, head bool, fields func(http.Header) http.Header) (*Response, error) {
	switch {
	case c == nil || c.frontier == nil:
		return nil, errNoClient
	case ctx == nil:
		return nil, errors.New("fetch: the context is nil: context.Background() is one that never ends")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.reach(u); err != nil {
		return nil, err
	}
	a := newCall(ctx, u, head, fields)
	if err := c.notYet(u.Site(), a); err != nil {
		return nil, err
	}
	if err := c.calls.add(a); err != nil {
		return nil, err
	}
	defer c.calls.end(a, nil, errEnded) // a panic in a function of the options must also end the call
	if err := c.frontier.Add(a.entry()); err != nil {
		c.calls.end(a, nil, err)
	}
	for {
		select {
		case turn := <-a.turn:
			if ctx.Done() == nil {
				c.serve(turn, a)
			} else {
				// The request continues if the caller gives up. Otherwise a slow site would get
				// one request after another, each of which is cancelled before its answer.
				c.hire(turn, a)
			}
			continue
		case <-a.ended:
		case <-ctx.Done():
			c.giveUp(a)
		}
		select {
		case turn := <-a.turn: // the turn came at the moment at which the call ended
			c.giveBack(turn)
		default:
		}
		if a.panicked != nil {
			panic(a.panicked)
		}
		return a.resp, a.err
	}
}

// giveUp removes a call whose context has ended.
func (c *Client) giveUp(a *call) {
	if a.served.Load() {
		c.calls.end(a, nil, &Error{a.url.String(), StageStopped, a.ctx.Err()})
		return
	}
	_, until, by := c.due(a.url.Site())
	c.calls.end(a, nil, &NotYetError{URL: a.url.String(), Until: until, By: by, Err: a.ctx.Err()})
}

// due returns when a site may get its next request, as far as is known, and the clock that sets
// this time. out says that another request to the site is under way.
func (c *Client) due(of frontier.Site) (out bool, until time.Time, by frontier.Clock) {
	if st, ok := c.frontier.Status(of); ok {
		return st.Out, st.Due, st.By
	}
	st, _ := c.calls.State(of) // the error also ends the frontier, which reports it
	return false, st.Clocks.Due, st.Clocks.By
}

// notYet ends those of calls that would have to wait too long for a request. All calls are for the
// site of. A wait is too long if it is longer than ClientOptions.Patience, or lasts until the
// deadline of the caller's context. Such a call ends with a *NotYetError. notYet returns the last
// of these errors, or nil if no call has ended.
func (c *Client) notYet(of frontier.Site, calls ...*call) error {
	out, until, by := c.due(of)
	wait := time.Until(until)
	if out || wait <= 0 {
		return nil
	}
	var last error
	for _, a := range calls {
		if end, limited := a.ctx.Deadline(); wait > c.patience || limited && !until.Before(end) {
			why := a.cause
			if wait <= c.patience {
				why = errors.Join(why, context.DeadlineExceeded)
			}
			last = &NotYetError{URL: a.url.String(), Until: until, By: by, Err: why}
			c.calls.end(a, nil, last)
		}
	}
	return last
}

// hire serves a call in an idle goroutine, or in a new one. So there are at most as many
// goroutines as there were requests at the same time. Close ends them.
func (c *Client) hire(turn *frontier.Turn, a *call) {
	next := task{turn, a}
	select {
	case c.tasks <- next:
	default:
		c.workers.Go(func() { c.work(next) })
	}
}

// A task is a turn together with the call that uses it.
type task struct {
	turn *frontier.Turn
	call *call
}

func (c *Client) work(next task) {
	for {
		c.serveApart(next.turn, next.call)
		select {
		case next = <-c.tasks:
		case <-c.ctx.Done():
			return
		}
	}
}

// serveApart calls serve in a goroutine that is not the caller's. If serve panics, the caller's
// goroutine panics with the same value.
func (c *Client) serveApart(turn *frontier.Turn, a *call) {
	returned := false
	defer func() {
		if v := recover(); !returned {
			c.calls.endBadly(a, v)
		}
	}()
	c.serve(turn, a)
	returned = true
}

// serve uses a turn for the call of its entry, and finishes the turn.
func (c *Client) serve(turn *frontier.Turn, a *call) {
	defer c.calls.turns.Done()
	a.served.Store(true)
	defer a.served.Store(false)
	began, whole := time.Now(), false
	defer func() {
		if !whole {
			// A function of the options has panicked or ended the goroutine. The site may have got
			// a request, so it gets the pause that follows a request.
			c.drop(turn, &frontier.Request{Started: began, Ended: time.Now()})
		}
	}()
	res, err := c.fetcher.visit(c.ctx, turn, a.fields)
	if c.ctx.Err() != nil && err == nil {
		err = ErrClientClosed
	}
	resp, err := a.conclude(&res, err)
	whole = true
	c.finish(turn, a, &res.Outcome, resp, err)
}

// giveBack finishes a turn without a request, because the call that waited for the turn has ended.
func (c *Client) giveBack(turn *frontier.Turn) {
	defer c.calls.turns.Done()
	c.drop(turn, nil)
}

// drop finishes a turn whose call has ended. The parameter made is the request that was made, or
// nil.
func (c *Client) drop(turn *frontier.Turn, made *frontier.Request) {
	o := frontier.Outcome{Request: made, Fate: frontier.Fate{Code: frontier.Failed}}
	c.finish(turn, nil, &o, nil, nil)
}

// finish finishes the turn with the outcome o. If there is a response or an error, it ends the
// call a. Otherwise a waits for the next turn of its site. Then finish ends all calls that would
// have to wait too long for this site (see notYet). A nil a means that the call has already ended.
func (c *Client) finish(turn *frontier.Turn, a *call, o *frontier.Outcome, resp *Response, err error) {
	if resp != nil || err != nil {
		o.Again, o.Gone, o.RobotsFailures = false, false, 0 // the caller of the Client decides whether to try again
		if o.Fate.Code == frontier.Undecided {
			o.Fate.Code = frontier.Failed
		}
	}
	_, failed := turn.Finish(*o)
	switch {
	case a == nil:
	case failed != nil:
		c.calls.end(a, nil, failed)
	case resp != nil || err != nil:
		c.calls.end(a, resp, err)
	}
	c.notYet(turn.Site(), c.calls.waiting(turn.Site())...)
}

// conclude returns the response or the error that ends the call. If both are nil, the call needs
// another turn. The parameter failed is the error of the visit.
func (a *call) conclude(res *Result, failed error) (*Response, error) {
	var x *Exchange // the last exchange with the URL of the call; nil if there was none
	a.cause = nil
	for _, of := range res.Exchanges {
		if !of.Robots {
			x = of
		} else if of.Err != nil {
			a.cause = of.Err
		} else if of.Status >= http.StatusInternalServerError || of.Status == http.StatusTooManyRequests {
			a.cause = errors.New("robots.txt was answered with status " + strconv.Itoa(of.Status))
		}
	}
	o := &res.Outcome
	switch {
	case failed != nil:
		return nil, failed
	case res.barred != nil:
		return nil, res.barred
	case o.Gone:
		return nil, a.cause
	case x == nil && a.cause != nil && !o.Defer.IsZero():
		return nil, &NotYetError{URL: a.url.String(), Until: o.Defer, By: frontier.RobotsClock, Err: a.cause}
	case x == nil && !o.Again:
		return nil, &RefusedError{URL: a.url.String(), Code: o.Fate.Code, Detail: o.Fate.Detail, Verdict: res.Verdict}
	case x == nil || o.Again:
		return nil, nil
	case x.Err != nil:
		return nil, x.Err
	}
	return &Response{Exchange: x, Verdict: res.Verdict, Snapshot: res.Snapshot}, nil
}

// A RefusedError says that a request was not made because a rule forbids it.
type RefusedError struct {
	URL     string
	Code    frontier.Code // RobotsDisallowed, UseRefused or OptedOut
	Detail  string        // the rule and its line, the statement about the use, or the reason of OptOut
	Verdict robots.Verdict
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("fetch: %s: %s: %s", e.URL, e.Code.Words(), e.Detail)
}

// A NotYetError says that a request was not made because the site must not be contacted before
// Until. The request may be repeated at that time, unless the context of the caller has ended:
// check ctx.Err first.
type NotYetError struct {
	URL   string
	Until time.Time
	By    frontier.Clock // the clock that sets Until
	Err   error          // why the site must wait, or the error of the context; nil if By is the only reason
}

func (e *NotYetError) Error() string {
	text := fmt.Sprintf("fetch: %s: no request to its site before %s (%s)", e.URL, e.Until.UTC().Format(time.RFC3339), e.By)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *NotYetError) Unwrap() error { return e.Err }
