package fetch

import (
	"container/list"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/robots"
)

// DefaultMaxSize is the default of Options.MaxSize, in bytes.
const DefaultMaxSize = 16 << 20

// Options are the settings of a Fetcher. Policy.Token and UserAgent are required. The other
// fields have polite defaults.
type Options struct {
	Policy  robots.Policy  // dialect of robots.txt, product token and aliases
	Purpose robots.Purpose // the declared use of the pages; if robots.txt, one of its licenses or tdmrep.json refuses it, a page is not fetched. Empty: not declared

	// OptOut returns why a URL must not be requested, or "" if it may be requested. If it must
	// not, no robots.txt is requested for it either. OptOut is called before all other checks. Get
	// returns the error of OptOut. If OptOut is nil, all URLs may be requested.
	OptOut func(frontier.URL) (why string, err error)

	// Site returns the settings of one site. It is called before the first request to the site,
	// and again after the Fetcher has forgotten the site. It must be safe for concurrent use.
	// Get returns the error of Site. If Site is nil, all sites have the same settings.
	Site func(frontier.Site) (SiteOptions, error)

	UserAgent string // value of the field User-Agent; must contain the product token
	From      string // value of the field From (RFC 9110, section 10.1.2); may be empty

	Signing Signing // key for signing requests; the zero value signs none

	// Header holds further fields for every request, including requests for robots.txt, such as
	// Accept-Language. See ParseHeader for fields that are refused. A field Accept is sent only
	// for pages.
	Header http.Header

	Network      Network        // resolves names and opens connections; nil: the network of this machine
	Snapshots    Snapshots      // stores robots.txt and licenses; nil: only in memory
	RootCAs      *x509.CertPool // trusted certificate authorities; nil: those of the system
	ConnectTo    []ConnectTo    // replacements of hosts and ports; the first that matches is used
	AllowPrivate bool           // permits connections to private addresses

	// Proxy returns the proxy of a site. If Proxy is nil, no proxy is used, even if the
	// environment names one. Sites that match ConnectTo are connected to directly. The proxy may
	// have any address.
	//
	// Only the proxy knows the addresses of the sites, so the sites count as public. The pauses of
	// a host name apply, but not those of an address. A site is refused as not public only if its
	// URL contains an address that is not public, or a local name.
	Proxy ProxyFunc

	Timeout time.Duration // time-out of each phase: resolve, connect, TLS, answer, and each pause in a body; 0: 30 s

	// Bandwidth is the largest number of bytes per second of the bodies of all sites together, as
	// received; 0: no limit. If a body waits because of this limit, the time-outs of the site do
	// not run. A server may still close a connection that it finds too slow.
	Bandwidth int64

	Bodies // settings of bodies: how they are read and kept
	Bounds // limits of the memory of the Fetcher

	maxRules int // replaces the constant maxRules in tests
}

// Signing lets servers check which crawler has sent a request, by Web Bot Auth
// (draft-ietf-webbotauth-httpsig-protocol-01, with RFC 9421). Each request over HTTP then has the
// fields Signature-Agent, Signature-Input and Signature. This includes requests for robots.txt,
// and requests that repeat or follow another one. A signature covers Signature-Agent and the host
// and port of the request. It has its own nonce, and is valid for a minute. Archives store these
// fields like others.
type Signing struct {
	Key   ed25519.PrivateKey // the private key; nil: requests are not signed
	Agent string             // https URL of the key directory, which publishes the public key; a URL without a path stands for /.well-known/http-message-signatures-directory at that site
}

// signer returns the signer of requests, or nil if they are not signed.
func (s Signing) signer() (*identity.Signer, error) {
	if s.Key == nil && s.Agent == "" {
		return nil, nil
	}
	return identity.NewSigner(s.Key, s.Agent)
}

