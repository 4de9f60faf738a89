package fetch

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A call is one request of a Client. It waits for its turn or is under way.
type call struct {
	id     uint64          // ID of the entry of the call
	ctx    context.Context // context of the caller
	url    frontier.URL
	head   bool
	fields func(http.Header) http.Header // changes the header of the request; see Fetcher.visit
	cause  error                         // why the site must wait, as conclude has found; only the goroutine with a turn of the site uses it

	turn chan *frontier.Turn // receives a turn for the call; its capacity is 1

	// The results are set before ended is closed, with calls.mu held.
	resp     *Response
	err      error
	panicked any // value of a panic that the caller repeats; nil: no panic
	ended    chan struct{}

	served atomic.Bool // a turn is being used for the call
}

func newCall(ctx context.Context, u frontier.URL, head bool, fields func(http.Header) http.Header) *call {
	return &call{ctx: ctx, url: u, head: head, fields: fields, turn: make(chan *frontier.Turn, 1), ended: make(chan struct{})}
}

// manyTries is the initial number of failed tries of each entry of a Client. It is so large that
// the frontier ends the entry after one more failure. The caller of the Client decides whether to
// try again.
const manyTries = 1000

// entry returns the entry of the call. The tag of the entry is the ID of the call.
func (a *call) entry() frontier.Entry {
	return frontier.Entry{URL: a.url, Tag: strconv.FormatUint(a.id, 10), Head: a.head}
}

// calls is the frontier.Backlog of a Client. It has, in memory, the calls that have not ended, and
// the clocks of all sites. The backlog of a crawl has each URL at most once, but several calls may
// have the same URL.
type calls struct {
	disk  *clientState   // keeps the clocks; nil: they are only in memory
	turns sync.WaitGroup // counts the turns that were handed to calls and are not finished

	// mu guards the fields below. It is not held while the disk is written.
	mu      sync.Mutex
	sites   map[frontier.Site]*callSite
	open    map[uint64]*call // calls that have not ended, by ID
	lastID  uint64
	sweepAt int   // when len(sites) reaches sweepAt, sweep removes sites without calls
	err     error // why no more calls are accepted; nil while they are
	growths frontier.Growths
}

// A callSite is a site with its clocks and its calls.
type callSite struct {
	state frontier.SiteState // state of the site; its fields about entries are not set: see summary
	left  int                // number of entries that have not ended
	queue []frontier.Entry   // entries that the frontier has not read yet, in the order of the calls
	open  map[uint64]*call   // calls that have not ended
}

// If there are more than maxIdleSites sites, a site is forgotten if it has no calls and its last
// request is longer ago than idleSite. A site with a longer pause, as after a Retry-After, is kept
// until its pause has ended.
const (
	maxIdleSites = 1 << 16
	idleSite     = time.Hour
)

func newCalls() *calls {
	return &calls{sites: map[frontier.Site]*callSite{}, open: map[uint64]*call{}, sweepAt: maxIdleSites}
}

// add adds a call and sets its ID. The caller must then add the entry of the call to the
// frontier.
func (c *calls) add(a *call) error {
	var failed error
	if c.disk != nil {
		// Store the site before its first request: after a kill, the next process makes only the
		// stored sites rest.
		failed = c.disk.know(a.url.Site())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil { // checked before failed, because the disk also fails after Close
		return c.err
	}
	if failed != nil {
		return failed
	}
	s, err := c.site(a.url.Site())
	if err != nil {
		return err
	}
	c.lastID++
	a.id = c.lastID
	c.open[a.id], s.open[a.id] = a, a
	return nil
}

// hand gives a turn to the call of its entry. It returns false if the call has ended.
func (c *calls) hand(turn *frontier.Turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.open[turn.Entry().ID]
	if a == nil {
		return false
	}
	c.turns.Add(1)
	a.turn <- turn
	return true
}

// waiting returns the calls of a site that have not ended.
func (c *calls) waiting(of frontier.Site) (all []*call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sites[of]; s != nil {
		for _, a := range s.open {
			all = append(all, a)
		}
	}
	return all
}

// end ends a call, unless it has already ended. The entry of the call stays queued until its turn
// comes.
func (c *calls) end(a *call, resp *Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(a, resp, err)
}

func (c *calls) endLocked(a *call, resp *Response, err error) {
	if c.open[a.id] == nil {
		return
	}
	delete(c.open, a.id)
	delete(c.sites[a.url.Site()].open, a.id)
	a.resp, a.err = resp, err
	close(a.ended)
}

// close ends all calls with err. Later calls are refused with err.
func (c *calls) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, a := range c.open {
		c.endLocked(a, nil, err)
	}
}

