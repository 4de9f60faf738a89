package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	"github.com/permesso-crawler/permesso/fetch/internal/http1"
)

type dialKey struct{}

// A dialing has the settings for one connection to a site.
type dialing struct {
	opts   *Options
	to     endpoint
	target string // host and port of the site
	secure bool   // the site speaks TLS
	only1  bool   // the TLS handshake does not offer HTTP/2
	onTLS  func() // called before the TLS handshake with the site

	line *http1.Line // connection to the site or the proxy; all bytes pass through it
}

// newTransport returns a transport for HTTP/2. It uses only the connection in the context of a
// request (see dialKey), which must have negotiated HTTP/2. It does not pool connections, follow
// redirects or repeat requests.
func newTransport() *http.Transport {
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(dialKey{}).(net.Conn), nil
		},
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// Limits of the bytes that a server may send before the crawler reads them.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 512 << 10, MaxReceiveBufferPerConnection: 1 << 20},
	}
}

// dial opens a connection to the site, either to the address of the site or through a proxy.
func (d *dialing) dial(ctx context.Context) (net.Conn, error) {
	if d.to.proxy != nil {
		return d.dialProxy(ctx)
	}
	return d.connect(ctx)
}

// connect opens a connection to the address of the site or of the proxy.
func (d *dialing) connect(ctx context.Context) (net.Conn, error) {
	c, err := d.opts.Network.DialContext(ctx, "tcp", d.to.addr.String())
	if err != nil {
		return nil, err
	}
	d.line = http1.NewLine(c)
	return d.line, nil
}

// dialTLS makes the TLS handshake with the site over raw, and closes raw if that fails.
func (d *dialing) dialTLS(ctx context.Context, raw net.Conn) (*tls.Conn, error) {
	host, _, _ := net.SplitHostPort(d.target) // no error: net.JoinHostPort made the target
	d.onTLS()
	protocols := []string{"h2", "http/1.1"}
	if d.only1 {
		protocols = protocols[1:]
	}
	c := tls.Client(raw, &tls.Config{RootCAs: d.opts.RootCAs, ServerName: host, NextProtos: protocols})
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// absolute reports whether requests have the absolute form (RFC 9112, section 3.2.2). They have it
// without TLS, if a proxy forwards them.
func (d *dialing) absolute() bool {
	return !d.secure && d.to.proxy != nil && !isSOCKS(d.to.proxy)
}

func isSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }
