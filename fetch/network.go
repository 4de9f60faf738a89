package fetch

import (
	"context"
	"net"
	"net/netip"
)

// A Network resolves names and opens connections. The zero Direct is the real
// one; crawltest has one in memory. It must be safe for concurrent use.
type Network interface {
	// LookupNetIP resolves a host name as net.Resolver does; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)

	// DialContext connects as net.Dialer does; address is always an address
	// and a port, never a name. The connection must have deadlines: they end
	// what a server does not.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Direct is the network of this machine.
type Direct struct {
	Resolver net.Resolver
	Dialer   net.Dialer
}

// LookupNetIP implements Network.
func (d *Direct) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return d.Resolver.LookupNetIP(ctx, network, host)
}

// DialContext implements Network.
func (d *Direct) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.Dialer.DialContext(ctx, network, address)
}