// Bodies says how bodies are read, and where they are kept.
type Bodies struct {
	MaxSize int64 // largest size of a decoded body, in bytes; 0: DefaultMaxSize

	// MaxBody returns how many decoded bytes of the body of a page are read, at most MaxSize. It
	// is called before the body of a 2xx answer over HTTP is read. Of its parameter, the URL,
	// Status and Header are set. A longer body is cut (see Exchange.Truncated), and the connection
	// is closed. MaxBody must be quick, and safe for concurrent use. If it is nil, MaxSize
	// applies.
	MaxBody func(*Exchange) int64

	// KeepWire records each exchange in the form of an archive (WARC 1.1, sections 6.3 and 6.4),
	// in Exchange.RequestHead, ResponseHead and Wire. It needs a copy of each body that has a
	// content coding.
	KeepWire bool

	// Lend reuses the memory of the bodies of pages after Exchange.Release. This saves allocating
	// and clearing memory for each body. With Lend, exchanges also share the header fields of
	// their requests, so the caller must not change these.
	Lend bool

	// BodyBudget is the largest number of bytes of memory for the bodies of pages, in all visits
	// together, until Result.Release; 0: no limit. A body without room is read into a file of
	// TempDir and waits there. One body always gets room, even if it is larger than the budget.
	// The first 256 KiB of a body do not count, and a robots.txt does not count at all.
	BodyBudget int64
	TempDir    string // directory of the temporary files; empty: the directory of the system
}

// Bounds limit what a Fetcher keeps in memory.
type Bounds struct {
	MaxHosts int // largest number of per-host fetchers that are kept while no visit uses them; 0: 4096. Large robots.txt files reduce it
	MaxIdle  int // largest number of connections that are kept; 0: 1024
	MaxNames int // largest number of cached answers of the resolver, each kept for five minutes; 0: 16384
}

// Snapshots stores the robots.txt of each site, and the license documents that the robots.txt
// files name, for longer than the Fetcher keeps them in memory.
type Snapshots interface {
	// Snapshot returns the last snapshot of site, or nil.
	Snapshot(site frontier.Site) (*robots.Snapshot, error)
	// PutSnapshot stores a snapshot. The caller must not change it afterwards.
	PutSnapshot(site frontier.Site, s *robots.Snapshot) error
	// License returns the last snapshot of the license document at u, or nil.
	License(u frontier.URL) (*robots.Snapshot, error)
	// PutLicense stores a snapshot. The caller must not change it afterwards.
	PutLicense(u frontier.URL, s *robots.Snapshot) error
}

// A Fetcher holds a per-host fetcher for each site that was visited recently. It is safe for
// concurrent use. No site has two visits at the same time, because the frontier hands out one turn
// for a site at a time.
type Fetcher struct {
	opts      Options
	transport *http.Transport
	decoders  decoders
	bodies    *budget // memory of all bodies; nil: no limit
	mines     bool    // Options.Purpose includes text and data mining
	licensed  bool    // Options.Purpose includes a use that licenses can refuse
	licenses  *licenses
	throttle  *throttle        // limit of the bandwidth; nil: no limit
	signer    *identity.Signer // nil if requests are not signed
	names     *names

	usual       *settings // settings of sites for which Options.Site is not set
	plainHeader http.Header

	// mu guards the fields below and the elements of their lists. The visit to a site uses the
	// site's host without mu. If there is no such visit, trim may close the connection of the
	// host. trim holds mu, so that no visit begins during this.
	mu     sync.Mutex
	sites  map[frontier.Site]*listed // all hosts that are remembered
	unused list.List                 // *listed of unused hosts that may be forgotten; the longest unused is at the back
	open   list.List                 // *listed of unused hosts with a kept connection, at most Bounds.MaxIdle; the longest unused is at the back
	rules  int                       // bytes of robots.txt of the hosts in unused
}

// maxRules is the largest number of bytes of robots.txt that unused hosts may have in memory.
// Each host may have two copies of its robots.txt, of 500 KiB each, and the parsed forms of
// both.
const maxRules = 32 << 20

// A listed is a host with its elements in the lists of the Fetcher.
type listed struct {
	host   *host
	unused *list.Element // element of Fetcher.unused; nil while a visit uses the host, or while host.chain must be kept
	open   *list.Element // element of Fetcher.open; nil if the host has no kept connection or is in use
	rules  int           // bytes of the host that are counted in Fetcher.rules
}

