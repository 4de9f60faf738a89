package frontier

import (
	"errors"
	"fmt"
	"time"
)

// Slow and Exclude change a crawl while it runs. They can only reduce the requests to a
// site.

// steering holds the changes. The keys are a Site, or a host name for all sites of that
// host; the pause of all sites has the key "".
type steering struct {
	slowed   map[string]time.Duration // least pauses
	excluded map[string]string        // reasons
}

// A FasterError is returned by Slow for a pause that is shorter than the one in force.
type FasterError struct {
	Of           string // a Site, a host name, or empty: all sites
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
	// errNoPlace: the site or the reason given to Exclude is empty.
	errNoPlace = errors.New("frontier: Exclude wants a site, or a host, and a reason")
	// ErrExcluded: the other site of a Hop is excluded.
	ErrExcluded = errors.New("frontier: the site is excluded")
)

// Slow makes the least pause of a site longer: of is a Site, a host name for all
// sites of that host, or empty for all sites. The pause counts from the end of the last
// response, also if that was before the call. After Slow returns, no turn is handed
// out before the end of the pause; turns that are out are not affected. The pause lasts
// as long as the frontier.
//
// Slow returns a *FasterError if the pause is shorter than the one in force, and after
// an end the error of that end, as Next does: it changes nothing then.
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

// Exclude ends the requests to a site: of is a Site, or a host name for all sites of
// that host. Its entries stay queued, and new ones are queued, but no more turns are
// handed out for it, not even for its robots.txt. Turns that are out are not affected.
// The exclusion lasts as long as the frontier.
//
// Exclude returns errNoPlace, or after an end the error of that end, as Next does: it
// changes nothing then.
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

// steer applies a change to the sites in memory that of names, and queues them again. A
// site that comes into memory later gets the change then. It requires that mu is held, and
// releases and retakes it at times if there are many sites.
func (f *Frontier) steer(of string) {
	n := 0
	for name, s := range f.sites {
		if of == "" || string(name) == of || name.Host() == of {
			if s.place != placeOut { // free does it for a site that is out
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

// slowedTo returns the least pause of a site by Slow, or 0. It requires that mu is held.
func (f *Frontier) slowedTo(name Site) time.Duration {
	if len(f.slowed) == 0 {
		return 0
	}
	return f.least(string(name), name.Host())
}

// exclusion returns the reason for which a site was excluded, or "". It requires that mu is
// held.
func (f *Frontier) exclusion(name Site) string {
	if len(f.excluded) == 0 {
		return ""
	}
	if why := f.excluded[name.Host()]; why != "" {
		return why
	}
	return f.excluded[string(name)]
}

// least returns the pause that Slow has set for of, which is on host, or 0.
func (f *Frontier) least(of, host string) time.Duration {
	return max(f.slowed[""], f.slowed[host], f.slowed[of])
}

// slow raises the due time of a site that was slowed since its last request. It
// requires that mu is held, and that no turn has the site.
func (f *Frontier) slow(s *site) {
	if ended := s.lastAsked(); f.slowedTo(s.name) > 0 && !ended.IsZero() {
		s.raise(ended.Add(f.delay(s)), OwnClock)
	}
}
