package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch/internal/http1"
)

const (
	maxHeaderBytes = http1.MaxHead
	idleTime       = 30 * time.Second // a connection that is not used is closed
)

// conn is the one connection of a host. It speaks HTTP/1.1 by itself, and leaves HTTP/2 to
// net/http.
type conn struct {
	*dialing
	h1   *http1.Conn // nil for HTTP/2
	over *timed      // what h1 is on
	h2   *http.ClientConn

	request  []byte        // the last of h1; used again
	response http.Response // to that
	unsent   bool          // not all of the request could be sent

	used                  time.Time // when the last answer had come; the server closes what is idle for long
	tlsVersion, tlsCipher string
}

// connect opens a connection to ep.
func (h *host) connect(w *watch, ep endpoint) (*conn, error) {
	ctx, site := w.context(), h.site
	d := &dialing{
		opts: &h.fetcher.opts, to: ep, target: net.JoinHostPort(site.Host(), portOf(site)),
		secure: site.Scheme() == "https", only1: h.only1, onTLS: func() { w.enter(phaseTLS) },
	}
	defer func() { d.onTLS = nil }() // it knows the exchange, and the connection outlives that
	raw, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{dialing: d, used: time.Now()}
	if !d.secure {
		c.speakH1(raw)
		return c, nil
	}
	over, err := d.dialTLS(ctx, raw)
	if err != nil {
		return nil, err
	}
	state := over.ConnectionState()
	c.tlsVersion, c.tlsCipher = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
	if state.NegotiatedProtocol != "h2" {
		c.speakH1(over)
		return c, nil
	}
	ctx = context.WithValue(ctx, dialKey{}, net.Conn(over))
	if c.h2, err = h.fetcher.transport.NewClientConn(ctx, site.Scheme(), d.target); err != nil {
		over.Close()
		return nil, err
	}
	return c, nil
}

func (c *conn) speakH1(over net.Conn) {
	c.over = newTimed(over)
	c.h1 = http1.New(c.over)
}

// ask makes one request on the connection and notes in x what is known when the answer's
// header is there. finish has to follow.
func (c *conn) ask(w *watch, a ask, x *Exchange) (resp *http.Response, err error) {
	x.TLSVersion, x.TLSCipher = c.tlsVersion, c.tlsCipher
	if c.h2 != nil {
		resp, err = c.askH2(w, a, x)
	} else {
		c.over.begin(w)
		resp, err = c.askH1(a, x)
	}
	if resp != nil {
		x.FirstByte = time.Now()
		x.Status, x.Proto, x.Header = resp.StatusCode, protocol(resp), resp.Header
	}
	return resp, err
}

func (c *conn) askH2(w *watch, a ask, x *Exchange) (*http.Response, error) {
	req := (&http.Request{
		Method: a.method(), URL: wireURL(a.url), Host: a.url.Site().Authority(), Header: a.header,
	}).WithContext(w.context())
	resp, err := c.h2.RoundTrip(req)
	if c.opts.KeepWire {
		x.RequestHead = requestHead(req, a.url.Target())
		if resp != nil {
			x.ResponseHead = responseHead(resp.StatusCode, resp.Header)
		}
	}
	return resp, err
}

// beginning is how much of an answer that cannot be read is kept where nobody wants its
// head: what it said counts all the same.
const beginning = 4 << 10

// maxRequest is the largest buffer for requests that a connection keeps.
const maxRequest = 4 << 10

// errUnasked is that of a kept connection on which the server speaks without taking the
// request.
var errUnasked = fmt.Errorf("the server spoke before it was asked again: %w", net.ErrClosed)

