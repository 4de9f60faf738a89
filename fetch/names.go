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

// How long the result of a look-up is kept. The resolver does not return a time to live. Five
// minutes is typical for short-lived records of the large content delivery networks. It is also
// the limit of RFC 2308, section 5, for a negative answer without a time to live. A look-up that
// failed in another way is not kept.
const (
	keepName   = 5 * time.Minute
	keepNoName = time.Minute
)

// names caches the addresses of host names for all sites together. Each name has at most one
// look-up under way. It is safe for concurrent use.
//
// The addresses are kept as the resolver returned them. The Fetcher checks before each connection
// whether an address may be dialled.
type names struct {
	network Network
	most    int // largest number of names that are kept

	// mu guards the fields below. It also guards the fields of each name until the name's channel
	// done is closed. mu is not held during a look-up. Other callers for the same name wait for
	// done.
	mu     sync.Mutex
	known  map[string]*name
	recent list.List // elements are *name with an answer; the longest unused is at the back
}

type name struct {
	host  string
	addrs []netip.Addr
	err   error
	bad   any       // the value of a panic of the Network; nil: it did not panic
	until time.Time // until when the answer is valid
	place *list.Element

	done   chan struct{} // closed when the answer has come
	asking int           // number of callers that still wait for the answer
	cancel context.CancelFunc
}

func newNames(network Network, most int) *names {
	return &names{network: network, most: most, known: map[string]*name{}}
}

// lookup resolves host. The caller must not change the addresses that lookup returns. If the
// Network panics, lookup panics with the same value in each goroutine that waits for the name. So
// the callers can recover.
func (c *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	n := c.ask(ctx, host)
	select {
	case <-n.done:
		if n.bad != nil {
			panic(n.bad)
		}
		return n.addrs, n.err
	case <-ctx.Done():
		c.leave(n)
		return nil, context.Cause(ctx)
	}
}

// ask returns the name of host. If the name has no valid answer, and no look-up for it is under
// way, ask starts a look-up.
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
	// The first caller may give up before the others, so the look-up does not end with its
	// context.
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.known[host] = n
	// This goroutine ends when the resolver answers. When no caller waits any more, leave cancels
	// it.
	go c.resolve(ctx, n)
	return n
}

func (c *names) resolve(ctx context.Context, n *name) {
	addrs, err := []netip.Addr(nil), errLookupExit
	defer func() { c.resolved(n, addrs, err, recover()) }() // deferred, so that it also runs if the Network panics or ends the goroutine
	addrs, err = c.network.LookupNetIP(ctx, "ip", n.host)
}

// errLookupExit is the error of a look-up whose Network has not returned.
var errLookupExit = errors.New("the LookupNetIP of the Network ended its goroutine (runtime.Goexit)")

// resolved records the result of a look-up. The parameter bad is the value of a panic, or nil.
func (c *names) resolved(n *name, addrs []netip.Addr, err error, bad any) {
	n.cancel()
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: n.host, IsNotFound: true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(n.done)
	n.addrs, n.err, n.bad = addrs, err, bad
	if c.known[n.host] != n {
		return // no caller waits any more, or the name was forgotten
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

// leave records that a caller has given up. If no caller waits any more, it cancels the
// look-up.
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

// forget drops the answer for host, so that the next caller looks it up again.
func (c *names) forget(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.known[host]; n != nil && n.place != nil {
		c.remove(n)
	}
}

// remove drops an answer. The caller must hold mu.
func (c *names) remove(n *name) {
	c.recent.Remove(n.place)
	delete(c.known, n.host)
}
