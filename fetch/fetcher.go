package fetch

import (
	"container/list"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// DefaultMaxSize is Options.MaxSize where that is 0.
const DefaultMaxSize = 16 << 20

// Options of a Fetcher. Policy.Token and UserAgent are required, the rest has
// polite defaults.
type Options struct {
	Policy  robots.Policy  // how robots.txt is read, and for whom
	Purpose robots.Purpose // what pages are for: one for which robots.txt, a license that it names, or tdmrep.json refuses that is not asked for; empty: not declared

	// OptOut says why a URL is not to be asked for, nor the robots.txt of its site for
	// it; "": it may be. It is asked before anything else. An error of it is one of
	// Get. nil: there is none.
	OptOut func(frontier.URL) (why string, err error)

	// Site says what holds for one site alone: asked before that is asked for anything,
	// and again when the Fetcher has forgotten the site. It must be safe for concurrent
	// use. An error of it is one of Get. nil: all sites are alike.
	Site func(frontier.Site) (SiteOptions, error)

	UserAgent string // header field; must hold the product token
	From      string // header field (RFC 9110, section 10.1.2); may be empty

	// Header holds further fields for every request, robots.txt included, such
	// as Accept-Language. ParseHeader says which fields are refused. An Accept
	// counts for pages only.
	Header http.Header

	Network      Network        // nil: Direct
	Snapshots    Snapshots      // nil: in memory
	RootCAs      *x509.CertPool // nil: the system's
	ConnectTo    []ConnectTo    // the first that matches counts
	AllowPrivate bool           // talk to private addresses, too

	// Proxy names the proxy of a site; nil: none is used, whatever the
	// environment says. What ConnectTo matches is connected to directly. The
	// proxy may have any address. Only it knows those of the sites, which count as
	// public: the clocks of hosts hold, those of addresses do not, and only the
	// addresses and local names that a URL itself holds are refused as not public.
	Proxy ProxyFunc

	Timeout time.Duration // of one phase: resolve, connect, TLS, answer, each pause of a body; 0: 30 s
	MaxSize int64         // bytes of a decoded body; 0: DefaultMaxSize

	// Bandwidth is the most that the bodies of all sites together take, in
	// bytes per second as they come over the wire; 0: no limit. Time spent
	// waiting for it counts as no site's. A server may lose patience all the
	// same.
	Bandwidth int64

	// KeepWire captures each exchange as an archive wants it (WARC 1.1, section
	// 6.3 and 6.4): Exchange.RequestHead, ResponseHead and Wire. It costs a copy
	// of the bodies that come with a content coding.
	KeepWire bool

	// Lend lets the bodies of pages be given back by Release: it saves to make
	// and clear memory for each. Exchanges then share the fields of their requests,
	// too, which nobody may change.
	Lend bool

	// BodyBudget is how many bytes the bodies of pages have in memory, all visits
	// together and from their first byte to Result.Release; 0: no bound. A body
	// for which there is no room is read into a file of TempDir, and waits
	// there; one body always finds room, whatever its size. The first 256 KiB
	// of a body do not count, nor does a robots.txt.
	BodyBudget int64
	TempDir    string // empty: the system's

	MaxHosts int // per-host fetchers kept in memory, beside those at work; 0: 4096. They are fewer where the robots.txt of their sites are large
	MaxIdle  int // kept connections; 0: 1024
	MaxNames int // answers of the resolver kept in memory, five minutes each; 0: 16384

	maxRules int // set in tests
}

// Snapshots keeps the robots.txt of each site, and the license documents that these name,
// for longer than memory does.
type Snapshots interface {
	// Snapshot returns the last snapshot of site, nil if there is none.
	Snapshot(site frontier.Site) (*robots.Snapshot, error)
	// PutSnapshot adds a snapshot, which must not be changed afterwards.
	PutSnapshot(site frontier.Site, s *robots.Snapshot) error
	// License returns the last snapshot of the license document at u, nil if there is none.
	License(u frontier.URL) (*robots.Snapshot, error)
	// PutLicense adds a snapshot, which must not be changed afterwards.
	PutLicense(u frontier.URL, s *robots.Snapshot) error
}

// A Fetcher holds a per-host fetcher for each site that was talked to lately.
// It is safe for concurrent use; for one site the frontier's turns see to it
// that there is one visit at a time.
type Fetcher struct {
	opts      Options
	transport *http.Transport
	decoders  decoders
	bodies    *budget // nil for no bound
	mines     bool    // Options.Purpose makes use of mining
	licensed  bool    // Options.Purpose makes a use of which licenses speak
	licenses  *licenses
	throttle  *throttle // nil for no limit
	names     *names

	usual       *settings // of sites that have none of their own
	plainHeader http.Header

	// mu guards what follows, and the lists that a host is in. The host itself is its
	// visit's; without one trim may close its connection, with mu held, so that no
	// visit begins meanwhile.
	mu     sync.Mutex
	sites  map[frontier.Site]*listed // all hosts that are remembered
	unused list.List                 // *listed of hosts that no visit uses and that may be forgotten, the longest at the back
	open   list.List                 // of the hosts that no visit uses, those with a kept connection, in the same order: their number is bounded by itself
	rules  int                       // bytes of robots.txt that hosts in unused have
}

// maxRules is how many bytes of robots.txt unused hosts have in memory: each may
// have two copies of 500 KiB, and what was made of them.
const maxRules = 32 << 20

// A listed is a host, and its place in the lists of the Fetcher.
type listed struct {
	host   *host
	unused *list.Element // in unused; nil while a visit has the host, or only the host knows its chain
	open   *list.Element // in open
	rules  int           // of the host, in Fetcher.rules
}

// New makes a Fetcher.
func New(opts Options) (*Fetcher, error) {
	for _, token := range append([]string{opts.Policy.Token}, opts.Policy.Aliases...) {
		if err := opts.Policy.Dialect.CheckToken(token); err != nil {
			return nil, err
		}
	}
	if err := opts.Purpose.Check(); err != nil {
		return nil, fmt.Errorf("fetch: Options.Purpose: %w", err)
	}
	if opts.UserAgent == "" {
		return nil, errors.New("fetch: Options.UserAgent is empty: it must hold the product token")
	}
	if err := CheckHeader(opts.Header); err != nil {
		return nil, fmt.Errorf("fetch: Options.Header: %w", err)
	}
	if opts.Network == nil {
		opts.Network = &Direct{}
	}
	if opts.Snapshots == nil {
		opts.Snapshots = NewMemorySnapshots()
	}
	// What is added to them, or multiplied, stays a number.
	opts.Timeout = min(positive(opts.Timeout, 30*time.Second), math.MaxInt64/16)
	opts.MaxSize = min(positive(opts.MaxSize, DefaultMaxSize), math.MaxInt64/2)
	opts.MaxHosts = positive(opts.MaxHosts, 4096)
	opts.MaxIdle = positive(opts.MaxIdle, 1024)
	opts.MaxNames = positive(opts.MaxNames, 16384)
	opts.maxRules = positive(opts.maxRules, maxRules)
	f := &Fetcher{opts: opts, transport: newTransport(), throttle: newThrottle(opts.Bandwidth), bodies: newBudget(opts.BodyBudget, opts.TempDir), names: newNames(opts.Network, opts.MaxNames), sites: map[frontier.Site]*listed{}}
	uses := opts.Purpose.Uses()
	f.mines, f.licensed = slices.Contains(uses, robots.UseTDM), len(uses) > 0
	f.licenses = newLicenses(opts.Snapshots, opts.Policy)
	f.plainHeader = http.Header{"User-Agent": {opts.UserAgent}}
	if opts.From != "" {
		f.plainHeader.Set("From", opts.From)
	}
	f.usual = &settings{policy: opts.Policy}
	f.usual.page, f.usual.rules = f.headers(opts.Header)
	return f, nil
}

func positive[T ~int | ~int64](n, def T) T {
	if n <= 0 {
		return def
	}
	return n
}

// Get visits the site of turn: it makes at most one request by the turn's own
// right, and says what the turn came to. It does not finish the turn. An error
// is one of the Snapshots, of this machine (out of open files), of a proxy that
// refuses the credentials (*ProxyError), or a misuse, never the site's. The
// Result may hold an exchange all the same, of which the outcome tells.
func (f *Fetcher) Get(ctx context.Context, turn *frontier.Turn) (Result, error) {
	return f.Revalidate(ctx, turn, Validators{})
}

// Revalidate is Get for a page of which a copy is at hand: the server is asked
// to send it only if it has changed (RFC 9110, section 13.1). Otherwise the
// page is an Exchange with status 304 and no body, which a server may also
// answer on its own.
func (f *Fetcher) Revalidate(ctx context.Context, turn *frontier.Turn, copy Validators) (Result, error) {
	h := f.host(turn.Site())
	defer f.giveBack(h)
	return h.get(ctx, turn, copy)
}

// Longest is how long one request may take until [frontier.Turn.Received] is called, if so
// many visits are under way at once: the time-outs, and the wait of one read of each visit
// for [Options.Bandwidth], up to an hour. A site is reserved for as long.
func (f *Fetcher) Longest(visits int) time.Duration {
	d := totalTimeouts * f.opts.Timeout
	if f.opts.Bandwidth > 0 {
		size := float64(portion) * float64(visits)
		d += time.Duration(min(size/float64(f.opts.Bandwidth)*float64(time.Second), float64(time.Hour)))
	}
	return d
}

// Close closes the kept connections. No visit may be under way.
func (f *Fetcher) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.sites {
		l.host.drop()
	}
	clear(f.sites)
	f.unused.Init()
	f.open.Init()
	f.rules = 0
	f.decoders.close()
}

