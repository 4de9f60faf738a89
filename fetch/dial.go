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

// A dialing is one connection on its way.
type dialing struct {
	opts   *Options
	to     endpoint
	target string // host and port of the site
	secure bool   // the site speaks TLS
	only1  bool   // HTTP/2 is not offered
	onTLS  func() // called when the way to the site stands

	line *http1.Line // all goes over it
}

// newTransport makes what speaks HTTP/2 over connections that stand and have agreed on it:
// the one in the context, and no other. It pools nothing, follows nothing and repeats
// nothing.
func newTransport() *http.Transport {
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(dialKey{}).(net.Conn), nil
		},
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// What a server may send before anybody reads it.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 512 << 10, MaxReceiveBufferPerConnection: 1 << 20},
	}
}

// dial opens the way to the site: to its address, or through a proxy.
func (d *dialing) dial(ctx context.Context) (net.Conn, error) {
	if d.to.proxy != nil {
		return d.dialProxy(ctx)
	}
	return d.connect(ctx)
}

// connect opens a connection to the address, of the site or of the proxy.
func (d *dialing) connect(ctx context.Context) (net.Conn, error) {
	c, err := d.opts.Network.DialContext(ctx, "tcp", d.to.addr.String())
	if err != nil {
		return nil, err
	}
	d.line = http1.NewLine(c)
	return d.line, nil
}

// dialTLS makes the connection to a site that is spoken to over TLS out of what leads there.
func (d *dialing) dialTLS(ctx context.Context, raw net.Conn) (*tls.Conn, error) {
	host, _, _ := net.SplitHostPort(d.target) // connect has joined them
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

// absolute reports whether requests have the absolute form (RFC 9112, section
// 3.2.2): those without TLS that a proxy forwards.
func (d *dialing) absolute() bool {
	return !d.secure && d.to.proxy != nil && !isSOCKS(d.to.proxy)
}

func isSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }
