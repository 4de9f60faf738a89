package crawler

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// An Order is a change of a crawl while it runs, as it was given.
type Order struct {
	Time   time.Time `json:"time"`
	Do     string    `json:"do"`               // one of the orders below
	Of     string    `json:"of,omitempty"`     // a site, a host, or empty: all
	What   string    `json:"what,omitempty"`   // the pause; the seeds; what limits were and are
	Reason string    `json:"reason,omitempty"` // as who gave it said
}

// The orders. What slow and exclude say holds for the crawl, whatever run; lift takes
// them back.
const (
	OrderPause   = "pause"
	OrderResume  = "resume"
	OrderSlow    = "slow"
	OrderExclude = "exclude"
	OrderAdd     = "add"
	OrderLimit   = "limit"
	OrderLift    = "lift"
)

// String says an order in a few words.
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

// keyOrder stands before what an order that holds for the crawl does, and of whom.
const keyOrder = "order "

// ordered is what a run was given. Crawler.mu guards it, but for kept.
type ordered struct {
	paused  bool
	orders  []Order // of this run, the oldest first
	unheard []Order // of these, given before there was a frontier
	kept    []Order // of earlier runs, that hold; open alone writes it
}

// mostOrders are told of; crawl.log has all.
const mostOrders = 100

// Orders are those that hold from earlier runs, and the last hundred of this one. It
// may be called at any time, from any goroutine.
func (c *Crawler) Orders() []Order {
	var kept []Order
	if c.running() {
		kept = c.kept
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(kept, c.orders)
}

// record notes an order that was obeyed.
func (c *Crawler) record(o Order) error {
	c.mu.Lock()
	o, begun := c.enlist(o)
	c.mu.Unlock()
	if !begun {
		return nil
	}
	return c.write(o)
}

// enlist adds an order to those that are told of, and reports whether there is a
// frontier: otherwise steer sees to it. It requires that mu is held.
func (c *Crawler) enlist(o Order) (Order, bool) {
	o.Time = time.Now()
	if c.frontier == nil {
		c.unheard = append(c.unheard, o)
	}
	c.orders = append(c.orders, o)
	if n := len(c.orders) - mostOrders; n > 0 {
		c.orders = slices.Delete(c.orders, 0, n)
	}
	return o, c.frontier != nil
}

// write notes an order, unless the directory of the crawl is closed: it has changed
// nothing then.
func (c *Crawler) write(o Order) error {
	c.gate.RLock() // it is not closed meanwhile
	defer c.gate.RUnlock()
	c.mu.Lock()
	closed := c.queue == nil
	c.mu.Unlock()
	if closed {
		return ErrEnded
	}
	return c.note(o)
}

// note writes an order into the directory of the crawl.
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
	if o.Do == OrderSlow || o.Do == OrderExclude {
		err = errors.Join(err, c.db.Put(keyOrder+o.Do+" "+o.Of, o))
	}
	return err
}

// keepOrders reads those of earlier runs that hold, the oldest first, but for what this
// run lifts: that is noted, and does not hold any more.
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
		lift := Order{Time: time.Now(), Do: OrderLift, Of: o.Of, What: o.Do}
		if err := errors.Join(c.db.Put(keyOrder+o.Do+" "+o.Of, lift), c.note(lift)); err != nil {
			return err
		}
	}
	return nil
}

// readOrders are the orders that hold for the crawl in dir, the oldest first.
func readOrders(dir string, v Values) (all []Order, err error) {
	var names []string
	if err := v.Each(keyOrder, func(name string) error { names = append(names, name); return nil }); err != nil {
		return nil, err
	}
	for _, name := range names {
		var o Order
		if _, err := v.Get(keyOrder+name, &o); err != nil {
			return nil, err
		}
		switch _, err := time.ParseDuration(o.What); {
		case o.Do == OrderLift:
			continue
		case o.Do != OrderExclude && o.Do != OrderSlow, o.Do == OrderSlow && err != nil, o.Do == OrderExclude && o.Reason == "":
			return nil, &storage.DamagedError{Path: filepath.Join(dir, storage.StateFile), Err: fmt.Errorf("the order %q of %v cannot be read", name, o.Time)}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b Order) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// LiftAll in Options.Lift stands for all that was ordered.
const LiftAll = "all"

// lifts reports whether an order of an earlier run does not hold any more. What was
// ordered of all sites is lifted with all alone.
func (o *Options) lifts(was Order) bool {
	return slices.ContainsFunc(o.Lift, func(of string) bool {
		name, err := whom(of)
		return of == LiftAll || err == nil && name != "" && name == was.Of
	})
}

// checkLift finds what is no site in Options.Lift.
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
