package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A clusterOf is the part of this node in a crawl of several nodes. store.DB.Cluster returns it.
type clusterOf interface {
	Term(frontier.Site) uint64
	Blocked() <-chan struct{}
	Credit() frontier.Spent
	May() bool
	Address(addr string, gap time.Duration) (free time.Time, ok bool)
	Want(from, to frontier.Site)
	Alone() (bool, error)
	Order(key string, value, order any) error
	Hear(func(order []byte, own bool) error)
	Join(interface {
		Withdraw(context.Context) error
		End(error) error
		Rest() frontier.Rest
		Limits() frontier.Limits
	}, time.Duration)
}

// perNode are the settings that may differ between the nodes of a crawl: how much one of them does.
var perNode = []string{"max-time", "rate", "bandwidth", "concurrency", "patience"}

// agree returns an error if the options of this node differ from those of the other nodes, which
// are running: what one node refuses, the others would fetch.
func (c *Crawler) agree(changes []Change) error {
	cluster := c.db.Cluster()
	if cluster == nil || len(changes) == 0 {
		return nil
	}
	alone, err := cluster.Alone()
	if alone || err != nil {
		return err
	}
	var names []string
	for _, change := range changes {
		if !slices.Contains(perNode, change.Setting) {
			names = append(names, fmt.Sprint(change))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("crawler: the other nodes of this crawl run with other options (%s): use the same ones, or stop all nodes first", strings.Join(names, "; "))
}

// forgive makes a failed request no failure of the site, if it failed while this node had no lease:
// the node sends nothing then. The URL is handed out again.
func (j *job) forgive(res *fetch.Result) {
	c, o := j.deps.cluster, &res.Outcome
	if c == nil || res.Page != nil || o.Trouble == frontier.NoTrouble {
		return
	}
	refused := func(x *fetch.Exchange) bool { return x.Err != nil && errors.Is(x.Err, errLease) }
	if c.May() && !slices.ContainsFunc(res.Exchanges, refused) {
		return
	}
	*o = frontier.Outcome{Again: true, Request: o.Request}
}

// network returns the network for requests. In a crawl of several nodes it sends nothing after the
// lease of this node has ended, because another node may have its sites then.
func (d *jobDeps) network(n fetch.Network) fetch.Network {
	if d.cluster == nil {
		return n
	}
	if n == nil {
		n = new(machineNetwork)
	}
	return leasedNetwork{n, d.cluster.May}
}

// machineNetwork is the network of this machine.
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

// errLease is the error of a request for which the node has no lease.
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

// nodeClocks are the clocks that a node shares: those of its machine, and the clocks of addresses
// with the other nodes, because sites of several nodes may have the same address.
type nodeClocks struct {
	frontier.Shared
	cluster clusterOf
}

// Want says that a turn of one site needs another, which another node has: see
// frontier.Turn.Hop.
func (n nodeClocks) Want(from, to frontier.Site) { n.cluster.Want(from, to) }

// Reserve implements frontier.Shared.
func (n nodeClocks) Reserve(key string, now, until time.Time) (taken frontier.Taken, ok bool) {
	if addr, is := strings.CutPrefix(key, string(frontier.IPClock)+" "); is {
		if free, ok := n.cluster.Address(addr, until.Sub(now)); !ok {
			return frontier.Taken{Until: free}, false
		}
	}
	return n.Shared.Reserve(key, now, until)
}
