package frontier

import (
	"net/netip"
	"time"
)

// Shared is the clocks that the crawls of one machine have in common: each
// process asks it before it talks to a site that is not this machine. Its
// methods are quick and safe for concurrent use.
type Shared interface {
	// Reserve takes what key names from now until a time, as a lease, unless
	// it is taken: then it says until when, and how.
	Reserve(key string, now, until time.Time) (taken Taken, ok bool)
	// Release puts the time until which nobody is to ask in the place of what
	// this process has reserved.
	Release(key string, until time.Time)
}

// Taken says until when something is not to be had.
type Taken struct {
	Until time.Time
	Lease bool // somebody is asking, and gives it back when he has his answer: at Until at the latest
}

// DefaultLease is how long a site is reserved for one request. A process that
// is killed blocks it no longer than that.
const DefaultLease = 3 * time.Minute

// refused is what another process has of a site, or of its address.
type refused struct {
	since time.Time // refused ever since; zero if it is not
	until time.Time // asked again then
}

// reserve takes the host of t, its site where that is at a private address, and
// the address that it will talk to from the other processes. Loopback addresses
// are left out: what listens there was started for somebody. It requires that
// mu is held.
func (t *Turn) reserve(to netip.Addr, public bool, now time.Time) error {
	f, s := t.frontier, t.site
	if f.opts.Shared == nil || to.IsLoopback() || !to.IsValid() && !public {
		return nil
	}
	name, addr := "site "+string(s.name), string(IPClock)+" "+to.String()
	if public {
		name = string(HostClock) + " " + s.name.Host()
	}
	if taken, ok := f.opts.Shared.Reserve(name, now, now.Add(f.opts.Lease)); !ok {
		return f.refuse(s, taken, now)
	}
	if public && to.IsValid() && f.opts.IPDelay > 0 {
		if taken, ok := f.opts.Shared.Reserve(addr, now, now.Add(f.opts.IPDelay)); !ok {
			f.opts.Shared.Release(name, now)
			return f.refuse(s, taken, now)
		}
		f.opts.Shared.Release(addr, now.Add(f.opts.IPDelay))
	}
	if r := s.work().machine; !r.since.IsZero() {
		t.wait(Pause{By: MachineClock, Since: r.since, For: r.until.Sub(r.since)})
		s.atWork().machine = refused{}
	}
	t.reserved = name
	return nil
}

// refuse notes when s is to be asked for again. A lease is over as soon as the
// other process has its answer, so it is asked for again and again; but not for
// longer than the patience: then it is not waited for any more, as nothing is
// that is due later than that.
func (f *Frontier) refuse(s *site, taken Taken, now time.Time) error {
	r := &s.atWork().machine
	if r.since.IsZero() {
		r.since = now
	}
	r.until = taken.Until
	if taken.Lease {
		patience := f.limits.patience()
		clocks := s.clocks()
		gap, _ := clocks.steady(f.delay(s))
		poll := max(gap, time.Second)
		if now.Add(poll).Sub(r.since) > patience {
			poll = patience + time.Second
		}
		r.until = now.Add(poll)
	}
	return &NotYet{MachineClock, r.until}
}
