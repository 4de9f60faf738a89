package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"time"
)

const (
	maxHeaderBytes = 256 << 10
	idleTime       = 30 * time.Second // a connection that is not used is closed
)

type dialKey struct{}

// newTransport makes the dialer of connections. It pools nothing, follows
// nothing and repeats nothing: each host keeps its own one connection. It
// dials the address in the context and no other.
func newTransport(opts Options) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return opts.Network.DialContext(ctx, "tcp", ctx.Value(dialKey{}).(netip.AddrPort).String())
		},
		TLSClientConfig:        &tls.Config{RootCAs: opts.RootCAs},
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// conn is the one connection of a host.
type conn struct {
	*http.ClientConn
	to   endpoint
	used time.Time // last
}

// connect opens a connection to ep. onTLS is called when TCP stands.
func (h *host) connect(ctx context.Context, ep endpoint, onTLS func()) (*conn, error) {
	ctx = context.WithValue(ctx, dialKey{}, ep.addr)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeStart: onTLS})
	site := h.site
	address := net.JoinHostPort(site.Host(), portOf(site))
	cc, err := h.fetcher.transport.NewClientConn(ctx, site.Scheme(), address)
	if err != nil {
		return nil, err
	}
	return &conn{ClientConn: cc, to: ep, used: time.Now()}, nil
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
