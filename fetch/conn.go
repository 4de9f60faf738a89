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
	idleTime       = 30 * time.Second // an unused connection is closed after this time
)

// A conn is the one connection to a site. It uses package http1 for HTTP/1.1 and net/http for
// HTTP/2.
type conn struct {
	*dialing
	h1   *http1.Conn // the connection for HTTP/1.1; nil for HTTP/2
	over *timed      // the connection that h1 uses
	h2   *http.ClientConn

	request  []byte        // bytes of the last request over h1; the buffer is reused
	response http.Response // the answer to request
	unsent   bool          // the request was not sent completely

	used                  time.Time // end of the last answer; many servers close connections that are idle for long
	tlsVersion, tlsCipher string
}

// connect opens a connection to ep.
func (h *host) connect(w *watch, ep endpoint) (*conn, error) {
	ctx, site := w.context(), h.site
	d := &dialing{
		opts: &h.fetcher.opts, to: ep, target: net.JoinHostPort(site.Host(), portOf(site)),
		secure: site.Scheme() == "https", only1: h.only1, onTLS: func() { w.enter(phaseTLS) },
	}
	defer func() { d.onTLS = nil }() // onTLS refers to the exchange, which ends before the connection
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

// ask sends the request a and returns when the header of the answer has been read. It records in x
// what is known by then. The caller must call finish afterwards.
func (c *conn) ask(w *watch, a requestSpec, x *Exchange) (resp *http.Response, err error) {
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

func (c *conn) askH2(w *watch, a requestSpec, x *Exchange) (*http.Response, error) {
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

// beginning is how many bytes of a head are kept if it cannot be parsed and Options.KeepWire is
// not set. The status and the fields in such a head are still used.
const beginning = 4 << 10

// maxRequest is the size in bytes of the largest request buffer that a connection keeps.
const maxRequest = 4 << 10

// errUnasked is the error of a kept connection on which the server has sent bytes before the next
// request.
var errUnasked = fmt.Errorf("the server sent data before the next request: %w", net.ErrClosed)

func (c *conn) askH1(a requestSpec, x *Exchange) (*http.Response, error) {
	if err := c.write(a); err != nil {
		return nil, err
	}
	keep := c.opts.KeepWire
	if keep {
		x.RequestHead = bytes.Clone(c.request)
		if c.absolute() {
			x.RequestHead = withoutField(x.RequestHead, "Proxy-Authorization")
		}
		for _, name := range credentials {
			if len(a.header[name]) > 0 {
				x.RequestHead = withoutField(x.RequestHead, name)
			}
		}
	}
	c.unsent = c.h1.Send(c.request) != nil // the server may have answered even if the request was not sent completely
	got, err := c.h1.Receive(a.head)
	head := c.h1.Head()
	if keep {
		x.ResponseHead = bytes.Clone(head)
	}
	if c.unsent && x.Reused && len(head) > 0 { // the head is not an answer to this request
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

// write stores the bytes of the request a in c.request. The target (path and query) is sent as
// it was written. A proxy that forwards requests gets the absolute form (RFC 9112, section
// 3.2.2).
func (c *conn) write(a requestSpec) (err error) {
	authority, target, header := a.url.Site().Authority(), a.url.Target(), a.header
	if c.absolute() || strings.HasPrefix(target, "//") { // a target that begins with two slashes could be read as a host
		target = a.url.Scheme() + "://" + authority + target
	}
	if auth := proxyAuth(c.to.proxy); auth != "" && c.absolute() {
		header = header.Clone()
		header.Set("Proxy-Authorization", auth)
	}
	c.request, err = http1.AppendRequest(c.request[:0], a.method(), target, authority, header)
	return err
}

// finish ends the exchange that ask began, even if ask failed. It reports whether the
// connection can be used for another exchange.
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

// usable reports whether a kept connection can take another request. It sends nothing.
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

// protocol returns the name of the protocol of an answer, as TLS negotiates it (RFC 7301,
// section 6).
func protocol(resp *http.Response) string {
	switch {
	case resp.ProtoMajor == 2:
		return "h2"
	case resp.ProtoAtLeast(1, 1):
		return "http/1.1"
	}
	return "http/1.0"
}

// kept returns the connection that was kept after the last exchange. It returns nil if there is
// none, or if it cannot be used.
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

// Limits of the requests that are lost because a site closes or refuses connections.
const (
	maxLost    = 3 // number of kept connections in a row, closed during a request, after which none is kept
	maxRefused = 2 // number of unprocessed requests in a row, on new connections, that are not yet a failure
)

// lost counts a request that the server did not process. On a kept connection this is not a
// failure. On a new connection it is a failure after maxRefused requests in a row: otherwise the
// requests to such a site would never end.
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

// answered counts an answer and reports whether the connection may be kept. Some servers close
// each connection at its second request. With such a server no connection is kept, so that each
// request gets a new one.
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
