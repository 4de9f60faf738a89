package frontier

import (
	"sync"
	"time"
)

// sharedClocks implements Shared in memory, for the crawls of one process. It is safe for
// concurrent use.
type sharedClocks struct {
	mu    sync.Mutex // guards the fields below
	all   map[string]Taken
	sweep int // when len(all) reaches sweep, forget removes the expired names
}

// NewSharedClocks returns an empty Shared in memory. The crawls of one process can share it.
func NewSharedClocks() Shared { return &sharedClocks{all: map[string]Taken{}, sweep: 1024} }

// farthest is how far in the future a reservation may end. A reservation that ends later was made
// with another wall clock, for example by a test in virtual time. It is ignored. Otherwise it
// would block a site for years.
const farthest = 366 * 24 * time.Hour

// Reserve implements Shared.
func (c *sharedClocks) Reserve(key string, now, until time.Time) (Taken, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.all[key]; t.Until.After(now) && t.Until.Before(now.Add(farthest)) {
		return t, false
	}
	c.forget(now)
	c.all[key] = Taken{Until: until, Lease: true}
	return Taken{}, true
}

// Renew implements Shared.
func (c *sharedClocks) Renew(key string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.all[key]; t.Lease && until.After(t.Until) {
		c.all[key] = Taken{Until: until, Lease: true}
	}
}

// Release implements Shared.
func (c *sharedClocks) Release(key string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[key].Lease {
		c.all[key] = Taken{Until: until}
	}
}

// forget removes the names whose reservations have ended. The caller must hold c.mu.
func (c *sharedClocks) forget(now time.Time) {
	if len(c.all) < c.sweep {
		return
	}
	for key, t := range c.all {
		if !t.Until.After(now) {
			delete(c.all, key)
		}
	}
	c.sweep = max(1024, 2*len(c.all))
}
