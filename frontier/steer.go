package frontier

import (
	"errors"
	"fmt"
	"time"
)

// Slow and Exclude change a crawl while it runs. They can only reduce the requests to a site,
// never add requests.

// steering holds the changes that Slow and Exclude have made. A key is a Site, or a host name for
// all sites of that host. The key "" of slowed stands for all sites.
type steering struct {
	slowed   map[string]time.Duration // least pauses that calls of Slow have set
	excluded map[string]string        // reasons that calls of Exclude have given
}

// A FasterError is returned by Slow if the given pause is shorter than the current one.
type FasterError struct {
	Of           string // a Site, or a host name; empty: all sites
	Delay, Least time.Duration
}

func (e *FasterError) Error() string {
	of := e.Of
	if of == "" {
		of = "every site"
	}
	return fmt.Sprintf("frontier: %s has a pause of %v already, %v would be shorter", of, e.Least, e.Delay)
}

// Errors of Exclude and Hop.
var (
	// errNoPlace is returned by Exclude if the site or the reason is empty.
	errNoPlace = errors.New("frontier: Exclude wants a site, or a host, and a reason")
	// ErrExcluded is returned by Hop if the other site is excluded.
	ErrExcluded = errors.New("frontier: the site is excluded")
)

// Slow sets a longer least pause for some sites. The parameter of is a Site, or a host name, which
// means all sites of this host, or "", which means all sites. The pause counts from the end of a
// site's last response, even if this response came before the call. After Slow returns, no turn is
// handed out before the pause has ended. Turns that are out are not affected. The least pause
// stays until the end of the frontier.
//
// If delay is shorter than the current least pause, Slow returns a *FasterError. After the end of
// the run it returns the same error as Next. In both cases it changes nothing.
func (f *Frontier) Slow(of string, delay time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if least := max(f.opts.Delay, f.least(of, Site(of).Host())); delay < least {
		return &FasterError{of, delay, least}
	}
	put(&f.slowed, of, delay)
	for host, c := range f.commons[byHost].all {
		if (of == "" || of == host) && !c.from.IsZero() {
			f.commons[byHost].hold(host, c.from, c.from.Add(delay))
		}
	}
	f.steer(of)
	return nil
}

// Exclude ends the requests to a site or a host. The parameter of is a Site, or a host name, which
// means all sites of this host. The parameter why is the reason. Queued entries stay queued, and
// new entries are still queued, but no more turns are handed out for these sites, not even for
// robots.txt. Turns that are out are not affected. The sites stay excluded until the end of the
// frontier.
//
// Exclude returns an error if a parameter is empty. After the end of the run it returns the same
// error as Next. In both cases it changes nothing.
func (f *Frontier) Exclude(of, why string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case of == "" || why == "":
		return errNoPlace
	case f.err != nil:
		return f.err
	}
	put(&f.excluded, of, why)
	f.steer(of)
	return nil
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// steer applies a change by Slow or Exclude to the sites in memory that match of, and queues them
// again. The parameter of is that of Slow or Exclude. For sites that come into memory later, learn
// applies the change. The caller must hold f.mu. If there are many sites, steer unlocks and locks
// f.mu several times.
func (f *Frontier) steer(of string) {
	n := 0
	for name, s := range f.sites {
		if of == "" || string(name) == of || name.Host() == of {
			if s.place != placeOut { // if a turn has the site, the method free calls slow later
				f.slow(s)
			}
			f.queue(s)
		}
		if n++; n%somePage == 0 { // let other goroutines continue
			f.mu.Unlock()
			f.mu.Lock()
		}
	}
	f.kickLocked()
}

// slowedTo returns the least pause that Slow has set for a site, or 0 if none exists. The caller
// must hold f.mu.
func (f *Frontier) slowedTo(name Site) time.Duration {
	if len(f.slowed) == 0 {
		return 0
	}
	return f.least(string(name), name.Host())
}

// exclusion returns the parameters of the call of Exclude that has excluded a site. They are empty
// if there was none. The caller must hold mu.
func (f *Frontier) exclusion(name Site) (of, why string) {
	if len(f.excluded) == 0 {
		return "", ""
	}
	host := name.Host()
	if why := f.excluded[host]; why != "" {
		return host, why
	}
	if why := f.excluded[string(name)]; why != "" {
		return string(name), why
	}
	return "", ""
}

func (f *Frontier) isExcluded(name Site) bool {
	_, why := f.exclusion(name)
	return why != ""
}

// least returns the longest of three pauses that Slow may have set: one for all sites, one for
// host, and one for of, which is a Site or a host name. If none of them is set, it returns 0.
func (f *Frontier) least(of, host string) time.Duration {
	return max(f.slowed[""], f.slowed[host], f.slowed[of])
}

// slow makes s due later, if a pause that Slow has set for s has not ended yet. The caller must
// hold f.mu, and no turn may have the site.
func (f *Frontier) slow(s *site) {
	if ended := s.lastAsked(); f.slowedTo(s.name) > 0 && !ended.IsZero() {
		s.raise(ended.Add(f.delay(s)), OwnClock)
	}
}
