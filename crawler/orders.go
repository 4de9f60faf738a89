package crawler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// An Order is a record that a method of Crawler, such as Pause or Slow, has changed a running
// crawl.
type Order struct {
	Time time.Time `json:"time"`
	Do   string    `json:"do"`           // pause, resume, slow, exclude, add, limit or lift
	Of   string    `json:"of,omitempty"` // the site or host to which it applies; empty: all sites
	// What the order changes, depending on Do: the pause for slow, the seeds for add, the old and
	// new limits for limit, and the revoked order for lift. Empty for the others.
	What   string `json:"what,omitempty"`
	Reason string `json:"reason,omitempty"` // the reason that the caller gave
}

// Values of Order.Do. A slow or exclude order also applies to later runs of the crawl, until
// Options.Lift revokes it. The revocation is recorded as a lift order.
const (
	OrderPause   = "pause"
	OrderResume  = "resume"
	OrderSlow    = "slow"
	orderExclude = kept.OrderExclude
	orderAdd     = "add"
	orderLimit   = "limit"
	orderLift    = kept.OrderLift
)

// String returns the order in one line, such as "slow example.org 5s: asked by owner".
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

// ordered holds the orders of a run. Crawler.mu guards all fields.
type ordered struct {
	paused bool
	orders []Order // orders of this run, oldest first
	// Orders of this run that were given before the frontier was open; they are carried out when it
	// is.
	pending []Order
	kept    []Order // orders of earlier runs that still apply; only open sets it
}

// mostOrders is the maximum number of orders that Orders returns. crawl.log has all orders of a
// run.
const mostOrders = 100

// list adds an order to the orders that Orders returns. It drops the oldest if there are more than
// mostOrders.
func (c *ordered) list(o Order) {
	c.orders = append(c.orders, o)
	if n := len(c.orders) - mostOrders; n > 0 {
		c.orders = slices.Delete(c.orders, 0, n)
	}
}

// readOrders returns the orders of earlier runs that still apply to the crawl in dir, oldest first.
func readOrders(dir string, v store.Values) (all []Order, err error) {
	stored, err := kept.Orders(dir, v)
	return ordersOf(stored), err
}

func ordersOf(stored []kept.Order) (all []Order) {
	for _, o := range stored {
		all = append(all, Order(o))
	}
	return all
}

// shorten returns s for use in an error message: at most its first 200 bytes.
func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

// obey makes the frontier f carry out the order o.
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

// A told is a message with which a node tells the other nodes about an order, changed limits or new
// roots of the scope. The other nodes carry it out. Only the node that sends the message writes it
// to its log.
type told struct {
	Order  *Order            `json:",omitempty"`
	Limits map[string]string `json:",omitempty"` // texts of the changed limits, by name
	Roots  []string          `json:",omitempty"` // URLs to add to the scope
}

// unlisted counts the changes of limits that this node has sent to the list of orders of all nodes,
// and that have not come back from the list yet. The key is the name of the limit. While such a
// change is missing in the list, orders of other nodes about the same limit are older, and are
// ignored. Crawler.mu guards changes.
type unlisted struct{ changes map[string]int }

// add counts one change by this node for each name. The caller holds mu.
func (u *unlisted) add(names map[string]string) {
	for name := range names {
		u.changes[name]++
	}
}

// pauses reports whether o is a pause or resume order. o may be nil.
func (o *Order) pauses() bool { return o != nil && (o.Do == OrderPause || o.Do == OrderResume) }

// parseTarget parses the site or the host name to which an order applies, and returns it in the
// form that the frontier uses. The error is an *OptionError if of is neither.
func parseTarget(of string) (string, error) {
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
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q is neither a site, such as https://example.org, nor a host, such as example.org: %v", shorten(of), err), Err: err}
	case u.String() != string(u.Site())+"/":
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q is a part of a site: give the whole, %s", shorten(of), u.Site())}
	case isSite:
		return string(u.Site()), nil
	case u.Site().Host() != strings.Trim(u.Site().Authority(), "[]"):
		return "", &OptionError{Field: "Of", Reason: fmt.Sprintf("%q has a port: write http:// or https:// before it, or leave the port out for all of the host", of)}
	}
	return u.Site().Host(), nil
}

// pausing is the name of pause and resume orders in unlisted.changes.
const pausing = "pause"
