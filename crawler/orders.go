package crawler

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// An Order is a call of a method of Crawler that changes a running crawl, such as Pause or
// Slow.
type Order struct {
	Time   time.Time `json:"time"`
	Do     string    `json:"do"`               // pause, resume, slow, exclude, add, limit or lift
	Of     string    `json:"of,omitempty"`     // the site or host that it is for; empty: all sites
	What   string    `json:"what,omitempty"`   // for slow the pause, for add the seeds, for limit the old and new limits, for lift the order that is revoked
	Reason string    `json:"reason,omitempty"` // the reason that the caller gave
}

// The values of Order.Do. Orders with slow and exclude also apply to later runs of the crawl,
// until Options.Lift revokes them. The revocation is recorded as lift.
const (
	OrderPause   = "pause"
	OrderResume  = "resume"
	OrderSlow    = "slow"
	orderExclude = "exclude"
	orderAdd     = "add"
	orderLimit   = "limit"
	orderLift    = "lift"
)

// String formats an order in a few words.
func (o Order) String() string {
	text := o.Do
	for _, part := range []string{o.Of, o.What} {
		if part != "" {
			text += " " + part
		}
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// keyOrder is the prefix of the keys of orders that apply to later runs. Order.Do and Order.Of
// follow it.
const keyOrder = "order "

// ordered has the orders of a run. Crawler.mu guards all fields except kept.
type ordered struct {
	paused  bool
	orders  []Order // orders of this run, the oldest first
	unheard []Order // the orders of this run that were given before the frontier was open
	kept    []Order // orders of earlier runs that still apply; set by open only
}

// mostOrders is the most orders of a run that Orders returns. crawl.log has all of them.
const mostOrders = 100

// Orders returns the orders of earlier runs that still apply, and the last hundred of this run.
// It may be called at any time, from any goroutine.
func (c *Crawler) Orders() []Order {
	var kept []Order
	if c.running() {
		kept = c.kept
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(kept, c.orders)
}

// record adds an order, which was carried out already, to the orders of this run, and writes it
// into the directory of the crawl.
func (c *Crawler) record(o Order) error {
	c.mu.Lock()
	o, begun := c.enlist(o)
	c.mu.Unlock()
	if !begun {
		return nil
	}
	return c.write(o)
}

// enlist adds an order, with the current time, to the orders of this run. It returns the order
// with that time, and whether the frontier is open. If it is not open, steer carries the order
// out later. The caller holds mu.
func (c *Crawler) enlist(o Order) (Order, bool) {
	o.Time = time.Now()
	if c.frontier == nil {
		c.unheard = append(c.unheard, o)
	}
	c.list(o)
	return o, c.frontier != nil
}

// list adds an order to those that Orders returns.
func (c *ordered) list(o Order) {
	c.orders = append(c.orders, o)
	if n := len(c.orders) - mostOrders; n > 0 {
		c.orders = slices.Delete(c.orders, 0, n)
	}
}

// write writes an order into the directory of the crawl. It returns ErrEnded if the directory
// is closed: the run has ended, so the order has changed nothing.
func (c *Crawler) write(o Order) error {
	return c.whileOpen(func() error { return c.note(o) })
}

// whileOpen calls f while the directory of the crawl is open. If it is closed, because the run has
// ended, whileOpen returns ErrEnded.
func (c *Crawler) whileOpen(f func() error) error {
	c.gate.RLock() // so that the directory is not closed meanwhile
	defer c.gate.RUnlock()
	c.mu.Lock()
	closed := c.queue == nil
	c.mu.Unlock()
	if closed {
		return ErrEnded
	}
	return f()
}

// note is like write, but does not check whether the directory is open.
func (c *Crawler) note(o Order) error {
	if c.db == nil {
		return nil
	}
	notes := []string{"order:" + o.Do}
	for _, n := range []struct{ key, value string }{{"of", o.Of}, {"what", o.What}, {"why", o.Reason}} {
		if n.value != "" {
			notes = append(notes, n.key+":"+n.value)
		}
	}
	err := c.db.Log().Write(&crawllog.Line{Time: o.Time, Size: -1, URL: crawllog.RunURL, Annotations: notes})
	key := ""
	switch o.Do {
	case orderLift: // the other nodes have read the order when they began, and keep it
		return err
	case OrderSlow, orderExclude:
		key = keyOrder + o.Do + " " + o.Of
	}
	return errors.Join(err, c.tell(key, o, told{Order: &o}))
}

// keepOrders reads the orders of earlier runs that still apply, the oldest first. It leaves out
// the orders that this run lifts, and records that they are lifted.
func (c *Crawler) keepOrders() error {
	all, err := readOrders(c.opts.Dir, c.db)
	if err != nil {
		return err
	}
	for _, o := range all {
		if !c.opts.lifts(o) {
			c.kept = append(c.kept, o)
			continue
		}
		lift := Order{Time: time.Now(), Do: orderLift, Of: o.Of, What: o.Do}
		if err := errors.Join(c.db.Put(keyOrder+o.Do+" "+o.Of, lift), c.note(lift)); err != nil {
			return err
		}
	}
	return nil
}

// readOrders returns the orders of earlier runs that still apply to the crawl in dir, the
// oldest first.
func readOrders(dir string, v store.Values) (all []Order, err error) {
	for name, err := range v.Keys(keyOrder) {
		if err != nil {
			return nil, err
		}
		var o Order
		if _, err := v.Get(keyOrder+name, &o); err != nil {
			return nil, err
		}
		switch _, err := time.ParseDuration(o.What); {
		case o.Do == orderLift:
			continue
		case o.Do != orderExclude && o.Do != OrderSlow, o.Do == OrderSlow && err != nil, o.Do == orderExclude && o.Reason == "":
			return nil, &store.DamagedError{Path: filepath.Join(dir, store.StateFile), Err: fmt.Errorf("the order %q of %v cannot be read", name, o.Time)}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b Order) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// LiftAll in Options.Lift revokes all orders.
const LiftAll = "all"

// lifts reports whether Options.Lift revokes an order of an earlier run. Only LiftAll revokes
// an order for all sites.
func (o *Options) lifts(was Order) bool {
	return slices.ContainsFunc(o.Lift, func(of string) bool {
		name, err := whom(of)
		return of == LiftAll || err == nil && name != "" && name == was.Of
	})
}

// checkLift returns an *OptionError for an entry of Options.Lift that is not a site, a host or
// LiftAll.
func (o *Options) checkLift() error {
	for _, of := range o.Lift {
		var wrong *OptionError
		if _, err := whom(of); of != LiftAll && errors.As(err, &wrong) {
			return &OptionError{Field: "Lift", Reason: wrong.Reason, Err: err}
		}
		if strings.TrimSpace(of) == "" {
			return &OptionError{Field: "Lift", Reason: "is empty: name a site, a host, or " + LiftAll}
		}
	}
	return nil
}
