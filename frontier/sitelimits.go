package frontier

import (
	"fmt"
	"time"
)

// The limits of a single site come from Options.Site. This function is the caller's code and may
// be slow or wrong. So it is called without holding mu, while the place of the site is placeOut.
// Until the call returns, the site has the pause that all sites have (Options.Delay). It has no
// budget during the call, because its own budget may be larger than Options.MaxSite.

// SiteLimits are the limits of one site. The zero value stands for the limits in Options.
type SiteLimits struct {
	// Delay is the least pause after the end of a response. It counts only if it is longer than
	// Options.Delay. A Delay of more than a year counts as a year.
	Delay time.Duration
	// Max replaces Options.MaxSite, field by field. A field of 0 stands for the field of
	// Options.MaxSite, and a negative one for no limit.
	Max Spent
}

// usualLimits are used for sites without limits of their own.
var usualLimits = new(SiteLimits)

// delay returns the least pause of s, by the limits of s that are known now.
func (f *Frontier) delay(s *site) time.Duration {
	delay := max(f.opts.Delay, f.slowedTo(s.name))
	if s.limits != nil {
		delay = max(delay, s.limits.Delay)
	}
	return delay
}

// most returns the budget of s, by the limits of s that are known now.
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

// limit gets the limits of s from Options.Site, unless they are known. The caller must have set
// the place of s to placeOut, and must not hold f.mu.
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

// restAnew makes s rest for its pause, after this pause has become longer. The pause counts from
// the last answer, even if this answer came in an earlier run, and from a restart after a crash.
// The caller must hold f.mu.
func (f *Frontier) restAnew(s *site) {
	if c := s.clocks(); !c.Ended.IsZero() {
		gap, by := c.steady(f.delay(s))
		s.raise(c.Ended.Add(gap), by)
	}
	f.restart(s)
	f.holdHost(s)
}

// barred reports whether s must not get a request now, although it was picked for a turn. The
// reason is a limit of s that became known only after s was queued.
func (f *Frontier) barred(s *site, now time.Time) bool {
	due, _ := s.ownDue()
	return s.limits != nil && (due.After(now) || f.overBudget(s))
}
