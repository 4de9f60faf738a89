package crawler

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
)

// put returns a function that sets the limits of the frontier to l. In a crawl of several nodes the
// frontier stays open when it is empty, because other nodes may find more URLs for it.
func (c *Crawler) put(l Limits) func(*frontier.Limits) {
	return func(f *frontier.Limits) {
		l.put(c.opts.Concurrency)(f)
		f.Open = f.Open || c.join != nil
	}
}

// share prepares this crawl for work with other nodes. The returned function begins that work. The
// caller holds mu.
func (c *Crawler) share(cluster clusterOf) func() {
	c.unlisted.changes = map[string]int{}
	return func() {
		cluster.Hear(c.hear)
		cluster.Join(joined{c.frontier, c}, c.visits.fetcher.Longest(c.opts.Concurrency))
	}
}

// A joined is the frontier of this node together with the limits of its crawl.
type joined struct {
	*frontier.Frontier
	c *Crawler
}

func (j joined) Limits() frontier.Limits {
	l := j.c.Limits()
	return frontier.Limits{Pages: l.Pages, Bytes: l.Bytes, Open: l.Open}
}

// tell stores value under key, unless key is empty. If there are other nodes, tell also sends t to
// them. The directory of the crawl must be open.
func (c *Crawler) tell(key string, value any, t told) error {
	if cluster := c.db.Cluster(); cluster != nil {
		return cluster.Order(key, value, t)
	}
	if key == "" {
		return nil
	}
	return c.db.Put(key, value)
}

// tellLimits sends the other nodes the limits that this node has changed, as texts by name.
func (c *Crawler) tellLimits(changed map[string]string) error {
	return c.whileOpen(func() error { return c.tell("", nil, told{Limits: changed}) })
}

// hear carries out an order that a node has sent. If own is true, this process sent the order, and
// has carried it out already.
func (c *Crawler) hear(order []byte, own bool) error {
	var t told
	if err := json.Unmarshal(order, &t); err != nil {
		return fmt.Errorf("crawler: an order of another node: %w", err)
	}
	for _, raw := range t.Roots {
		u, err := frontier.ParseURL(raw)
		if err == nil && !own {
			err = safely("Scope", func() { c.opts.Scope.Admit(u) })
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if own {
		for name := range t.Limits {
			c.unlisted.changes[name]--
		}
		if t.Order.pauses() {
			c.unlisted.changes[pausing]--
		}
		return nil
	}
	if c.stop {
		return nil
	}
	err := c.hearLimits(t.Limits)
	if t.Order != nil {
		err = errors.Join(err, c.hearOrder(*t.Order))
	}
	if errors.Is(tooLate(err), ErrEnded) {
		return nil
	}
	return err
}

// hearLimits applies limits that another node has changed, given as texts by name. The caller holds
// mu.
func (c *Crawler) hearLimits(texts map[string]string) error {
	l := c.limits
	for name, text := range texts {
		if c.unlisted.changes[name] > 0 {
			// This node has changed the same limit, and the list of all orders has its change after
			// this order.
			continue
		}
		if err := l.set(name, text); err != nil {
			return fmt.Errorf("crawler: the limit %s, which another node has changed: %w", name, err)
		}
	}
	l.Concurrency = min(l.Concurrency, c.opts.Concurrency)
	if l == c.limits {
		return nil
	}
	if err := c.frontier.Allow(c.put(l)); err != nil {
		return err
	}
	c.limits = l
	c.arm()
	return nil
}

// hearOrder carries out the order o of another node. The caller holds mu.
func (c *Crawler) hearOrder(o Order) error {
	same := func(was Order) bool { return was.Do == o.Do && was.Of == o.Of && was.Time.Equal(o.Time) }
	if slices.ContainsFunc(c.kept, same) {
		// The order was already stored when this node began, and was carried out then.
		return nil
	}
	if !o.pauses() || c.unlisted.changes[pausing] == 0 {
		err := obey(c.frontier, o)
		var faster *frontier.FasterError
		if err != nil && !errors.As(err, &faster) { // a FasterError is no failure: a longer pause already applies
			return err
		}
		if o.pauses() {
			c.paused = o.Do == OrderPause
		}
	}
	c.list(o)
	return nil
}
