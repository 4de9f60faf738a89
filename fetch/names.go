package fetch

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// How long an answer of the resolver counts. The resolver tells no time to
// live; five minutes is what short-lived records of the large content delivery
// networks come to, and RFC 2308, section 5 takes five minutes for the most
// that a negative answer without one should be kept. A look-up that failed in
// another way is not kept at all.
const (
	keepName   = 5 * time.Minute
	keepNoName = time.Minute
)

// names remembers what host names resolve to, for all sites together. One
// look-up is in flight for a name at any time. It is safe for concurrent use.
//
// Addresses are kept as the resolver gave them: whether one may be dialled is
// decided each time.
type names struct {
	network Network
	most    int // names that are kept

	// mu guards what follows, and each name until it is done. It is not held while
	// the resolver is asked: who wants the same name waits for that answer.
	mu     sync.Mutex
	known  map[string]*name
	recent list.List // *name with an answer, the longest unused at the back
}

type name struct {
	host  string
	addrs []netip.Addr
	err   error
	until time.Time // the answer counts
	place *list.Element

	done   chan struct{} // closed with the answer
	asking int           // who wait for it
	cancel context.CancelFunc
}

func newNames(network Network, most int) *names {
	return &names{network: network, most: most, known: map[string]*name{}}
}

// lookup resolves host. The addresses must not be changed.
func (c *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	n := c.ask(ctx, host)
	select {
	case <-n.done:
		return n.addrs, n.err
	case <-ctx.Done():
		c.leave(n)
		return nil, context.Cause(ctx)
	}
}

// ask returns the answer that counts, or the one that is under way.
func (c *names) ask(ctx context.Context, host string) *name {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.known[host]
	switch {
	case n == nil:
	case n.place == nil:
		n.asking++
		return n
	case time.Now().Before(n.until):
		c.recent.MoveToFront(n.place)
		return n
	default:
		c.remove(n)
	}
	n = &name{host: host, done: make(chan struct{}), asking: 1}
	// Whoever asked first may leave before the others.
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.known[host] = n
	// The look-up of those who wait for it. It ends with the resolver's
	// answer, or is cancelled when the last of them leaves.
	go c.resolve(ctx, n)
	return n
}

func (c *names) resolve(ctx context.Context, n *name) {
	addrs, err := c.network.LookupNetIP(ctx, "ip", n.host)
	n.cancel()
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: n.host, IsNotFound: true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(n.done)
	n.addrs, n.err = addrs, err
	if c.known[n.host] != n {
		return // nobody waits, or it was forgotten meanwhile
	}
	keep := keepName
	if err != nil {
		keep = keepNoName
	}
	var dns *net.DNSError
	if err != nil && !(errors.As(err, &dns) && dns.IsNotFound) {
		delete(c.known, n.host)
		return
	}
	n.until = time.Now().Add(keep)
	n.place = c.recent.PushFront(n)
	for c.recent.Len() > c.most {
		c.remove(c.recent.Back().Value.(*name))
	}
}

// leave says that one does not wait any more.
func (c *names) leave(n *name) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.asking--; n.asking == 0 && n.place == nil {
		n.cancel()
		if c.known[n.host] == n {
			delete(c.known, n.host)
		}
	}
}

// forget drops what is known of host, so that the next one asks anew.
func (c *names) forget(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.known[host]; n != nil && n.place != nil {
		c.remove(n)
	}
}

// remove requires that mu is held.
func (c *names) remove(n *name) {
	c.recent.Remove(n.place)
	delete(c.known, n.host)
}
