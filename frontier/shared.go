package frontier

import (
	"net/netip"
	"time"
)

// Shared is the clocks that the crawls of one machine have in common: each
// process asks it before it talks to a site at a public address. Its methods
// are quick and safe for concurrent use.
type Shared interface {
	// Reserve takes what key names from now until a time, unless it is taken:
	// then it says until when.
	Reserve(key string, now, until time.Time) (taken time.Time, ok bool)
	// Release sets another time, the last one, for what this process has
	// reserved.
	Release(key string, until time.Time)
}

// DefaultLease is how long a site is reserved for one request. A process that
// is killed blocks it no longer than that.
const DefaultLease = 3 * time.Minute

// reserve takes the site of t, and the address it will talk to, from the other
// processes. It requires that mu is held.
func (t *Turn) reserve(to netip.Addr, now time.Time) error {
	f := t.frontier
	if f.opts.Shared == nil {
		return nil
	}
	site, addr := "site "+string(t.site.name), string(IPClock)+" "+to.String()
	if taken, ok := f.opts.Shared.Reserve(site, now, now.Add(f.opts.Lease)); !ok {
		t.site.machine = f.again(t.site, taken, now)
		return &NotYet{MachineClock, t.site.machine}
	}
	if f.opts.IPDelay > 0 {
		if taken, ok := f.opts.Shared.Reserve(addr, now, now.Add(f.opts.IPDelay)); !ok {
			f.opts.Shared.Release(site, now)
			t.site.machine = taken
			return &NotYet{MachineClock, taken}
		}
		f.opts.Shared.Release(addr, now.Add(f.opts.IPDelay))
	}
	t.site.machine = time.Time{}
	t.reserved = site
	return nil
}

// again is when to ask for s again that another process has until taken: that
// may be the end of its lease, which it gives back as soon as it has its answer.
func (f *Frontier) again(s *site, taken, now time.Time) time.Time {
	gap, _ := s.clocks.steady(f.opts.Delay)
	if poll := now.Add(max(gap, time.Second)); poll.Before(taken) {
		return poll
	}
	return taken
}