func (c *conn) askH1(a ask, x *Exchange) (*http.Response, error) {
	if err := c.write(a); err != nil {
		return nil, err
	}
	keep := c.opts.KeepWire
	if keep {
		x.RequestHead = bytes.Clone(c.request)
		if c.absolute() {
			x.RequestHead = withoutField(x.RequestHead, "Proxy-Authorization")
		}
	}
	c.unsent = c.h1.Send(c.request) != nil // there may be an answer all the same
	got, err := c.h1.Receive(a.head)
	head := c.h1.Head()
	if keep {
		x.ResponseHead = bytes.Clone(head)
	}
	if c.unsent && x.Reused && len(head) > 0 { // it was said to nobody
		x.ResponseHead, head, err = nil, nil, errUnasked
	}
	if err != nil {
		if x.broken = x.ResponseHead; !keep {
			x.broken = bytes.Clone(head[:min(len(head), beginning)])
		}
		return nil, err
	}
	c.response = http.Response{
		StatusCode: got.Status, ProtoMajor: got.Major, ProtoMinor: got.Minor,
		Header: got.Header, ContentLength: got.Length, Body: got.Body,
	}
	return &c.response, nil
}

// write makes the request for a: its target goes out as it was written, a proxy gets the
// absolute form (RFC 9112, section 3.2.2).
func (c *conn) write(a ask) (err error) {
	authority, target, header := a.url.Site().Authority(), a.url.Target(), a.header
	if c.absolute() || strings.HasPrefix(target, "//") { // which may be taken for an authority
		target = a.url.Scheme() + "://" + authority + target
	}
	if auth := proxyAuth(c.to.proxy); auth != "" && c.absolute() {
		header = header.Clone()
		header.Set("Proxy-Authorization", auth)
	}
	c.request, err = http1.AppendRequest(c.request[:0], a.method(), target, authority, header)
	return err
}

// finish ends the exchange that ask began, whatever came of it. It reports whether there
// may be another one on the connection.
func (c *conn) finish() bool {
	if c.h2 != nil {
		return true
	}
	c.response = http.Response{}
	if cap(c.request) > maxRequest {
		c.request = nil
	}
	again := c.h1.End()
	return c.over.end() && again && !c.unsent
}

// usable reports whether a request may be sent on a connection that was kept: nothing has
// been yet, so that looking is no try.
func (c *conn) usable() bool {
	if c.h2 != nil {
		return c.h2.Available() > 0
	}
	return c.h1.Quiet(c.line)
}

func (c *conn) close() {
	if c.h2 != nil {
		c.h2.Close()
		return
	}
	c.over.Close()
}

// protocol is an answer's protocol by the name that TLS negotiates it under
// (RFC 7301, section 6).
func protocol(resp *http.Response) string {
	switch {
	case resp.ProtoMajor == 2:
		return "h2"
	case resp.ProtoAtLeast(1, 1):
		return "http/1.1"
	}
	return "http/1.0"
}

// kept returns the connection if it can still be used.
func (h *host) kept() *conn {
	if h.conn == nil {
		return nil
	}
	if time.Since(h.conn.used) > idleTime || !h.conn.usable() {
		h.drop()
		return nil
	}
	return h.conn
}

// What a site may do to its connections.
const (
	maxLost    = 3 // kept ones in a row that died under a request, until none is kept any more
	maxRefused = 2 // requests in a row that were refused on new ones, and cost nothing
)

// lost takes note of a request that was not processed. On a kept connection
// that costs nothing. On a new one it does when it happens again: such a site
// would be asked for ever.
func (h *host) lost(x *Exchange) {
	if x.Err.Stage != StageStale {
		return
	}
	if x.Reused {
		h.lostKept++
		return
	}
	if h.refused++; h.refused > maxRefused {
		x.Err.Stage = StageReset
	}
}

// answered takes note of an answer, and reports whether the connection may be
// kept: a server that closes each one under its second request is asked once on
// each.
func (h *host) answered(x *Exchange) bool {
	h.refused = 0
	if x.Reused {
		h.lostKept = 0
	}
	return h.lostKept < maxLost
}

func (h *host) drop() {
	if h.conn != nil {
		h.conn.close()
		h.conn = nil
	}
}
