package crawltest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Web is a fetch.Network of sites in memory. Its methods are safe for concurrent use.
type Web struct {
	t      testing.TB
	ca     *authority
	clocks frontier.Shared

	// mu guards the fields below. The test, the crawl and the connections use them on different
	// goroutines. A goroutine that holds mu calls no handler and takes no lock of a Site.
	mu        sync.Mutex
	sites     map[frontier.Site]*Site
	addrs     map[string][]netip.Addr // by host
	listeners map[netip.AddrPort]*listener
	last      netip.Addr
	log       []Request
	lookups   map[string]int
	dials     map[string]int // by host
}

// New returns an empty web, which is closed at the end of the test.
func New(t testing.TB) *Web {
	w := &Web{
		t: t, ca: newAuthority(), clocks: frontier.NewSharedClocks(), sites: map[frontier.Site]*Site{}, addrs: map[string][]netip.Addr{},
		listeners: map[netip.AddrPort]*listener{}, lookups: map[string]int{}, dials: map[string]int{},
		// The web never connects to a real address. So the hosts can have public addresses, and the
		// crawler treats them as public.
		last: netip.MustParseAddr("16.0.0.0"),
	}
	t.Cleanup(w.close)
	return w
}

// Site returns the site with an origin such as "https://a.example:8443". It makes the site if the
// web does not have it yet. The scheme "http://" may be left out.
func (w *Web) Site(origin string) *Site {
	w.t.Helper()
	name := w.origin(origin)
	host := name.Host()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sites[name]
	if s == nil {
		s = &Site{web: w, site: name, pages: map[string]http.Handler{}}
		w.sites[name] = s
		if w.addrs[host] == nil {
			if ip, err := netip.ParseAddr(host); err == nil {
				w.addrs[host] = []netip.Addr{ip}
			} else {
				w.last = w.last.Next()
				w.addrs[host] = []netip.Addr{w.last}
			}
		}
	}
	return s
}

// origin parses the name of a site, such as "https://a.example". The scheme "http://" may be left
// out.
func (w *Web) origin(name string) frontier.Site {
	w.t.Helper()
	u, err := frontier.ParseURL(name)
	if err != nil {
		u, err = frontier.ParseURL("http://" + name)
	}
	if err != nil {
		w.t.Fatalf("crawltest: %v", err)
	}
	return u.Site()
}

// Clocks returns the clocks with which the crawls of this web keep the pauses between requests to a
// host. Other crawls do not share them, because this web may have its own time in testing/synctest.
// If a crawl sets Options.Shared, that value is used instead.
func (w *Web) Clocks() frontier.Shared { return w.clocks }

// RootCAs returns the certificates with which clients can verify the https sites.
func (w *Web) RootCAs() *x509.CertPool { return w.ca.pool }

// Lookups returns the number of times that a host name was resolved.
func (w *Web) Lookups(host string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lookups[host]
}

// Dials returns the number of connections that were made to a host.
func (w *Web) Dials(host string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials[host]
}

// LookupNetIP implements fetch.Network. It fails for a host without a site.
func (w *Web) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups[host]++
	if a := w.addrs[host]; a != nil {
		return a, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// DialContext implements fetch.Network. It connects to the site at the address by a pipe, and fails
// if none exists or the site is down.
func (w *Web) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	var site *Site
	w.mu.Lock()
	for name, s := range w.sites {
		if name.Port() != at.Port() {
			continue
		}
		for _, a := range w.addrs[name.Host()] {
			if a == at.Addr() {
				site = s
			}
		}
	}
	if site != nil {
		w.dials[site.site.Host()]++
	}
	w.mu.Unlock()
	if site == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: errors.New("connection refused")}
	}
	if err := site.dial(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: err}
	}
	client, server := net.Pipe()
	l := w.listener(at, site.site.Scheme() == "https")
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener returns the listener of an address. The first call for an address also starts a server.
func (w *Web) listener(at netip.AddrPort, secure bool) *listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.listeners[at]; l != nil {
		return l
	}
	l := &listener{at: at, conns: make(chan net.Conn), closed: make(chan struct{})}
	w.listeners[at] = l
	scheme := "http"
	var listen net.Listener = l
	if secure {
		scheme = "https"
		listen = tls.NewListener(l, w.ca.config(func(host string) bool { return w.http2(host, at.Port()) }))
	}
	l.server = &http.Server{
		Handler:  http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(scheme, at.Port(), rw, r) }),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	// This goroutine serves one address until Web.close is called.
	l.done.Go(func() { l.server.Serve(listen) })
	return l
}

// http2 reports whether the https site at a host and port speaks HTTP/2.
func (w *Web) http2(host string, port uint16) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, s := range w.sites {
		if name.Scheme() == "https" && name.Host() == host && name.Port() == port {
			return s.http2.Load()
		}
	}
	return false
}

func (w *Web) close() {
	w.mu.Lock()
	listeners := w.listeners
	w.listeners = map[netip.AddrPort]*listener{}
	w.mu.Unlock()
	for _, l := range listeners {
		l.server.Close()
		l.Close()
		l.done.Wait()
	}
}

// serve passes a request to its site, and logs it.
func (w *Web) serve(scheme string, port uint16, rw http.ResponseWriter, r *http.Request) {
	req := Request{Method: r.Method, Target: r.RequestURI, UserAgent: r.UserAgent(), Header: r.Header, Start: time.Now()}
	u, err := frontier.ParseURL(scheme + "://" + r.Host + "/")
	if err != nil || u.Site().Port() != port {
		http.Error(rw, "no such host here", http.StatusMisdirectedRequest)
		return
	}
	req.Site = u.Site()
	// Removes the prefix of an absolute form, which a proxy gets (RFC 9112, section 3.2.2).
	req.Target = strings.TrimPrefix(req.Target, scheme+"://"+r.Host)
	w.mu.Lock()
	s := w.sites[req.Site]
	w.log = append(w.log, req)
	at := len(w.log) - 1
	w.mu.Unlock()
	watched := &answer{ResponseWriter: rw}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l := &w.log[at]
		l.End, l.Status, l.RetryAfter = time.Now(), watched.status, strings.Join(rw.Header().Values("Retry-After"), ", ")
		l.Body = watched.robots
	}()
	if s == nil {
		http.Error(watched, "no such host here", http.StatusMisdirectedRequest)
		return
	}
	defer w.tellPanic(req.Site)
	s.serve(watched, r)
	if watched.status == 0 && r.Context().Err() == nil {
		watched.status = http.StatusOK // net/http sends this status if a handler writes nothing
	}
}

// An answer is an http.ResponseWriter that records the status. If keep is set, it also records the
// body, which is a robots.txt.
type answer struct {
	http.ResponseWriter
	status int
	keep   bool
	robots []byte
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.keep {
		a.robots = append(a.robots, b...)
	}
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// tellPanic fails the test if the handler of a site panics, because package http would only log the
// panic. It ignores http.ErrAbortHandler, with which a handler breaks a connection.
func (w *Web) tellPanic(site frontier.Site) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		w.t.Errorf("crawltest: a handler of %s panicked: %v", site, p)
		panic(http.ErrAbortHandler)
	}
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

type listener struct {
	at     netip.AddrPort
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	server *http.Server
	done   sync.WaitGroup
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }
