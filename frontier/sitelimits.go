package frontier

import (
	"fmt"
	"time"
)

// The limits of a single site come from Options.Site. This function is the caller's code and
// may be slow or wrong, so it is called without holding mu, while the place of the site is
// placeOut. Until the call returns, the site has the least pause that all sites have
// (Options.Delay). It has no budget yet, because its own budget may be larger than
// Options.MaxSite.

// SiteLimits are the limits of one site. A site with the zero value has those of Options.
type SiteLimits struct {
	// Delay is the least pause after the end of a response, if it is longer than Options.Delay.
	// A Delay of more than a year counts as a year.
	Delay time.Duration
	// Max replaces Options.MaxSite, field by field. 0: the value of Options.MaxSite, negative:
	// no limit.
	Max Spent
}

// usualLimits are the limits of all sites that have none of their own.
var usualLimits = new(SiteLimits)

// delay returns the least pause of s, by the limits of s that are known so far.
func (f *Frontier) delay(s *site) time.Duration {
	delay := max(f.opts.Delay, f.slowedTo(s.name))
	if s.limits != nil {
		delay = max(delay, s.limits.Delay)
	}
	return delay
}

// most returns the budget of s, by the limits of s that are known so far.
func (f *Frontier) most(s *site) Spent {
	most := f.opts.MaxSite
	if s.limits == nil {
		if f.opts.Site != nil {
			return Spent{}
		}
		return most
	}
	own := &s.limits.Max
	return Spent{Pages: instead(own.Pages, most.Pages), Bytes: instead(own.Bytes, most.Bytes), Time: instead(own.Time, most.Time)}
}

func instead[T ~int | ~int64](own, usual T) T {
	switch {
	case own == 0:
		return usual
	case own < 0:
		return 0
	}
	return own
}

// limit gets the limits of s from Options.Site, if they are not known. It requires that the
// place of s is placeOut for the caller, and that f.mu is not held.
func (f *Frontier) limit(s *site) error {
	if f.opts.Site == nil {
		return nil
	}
	f.mu.Lock()
	known := s.limits != nil
	f.mu.Unlock()
	if known {
		return nil
	}
	l, err := f.opts.Site(s.name)
	if err != nil {
		return fmt.Errorf("frontier: the limits of %s: %w", s.name, err)
	}
	l.Delay = min(l.Delay, maxPause)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.limits = &l; l == *usualLimits {
		s.limits = usualLimits
	}
	if l.Delay > f.opts.Delay {
		f.restAnew(s)
	}
	return nil
}

// restAnew is called after the pause of s has become longer, and makes s rest for this longer
// pause. The pause counts from the last answer, even if this came in an earlier run, and from a
// restart after a crash. restAnew requires that f.mu is held.
func (f *Frontier) restAnew(s *site) {
	if c := s.clocks(); !c.Ended.IsZero() {
		gap, by := c.steady(f.delay(s))
		s.raise(c.Ended.Add(gap), by)
	}
	f.restart(s)
	f.holdHost(s)
}

// barred reports whether s, which was picked for a turn, must not get a request now because of
// limits of s that became known only after it was queued.
func (f *Frontier) barred(s *site, now time.Time) bool {
	due, _ := s.ownDue()
	return s.limits != nil && (due.After(now) || f.overBudget(s))
}