// New returns a Fetcher with the given options. It fails if they are invalid.
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
	if err := CheckHeader(opts.Header, false); err != nil {
		return nil, fmt.Errorf("fetch: Options.Header: %w", err)
	}
	signer, err := opts.Signing.signer()
	if err != nil {
		return nil, fmt.Errorf("fetch: Options.Signing: %w", err)
	}
	if opts.Network == nil {
		opts.Network = &direct{}
	}
	if opts.Snapshots == nil {
		opts.Snapshots = newMemorySnapshots(math.MaxInt)
	}
	// The bounds are small enough that additions and multiplications do not overflow.
	opts.Timeout = min(positive(opts.Timeout, 30*time.Second), math.MaxInt64/16)
	opts.MaxSize = min(positive(opts.MaxSize, DefaultMaxSize), math.MaxInt64/2)
	opts.MaxHosts = positive(opts.MaxHosts, 4096)
	opts.MaxIdle = positive(opts.MaxIdle, 1024)
	opts.MaxNames = positive(opts.MaxNames, 16384)
	opts.maxRules = positive(opts.maxRules, maxRules)
	f := &Fetcher{opts: opts, signer: signer, transport: newTransport(), throttle: newThrottle(opts.Bandwidth), bodies: newBudget(opts.BodyBudget, opts.TempDir), names: newNames(opts.Network, opts.MaxNames), sites: map[frontier.Site]*listed{}}
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

// Get visits the site of turn: it makes at most one request to the site. Result.Outcome is the
// value to pass to Turn.Finish, which Get does not call. A failure of the site is recorded in the
// Result and is not an error. An error comes from the Snapshots, from this machine (too many open
// files), from a proxy that refuses the credentials, or from a misuse of Get. Even
// with an error, the Result may contain an exchange, which Result.Outcome includes.
func (f *Fetcher) Get(ctx context.Context, turn *frontier.Turn) (Result, error) {
	return f.Revalidate(ctx, turn, Validators{})
}

// Revalidate is like Get, for a page that the caller has an earlier copy of. The parameter copy
// identifies this copy. Revalidate asks the server to send the page only if the page has changed
// (RFC 9110, section 13.1). If it has not changed, the Exchange has status 304 and no body. Some
// servers send status 304 even without such a condition.
func (f *Fetcher) Revalidate(ctx context.Context, turn *frontier.Turn, copy Validators) (Result, error) {
	return f.visit(ctx, turn, copy.condition)
}

// visit is like Get, and the caller chooses the header of the request for the page. The function
// fields gets the usual header, which it must not change, and returns the header to send.
func (f *Fetcher) visit(ctx context.Context, turn *frontier.Turn, fields func(http.Header) http.Header) (Result, error) {
	h := f.host(turn.Site())
	defer f.giveBack(h)
	return h.get(ctx, turn, fields)
}

// Longest returns the longest time that a request may take before the Fetcher calls
// [frontier.Turn.Received], which tells the frontier that the answer is still being read. A site
// must be reserved for at least this time. The parameter visits is the number of visits at the
// same time. The result is the sum of all time-outs of a request. If [Options.Bandwidth] is set,
// the time that one read of each visit waits for this limit is added, an hour at most.
func (f *Fetcher) Longest(visits int) time.Duration {
	d := totalTimeouts * f.opts.Timeout
	if f.opts.Bandwidth > 0 {
		size := float64(portion) * float64(visits)
		d += time.Duration(min(size/float64(f.opts.Bandwidth)*float64(time.Second), float64(time.Hour)))
	}
	return d
}

// Close closes the kept connections. The caller must ensure that no visit is under way.
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

// host returns the per-host fetcher of site for a visit. The visit must have a turn of the site.
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

// unlist removes a host from the lists of the Fetcher. The caller must hold mu.
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

// giveBack ends the use of a host. It is called before the turn of its site is finished.
func (f *Fetcher) giveBack(h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sites[h.site]
	if h.chain != nil || h.miningChain != nil {
		h.unload() // the host is kept, because its chain of redirects is stored nowhere else, but its rules can be loaded again
	} else {
		l.unused, l.rules = f.unused.PushFront(l), h.rulesSize()
		f.rules += l.rules
	}
	if h.conn != nil {
		l.open = f.open.PushFront(l)
	}
	f.trim(time.Now())
}

// trim closes connections if there are too many, and connections that are idle for too long. It
// forgets hosts if there are too many, or if their rules take too much memory.
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