// endBadly ends a call after a function of the options has panicked with the value v. A nil v
// means that the function has ended its goroutine.
func (c *calls) endBadly(a *call, v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[a.id] != nil {
		a.panicked = v
		c.endLocked(a, nil, errGoexit)
	}
}

// errGoexit is the error of a call whose request ended its goroutine.
var errGoexit = errors.New("fetch: a function of ClientOptions ended its goroutine (runtime.Goexit, or t.Fatal in a test)")

// site returns a site, and adds it if it is not in memory. The caller must hold mu.
func (c *calls) site(name frontier.Site) (*callSite, error) {
	s := c.sites[name]
	if s != nil {
		return s, nil
	}
	if len(c.sites) >= c.sweepAt {
		c.sweep(time.Now().Add(-idleSite))
	}
	state, err := c.stored(name)
	if err != nil {
		return nil, err
	}
	s = &callSite{state: state, open: map[uint64]*call{}}
	c.sites[name] = s
	return s, nil
}

// stored returns the state of a site that is not in memory.
func (c *calls) stored(name frontier.Site) (frontier.SiteState, error) {
	if c.disk != nil {
		return c.disk.state(name)
	}
	return frontier.SiteState{Site: name}, nil
}

// sweep removes the sites that have no entries and no calls, and whose last answer and due time
// are before long. The caller must hold mu.
func (c *calls) sweep(long time.Time) {
	for name, s := range c.sites {
		if s.left == 0 && len(s.open) == 0 && s.state.Clocks.Due.Before(long) && s.state.Clocks.Ended.Before(long) {
			delete(c.sites, name)
		}
	}
	c.sweepAt = max(maxIdleSites, 2*len(c.sites))
}

// Sites implements frontier.Backlog.
func (c *calls) Sites() iter.Seq2[frontier.SiteState, error] {
	if c.disk == nil {
		return func(func(frontier.SiteState, error) bool) {}
	}
	return c.disk.sites()
}

// Common implements frontier.Backlog.
func (c *calls) Common() iter.Seq2[frontier.CommonClock, error] {
	if c.disk == nil {
		return func(func(frontier.CommonClock, error) bool) {}
	}
	return c.disk.common()
}

// State implements frontier.Backlog.
func (c *calls) State(name frontier.Site) (frontier.SiteState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sites[name]; s != nil {
		return s.summary(), nil
	}
	return c.stored(name)
}

// Read implements frontier.Backlog.
func (c *calls) Read(name frontier.Site, _ time.Time, entries []frontier.Entry) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sites[name]
	if s == nil {
		return 0, nil
	}
	n := copy(entries, s.queue)
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return n, nil
}

// ReadRequisites implements frontier.Backlog. A Client has no requisites.
func (c *calls) ReadRequisites(frontier.Site, time.Time, []frontier.Entry) (int, time.Time, error) {
	return 0, time.Time{}, nil
}

// Submit implements frontier.Backlog.
func (c *calls) Submit(n frontier.Completion) error {
	if c.disk != nil && n.Site != "" {
		st := frontier.SiteState{Site: n.Site, Clocks: n.Clocks, Spent: n.Spent}
		if err := c.disk.put(st, n.Common); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := frontier.Growth{Settled: 1}
	if n.Site != "" {
		s, err := c.site(n.Site)
		if err != nil {
			return err
		}
		s.state.Clocks, s.state.Spent = n.Clocks, n.Spent
		if n.Entry.ID != 0 && n.Fate.Code != frontier.Undecided {
			s.left--
		}
		g.Sites = append(g.Sites, s.summary())
	}
	for _, e := range n.Links {
		e.ID, _ = strconv.ParseUint(e.Tag, 10, 64)
		e.URL, e.Tries = e.URL.Clone(), manyTries
		s, err := c.site(e.URL.Site())
		if err != nil {
			return err
		}
		s.queue = append(s.queue, e)
		s.left++
		g.Sites = append(g.Sites, s.summary())
	}
	c.growths.Put(g)
	return nil
}

// Grown implements frontier.Backlog.
func (c *calls) Grown() <-chan frontier.Growth { return c.growths.C() }

func (s *callSite) summary() frontier.SiteState {
	st := s.state
	st.Queued, st.Ready = s.left, len(s.queue) > 0
	return st
}
