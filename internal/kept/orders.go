package kept

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// KeyOrder is the prefix of the keys under which orders for later runs are stored. After the prefix
// a key has Order.Do and Order.Of.
const KeyOrder = "order "

// An Order is a crawler.Order.
type Order struct {
	Time   time.Time `json:"time"`
	Do     string    `json:"do"`
	Of     string    `json:"of,omitempty"`
	What   string    `json:"what,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Values of Order.Do of the orders that are stored for later runs.
const (
	OrderSlow    = "slow"
	OrderExclude = "exclude"
	OrderLift    = "lift" // revokes the order that was stored under the key
)

// Orders returns the orders that also apply to later runs of the crawl in dir, oldest first. The
// error is a *store.DamagedError if an order cannot be read.
func Orders(dir string, from store.Values) (all []Order, err error) {
	for name, err := range from.Keys(KeyOrder) {
		if err != nil {
			return nil, err
		}
		var o Order
		if _, err := from.Get(KeyOrder+name, &o); err != nil {
			return nil, err
		}
		switch _, err := time.ParseDuration(o.What); {
		case o.Do == OrderLift:
			continue
		case o.Do != OrderExclude && o.Do != OrderSlow, o.Do == OrderSlow && err != nil, o.Do == OrderExclude && o.Reason == "":
			return nil, &store.DamagedError{Path: filepath.Join(dir, store.StateFile), Err: fmt.Errorf("the order %q of %v cannot be read", name, o.Time)}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b Order) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// Exclusions are the reasons for which sites are excluded from all runs. A key is a site, or a host
// name for all sites of the host.
type Exclusions map[string]string

// ExclusionsOf returns the exclusions in a list of orders.
func ExclusionsOf(orders []Order) Exclusions {
	all := Exclusions{}
	for _, o := range orders {
		if o.Do == OrderExclude {
			all[o.Of] = o.Reason
		}
	}
	return all
}

// Of returns the key and the reason for which a site is excluded. They are empty if it is not.
func (x Exclusions) Of(site frontier.Site) (of, why string) {
	if len(x) == 0 {
		return "", ""
	}
	host := site.Host()
	if why := x[host]; why != "" {
		return host, why
	}
	if why := x[string(site)]; why != "" {
		return string(site), why
	}
	return "", ""
}

// Pauses are the least pauses that slow orders require. A key is a site, a host name for all sites
// of the host, or "" for all sites.
type Pauses map[string]time.Duration

// PausesOf returns the pauses in a list of orders.
func PausesOf(orders []Order) Pauses {
	all := Pauses{}
	for _, o := range orders {
		if pause, err := time.ParseDuration(o.What); err == nil && o.Do == OrderSlow {
			all[o.Of] = max(all[o.Of], pause)
		}
	}
	return all
}

// Of returns the least pause between two requests to a site, or 0 if no order requires one.
func (p Pauses) Of(site frontier.Site) time.Duration {
	if len(p) == 0 {
		return 0
	}
	return max(p[""], p[site.Host()], p[string(site)])
}
