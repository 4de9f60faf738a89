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
	used                  time.Time // last
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
	if !c.opts.KeepWire {
		return resp, err
	}
	if c.recorder == nil {
		x.RequestHead = requestHead(req, target)
		if resp != nil {
			x.ResponseHead = responseHead(resp.StatusCode, resp.Header)
		}
		return resp, err
	}
	x.RequestHead, x.ResponseHead = c.recorder.end()
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
	if h.conn.Err() != nil || h.conn.Available() == 0 || time.Since(h.conn.used) > idleTime {
		h.drop()
		return nil
	}
	return h.conn
}

func (h *host) drop() {
	if h.conn != nil {
		h.conn.Close()
		h.conn = nil
	}
}
