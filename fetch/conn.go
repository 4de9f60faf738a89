package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	maxHeaderBytes = 256 << 10
	maxFields      = 1000
	idleTime       = 30 * time.Second // a connection that is not used is closed
)

// conn is the one connection of a host.
type conn struct {
	*http.ClientConn
	*dialing
	used                  time.Time // when the last answer had come; the server closes what is idle for long
	tlsVersion, tlsCipher string
}

// connect opens a connection to ep. onTLS is called when TCP stands, and the
// tunnel of a proxy.
func (h *host) connect(ctx context.Context, ep endpoint, onTLS func()) (*conn, error) {
	site := h.site
	d := &dialing{
		opts: &h.fetcher.opts, to: ep, target: net.JoinHostPort(site.Host(), portOf(site)),
		secure: site.Scheme() == "https", onTLS: onTLS,
	}
	cc, err := h.fetcher.transport.NewClientConn(context.WithValue(ctx, dialKey{}, d), site.Scheme(), d.target)
	if err != nil {
		return nil, err
	}
	c := &conn{ClientConn: cc, dialing: d, used: time.Now()}
	if d.tls != nil {
		c.tlsVersion, c.tlsCipher = tls.VersionName(d.tls.Version), tls.CipherSuiteName(d.tls.CipherSuite)
	}
	return c, nil
}

// ask makes one request on the connection and notes in x what is known when
// the answer's header is there.
func (c *conn) ask(req *http.Request, target string, x *Exchange) (*http.Response, error) {
	if c.recorder != nil {
		c.recorder.begin()
	}
	resp, err := c.RoundTrip(req)
	if resp != nil {
		x.FirstByte = time.Now()
		x.Status, x.Proto, x.Header = resp.StatusCode, protocol(resp), resp.Header
	}
	x.TLSVersion, x.TLSCipher = c.tlsVersion, c.tlsCipher
	if c.recorder == nil {
		if c.opts.KeepWire {
			x.RequestHead = requestHead(req, target)
			if resp != nil {
				x.ResponseHead = responseHead(resp.StatusCode, resp.Header)
			}
		}
		return resp, err
	}
	request, response := c.recorder.end()
	if resp == nil {
		x.broken = response
	}
	if !c.opts.KeepWire {
		return resp, err
	}
	x.RequestHead, x.ResponseHead = request, response
	if c.absolute() {
		x.RequestHead = withoutField(x.RequestHead, "Proxy-Authorization")
	}
	return resp, err
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
	if h.conn.Available() == 0 || time.Since(h.conn.used) > idleTime {
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
		h.conn.Close()
		h.conn = nil
	}
}
