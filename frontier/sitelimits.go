package frontier

import (
	"fmt"
	"time"
)

// Here are the limits of single sites. Who names them is the caller's code, which may
// take its time, or be wrong: so it is asked by whoever has the site, and without mu.
// Until then the clocks of the site are those of all, and no budget ends it, since one
// of its own may be larger.

// SiteLimits are those of one site alone. The zero value is a site like all others.
type SiteLimits struct {
	Delay time.Duration // least pause, from the end of a response, where it is longer than Options.Delay; more than a year counts as a year
	Max   Spent         // in the place of Options.MaxSite, each by itself; 0: as there, negative: no limit
}

// usualLimits are those of all sites that have none of their own.
var usualLimits = new(SiteLimits)

// delay is the least pause of s, as far as its limits are known.
func (f *Frontier) delay(s *site) time.Duration {
	delay := max(f.opts.Delay, f.slowedTo(s.name))
	if s.limits != nil {
		delay = max(delay, s.limits.Delay)
	}
	return delay
}

// most is what s may cost, as far as its limits are known.
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

// limit asks for the limits of s, if they are not known. The site is out, and belongs
// to the caller, who does not hold mu.
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

// restAnew has s rest for as long as its own delay asks, from its last answer and from
// an unclean start, in whichever run that was. It requires that mu is held.
func (f *Frontier) restAnew(s *site) {
	if c := s.clocks(); !c.Ended.IsZero() {
		gap, by := c.steady(f.delay(s))
		s.raise(c.Ended.Add(gap), by)
	}
	f.restart(s)
	f.holdHost(s)
}

// barred reports whether s, which was picked, is not to be asked now: by limits that
// were not known when it was queued.
func (f *Frontier) barred(s *site, now time.Time) bool {
	due, _ := s.ownDue()
	return s.limits != nil && (due.After(now) || f.overBudget(s))
}
