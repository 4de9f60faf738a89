package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

type dialKey struct{}

// A dialing is one connection on its way: what net/http's transport is to do
// when it asks for one.
type dialing struct {
	opts   *Options
	to     endpoint
	target string // host and port of the site
	secure bool   // the site speaks TLS
	onTLS  func() // called when the way to the site stands

	tls      *tls.ConnectionState // of the connection to the site; nil without TLS
	recorder *recorder            // nil for HTTP/2
}

// newTransport makes the dialer of connections. It pools nothing, follows
// nothing and repeats nothing: each host keeps its own one connection. It
// dials the address in the context and no other.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			d := ctx.Value(dialKey{}).(*dialing)
			c, err := d.dial(ctx)
			if err != nil {
				return nil, err
			}
			return d.record(c), nil
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(dialKey{}).(*dialing).dialTLS(ctx)
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
	return d.opts.Network.DialContext(ctx, "tcp", d.to.addr.String())
}

func (d *dialing) dialTLS(ctx context.Context) (net.Conn, error) {
	raw, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(d.target) // connect has joined them
	d.onTLS()
	c := tls.Client(raw, &tls.Config{RootCAs: d.opts.RootCAs, ServerName: host, NextProtos: []string{"h2", "http/1.1"}})
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	state := c.ConnectionState()
	d.tls = &state
	if state.NegotiatedProtocol == "h2" {
		return c, nil // net/http speaks HTTP/2 over a *tls.Conn only
	}
	return d.record(c), nil
}

// record captures what goes over c.
func (d *dialing) record(c net.Conn) net.Conn {
	d.recorder = &recorder{Conn: c, whole: d.opts.KeepWire}
	return d.recorder
}

// absolute reports whether requests have the absolute form (RFC 9112, section
// 3.2.2): those without TLS that a proxy forwards.
func (d *dialing) absolute() bool {
	return !d.secure && d.to.proxy != nil && !isSOCKS(d.to.proxy)
}

func isSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }
