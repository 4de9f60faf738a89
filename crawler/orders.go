package crawler

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
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

// list adds an order to those that Orders returns.
func (c *ordered) list(o Order) {
	c.orders = append(c.orders, o)
	if n := len(c.orders) - mostOrders; n > 0 {
		c.orders = slices.Delete(c.orders, 0, n)
	}
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

// shown returns s, or its beginning if it is longer than an error should be.
func shown(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

// obey makes the frontier f carry out an order, of this run or of an earlier one.
func obey(f *frontier.Frontier, o Order) error {
	switch o.Do {
	case OrderPause, OrderResume:
		return f.Allow(func(l *frontier.Limits) { l.Paused = o.Do == OrderPause })
	case OrderSlow:
		delay, err := time.ParseDuration(o.What)
		if err != nil {
			return err
		}
		return f.Slow(o.Of, delay)
	case orderExclude:
		return f.Exclude(o.Of, o.Reason)
	}
	return nil
}

// A told is what a node tells the other nodes of the crawl. They carry it out. Only the node that
// tells it writes it into its log.
type told struct {
	Order  *Order            `json:",omitempty"`
	Limits map[string]string `json:",omitempty"` // the limits that were changed, as texts by their names
	Roots  []string          `json:",omitempty"` // URLs to be added to the scope
}

// unlisted counts, by the name of the limit, the changes by this node that are not yet in the list
// of all orders. Until they are, earlier orders of other nodes do not take them back. Crawler.mu
// guards it.
type unlisted struct{ changes map[string]int }

// add counts changes by this node. The caller holds mu.
func (u *unlisted) add(names map[string]string) {
	for name := range names {
		u.changes[name]++
	}
}

// pauses reports whether o is Pause or Resume.
func (o *Order) pauses() bool { return o != nil && (o.Do == OrderPause || o.Do == OrderResume) }

// whom parses the site or the host name of an order, and returns it in the form that the
// frontier uses. The error is an *OptionError.
func whom(of string) (string, error) {
	if of == "" {
		return "", nil
	}
	raw, isSite := of, strings.Contains(of, "://")
	if !isSite {
		raw = "http://" + of
	}
	u, err := frontier.ParseURL(raw)
	switch {
	case err != nil:
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q is neither a site, as https://example.org, nor a host, as example.org: %v", shown(of), err), Err: err}
	case u.String() != string(u.Site())+"/":
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q is a part of a site: give the whole, %s", shown(of), u.Site())}
	case isSite:
		return string(u.Site()), nil
	case u.Site().Host() != strings.Trim(u.Site().Authority(), "[]"):
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q has a port: write http:// or https:// before it, or leave the port out for all of the host", of)}
	}
	return u.Site().Host(), nil
}

// pausing stands for Pause and Resume in unlisted.changes.
const pausing = "pause"
