package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A clusterOf is the connection of this process, a node, to the other nodes of the same crawl.
// store.DB.Cluster returns it.
type clusterOf interface {
	Term(frontier.Site) uint64
	Blocked() <-chan struct{}
	Credit() frontier.Spent
	May() bool
	Address(addr string, gap time.Duration) (free time.Time, ok bool)
	Want(from, to frontier.Site)
	Outage() time.Time
	Declare(how any) (others []json.RawMessage, err error)
	Order(key string, value, order any) error
	Hear(func(order []byte, own bool) error)
	Join(interface {
		Withdraw(context.Context) ([]frontier.Site, error)
		End(error) error
		Rest() frontier.Rest
		Limits() frontier.Limits
	}, time.Duration)
}

// machineNetwork resolves names and opens connections with the means of this machine. It is used if
// Options.Network is nil.
type machineNetwork struct {
	resolver net.Resolver
	dialer   net.Dialer
}

func (m *machineNetwork) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return m.resolver.LookupNetIP(ctx, network, host)
}

func (m *machineNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return m.dialer.DialContext(ctx, network, address)
}

// errLease is the error of a request for which the node has no lease. The database gives a node the
// lease, the right to send requests, for a limited time.
var errLease = errors.New("the lease of this node has ended: nothing is sent until the database has renewed it")

type leasedNetwork struct {
	fetch.Network
	may func() bool
}

func (n leasedNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !n.may() {
		return nil, errLease
	}
	c, err := n.Network.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return leasedConn{c, n.may}, nil
}

type leasedConn struct {
	net.Conn
	may func() bool
}

func (c leasedConn) Write(b []byte) (int, error) {
	if !c.may() {
		return 0, errLease
	}
	return c.Conn.Write(b)
}

// nodeClocks are the clocks that a node shares with others: all clocks with the other processes of
// its machine, and the clocks of IP addresses with the other nodes. Sites of several nodes may have
// the same IP address.
type nodeClocks struct {
	frontier.Shared
	cluster clusterOf
}

// Want says that this node, which works on the site from, also needs the site to, which another
// node has: see frontier.Turn.Hop.
func (n nodeClocks) Want(from, to frontier.Site) { n.cluster.Want(from, to) }

// Reserve implements frontier.Shared. The clock of an IP address must be free among the nodes
// before it is reserved on this machine.
func (n nodeClocks) Reserve(key string, now, until time.Time) (taken frontier.Taken, ok bool) {
	if addr, is := strings.CutPrefix(key, string(frontier.IPClock)+" "); is {
		if free, ok := n.cluster.Address(addr, until.Sub(now)); !ok {
			return frontier.Taken{Until: free}, false
		}
	}
	return n.Shared.Reserve(key, now, until)
}
