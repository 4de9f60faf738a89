package frontier

import (
	"errors"
	"fmt"
	"time"
)

// Here a crawl is steered while it runs. What is told to it so can only make it ask
// less of a site.

// steering is what was told to a frontier while it runs. Each is by Site, or by host
// name for all sites of that; a pause for all sites stands under "".
type steering struct {
	slowed   map[string]time.Duration // least pauses
	excluded map[string]string        // why nothing is asked any more
}

// A FasterError says that Slow was given a pause that is shorter than the one that
// counts already.
type FasterError struct {
	Of           string // a Site, a host name, or empty: all sites
	Delay, Least time.Duration
}

func (e *FasterError) Error() string {
	of := e.Of
	if of == "" {
		of = "every site"
	}
	return fmt.Sprintf("frontier: %s is left in peace for %v already, %v would be less", of, e.Least, e.Delay)
}

// What Exclude and Hop may return.
var (
	// ErrNobody: Exclude names no site, or gives no reason.
	ErrNobody = errors.New("frontier: Exclude wants a site, or a host, and a reason")
	// ErrExcluded: the site that Hop would go to is excluded.
	ErrExcluded = errors.New("frontier: the site is excluded")
)

// Slow makes the least pause of a site longer: of is a Site, a host name for all
// sites of that, or empty for all there are. It counts from the end of the last
// response; where that was before, from then on. Once Slow returns no turn is handed
// out before; those that are out already are not called back. It holds as long as
// the frontier.
//
// The error is a *FasterError where the pause would be shorter than the one that
// counts already, or an end, as Next returns it: nothing is changed then.
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

// Exclude ends what is asked of a site: of is a Site, or a host name for all sites of
// that. What is queued there stays queued, and what is found is; no more turns are
// handed out for it, nor for a robots.txt there. Those that are out already are not
// called back. It holds as long as the frontier.
//
// The error is ErrNobody, or an end, as Next returns it: nothing is changed then.
func (f *Frontier) Exclude(of, why string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case of == "" || why == "":
		return ErrNobody
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

// steer has the sites in memory that of names wait as they were told, and queues them
// anew: those that come hear of it when they do. It requires that mu is held, and lets go
// of it now and then where there are many.
func (f *Frontier) steer(of string) {
	n := 0
	for name, s := range f.sites {
		if of == "" || string(name) == of || name.Host() == of {
			if s.place != placeOut { // otherwise free sees to it
				f.slow(s)
			}
			f.queue(s)
		}
		if n++; n%somePage == 0 { // let the others go on
			f.mu.Unlock()
			f.mu.Lock()
		}
	}
	f.kickLocked()
}

// slowedTo is the least pause of a site by Slow; 0: none. It requires that mu is held.
func (f *Frontier) slowedTo(name Site) time.Duration {
	if len(f.slowed) == 0 {
		return 0
	}
	return f.least(string(name), name.Host())
}

// exclusion is why nothing more is asked of a site; empty: it is. It requires that mu is
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

// least is the pause that Slow was given for a site of a host; 0: none.
func (f *Frontier) least(of, host string) time.Duration {
	return max(f.slowed[""], f.slowed[host], f.slowed[of])
}

// slow raises the due time of a site that was slowed since it was asked last. It
// requires that mu is held, and that no turn has the site.
func (f *Frontier) slow(s *site) {
	if ended := s.lastAsked(); f.slowedTo(s.name) > 0 && !ended.IsZero() {
		s.raise(ended.Add(f.delay(s)), OwnClock)
	}
}
