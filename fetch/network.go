package fetch

import (
	"context"
	"net"
	"net/netip"
)

// A Network resolves names and opens connections. If no Network is set, the Fetcher uses
// package net. Package crawltest has a Network in memory. A Network must be safe for concurrent
// use.
type Network interface {
	// LookupNetIP resolves a host name as net.Resolver does; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)

	// DialContext connects as net.Dialer does. The address is always an IP address and a port,
	// never a name. The connection must support deadlines, which end the wait for a silent
	// server.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// direct is the network of this machine. Its zero value is ready to use.
type direct struct {
	Resolver net.Resolver
	Dialer   net.Dialer
}

// LookupNetIP implements Network.
func (d *direct) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return d.Resolver.LookupNetIP(ctx, network, host)
}

// DialContext implements Network.
func (d *direct) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.Dialer.DialContext(ctx, network, address)
}