// host takes the per-host fetcher of site. The right to the site is the right
// to its host.
func (f *Fetcher) host(site frontier.Site) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sites[site]
	if l == nil {
		l = &listed{host: &host{fetcher: f, site: site}}
		f.sites[site] = l
	}
	f.unlist(l)
	return l.host
}

// unlist takes a host out of the lists. It requires that mu is held.
func (f *Fetcher) unlist(l *listed) {
	if l.unused != nil {
		f.unused.Remove(l.unused)
	}
	if l.open != nil {
		f.open.Remove(l.open)
	}
	f.rules -= l.rules
	l.unused, l.open, l.rules = nil, nil, 0
}

// giveBack gives a host back, before the right to its site is given back.
func (f *Fetcher) giveBack(h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sites[h.site]
	if h.chain != nil || h.miningWay != nil {
		h.unload() // nobody else knows the chain, but the rules can be had again
	} else {
		l.unused, l.rules = f.unused.PushFront(l), h.rulesSize()
		f.rules += l.rules
	}
	if h.conn != nil {
		l.open = f.open.PushFront(l)
	}
	f.trim(time.Now())
}

// trim closes connections that are too many or were idle for too long, and
// forgets the hosts that are too many, or have too much.
func (f *Fetcher) trim(now time.Time) {
	for e := f.open.Back(); e != nil; e = f.open.Back() {
		l := e.Value.(*listed)
		if f.open.Len() <= f.opts.MaxIdle && now.Sub(l.host.conn.used) <= idleTime {
			break
		}
		l.host.drop()
		f.open.Remove(e)
		l.open = nil
	}
	for f.unused.Len() > f.opts.MaxHosts || f.rules > f.opts.maxRules {
		l := f.unused.Back().Value.(*listed)
		f.unlist(l)
		l.host.drop()
		delete(f.sites, l.host.site)
	}
}
