package fetch

import (
	"container/list"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Options of a Fetcher. Policy.Token and UserAgent are required, the rest has
// polite defaults.
type Options struct {
	Policy    robots.Policy // how robots.txt is read, and for whom
	UserAgent string        // header field; must hold the product token
	From      string        // header field (RFC 9110, section 10.1.2); may be empty

	Network      Network        // nil: Direct
	Snapshots    Snapshots      // nil: in memory
	RootCAs      *x509.CertPool // nil: the system's
	ConnectTo    []ConnectTo    // the first that matches counts
	AllowPrivate bool           // talk to private addresses, too

	Timeout time.Duration // of one phase: resolve, connect, TLS, answer, each pause of a body; 0: 30 s
	MaxSize int64         // bytes of a decoded body; 0: 16 MiB

	// KeepWire captures each exchange as an archive wants it (WARC 1.1, section
	// 6.3 and 6.4): Exchange.RequestHead, ResponseHead and Wire. It costs a copy
	// of the bodies that come with a content coding.
	KeepWire bool

	MaxHosts int // per-host fetchers kept in memory; 0: 4096
	MaxIdle  int // kept connections; 0: 256
	MaxNames int // answers of the resolver kept in memory, five minutes each; 0: 16384
}

// Snapshots keeps the robots.txt of each site for longer than memory does.
type Snapshots interface {
	// Snapshot returns the last snapshot of site, nil if there is none.
	Snapshot(site frontier.Site) (*robots.Snapshot, error)
	// PutSnapshot adds a snapshot, which must not be changed afterwards.
	PutSnapshot(site frontier.Site, s *robots.Snapshot) error
}

// A Fetcher holds a per-host fetcher for each site that was talked to lately.
// It is safe for concurrent use; for one site the frontier's turns see to it
// that there is one visit at a time.
type Fetcher struct {
	opts      Options
	transport *http.Transport
	decoders  decoders
	names     *names

	pageHeader, rulesHeader, plainHeader http.Header

	mu    sync.Mutex
	sites map[frontier.Site]*lease
	rests list.List // *lease of hosts that no visit uses, the longest at the back
	open  list.List // of these, those with a kept connection, in the same order
}

// A lease is a host, and whether a visit has it.
type lease struct {
	host *host
	rest *list.Element // in rests; nil while a visit has the host
	open *list.Element // in open
}

// New makes a Fetcher.
func New(opts Options) (*Fetcher, error) {
	if err := robots.CheckToken(opts.Policy.Token); err != nil {
		return nil, err
	}
	if opts.UserAgent == "" {
		return nil, errors.New("fetch: Options.UserAgent is empty: it must hold the product token")
	}
	if opts.Network == nil {
		opts.Network = &Direct{}
	}
	if opts.Snapshots == nil {
		opts.Snapshots = NewMemorySnapshots()
	}
	opts.Timeout = positive(opts.Timeout, 30*time.Second)
	opts.MaxSize = positive(opts.MaxSize, 16<<20)
	opts.MaxHosts = positive(opts.MaxHosts, 4096)
	opts.MaxIdle = positive(opts.MaxIdle, 256)
	opts.MaxNames = positive(opts.MaxNames, 16384)
	f := &Fetcher{opts: opts, transport: newTransport(opts), names: newNames(opts.Network, opts.MaxNames), sites: map[frontier.Site]*lease{}}
	f.plainHeader = http.Header{"User-Agent": {opts.UserAgent}}
	if opts.From != "" {
		f.plainHeader.Set("From", opts.From)
	}
	f.pageHeader = with(f.plainHeader, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	f.rulesHeader = with(f.plainHeader, "text/plain,*/*;q=0.8")
	return f, nil
}

func positive[T ~int | ~int64](n, def T) T {
	if n <= 0 {
		return def
	}
	return n
}

func with(plain http.Header, accept string) http.Header {
	h := plain.Clone()
	h.Set("Accept", accept)
	h.Set("Accept-Encoding", acceptEncoding)
	return h
}

// Get visits the site of turn: it makes at most one request by the turn's own
// right, and says what the turn came to. It does not finish the turn. An error
// is one of the Snapshots, of this machine (out of open files), or a misuse,
// never the site's.
func (f *Fetcher) Get(ctx context.Context, turn *frontier.Turn) (Result, error) {
	h := f.host(turn.Site())
	defer f.rest(h)
	return h.get(ctx, turn)
}

// Close closes the kept connections. No visit may be under way.
func (f *Fetcher) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.sites {
		l.host.drop()
	}
	clear(f.sites)
	f.rests.Init()
	f.open.Init()
	f.decoders.close()
}

// host takes the per-host fetcher of site. The right to the site is the right
// to its host.
func (f *Fetcher) host(site frontier.Site) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sites[site]
	if l == nil {
		l = &lease{host: &host{fetcher: f, site: site}}
		f.sites[site] = l
	}
	if l.rest != nil {
		f.rests.Remove(l.rest)
	}
	if l.open != nil {
		f.open.Remove(l.open)
	}
	l.rest, l.open = nil, nil
	return l.host
}

// rest gives a host back, before the right to its site is given back.
func (f *Fetcher) rest(h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sites[h.site]
	l.rest = f.rests.PushFront(l)
	if h.conn != nil {
		l.open = f.open.PushFront(l)
	}
	f.trim(time.Now())
}

// trim closes connections that are too many or were idle for too long, and
// forgets the hosts that are too many.
func (f *Fetcher) trim(now time.Time) {
	for e := f.open.Back(); e != nil; e = f.open.Back() {
		l := e.Value.(*lease)
		if f.open.Len() <= f.opts.MaxIdle && now.Sub(l.host.conn.used) <= idleTime {
			break
		}
		l.host.drop()
		f.open.Remove(e)
		l.open = nil
	}
	for n := f.rests.Len(); n > 0 && len(f.sites) > f.opts.MaxHosts; n-- {
		l := f.rests.Back().Value.(*lease)
		if l.host.chain != nil { // what nobody else knows
			f.rests.MoveToFront(l.rest)
			continue
		}
		f.rests.Remove(l.rest)
		if l.open != nil {
			f.open.Remove(l.open)
		}
		l.host.drop()
		delete(f.sites, l.host.site)
	}
}
