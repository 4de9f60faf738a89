package frontier

import (
	"net/netip"
	"time"
)

// Shared is the clocks that the crawls of a process, or of a machine, have in common:
// each of them asks it before it talks to a site that is not this machine. Its
// methods are quick and safe for concurrent use.
type Shared interface {
	// Reserve takes what key names from now until a time, as a lease, unless
	// it is taken: then it says until when, and how.
	Reserve(key string, now, until time.Time) (taken Taken, ok bool)
	// Renew makes the lease of what was reserved end later.
	Renew(key string, until time.Time)
	// Release puts the time until which nobody is to ask in the place of what
	// this process has reserved.
	Release(key string, until time.Time)
}

// Taken says until when something is not to be had.
type Taken struct {
	Until time.Time
	Lease bool // somebody is asking, and gives it back when he has his answer: at Until at the latest
}

// DefaultLease is how long a site is reserved for one request, and again while its
// answer is read. A process that is killed blocks it no longer than that.
const DefaultLease = 3 * time.Minute

// renewal is after what time a lease is renewed while an answer is read.
const renewal = 10 * time.Second

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
	names := []string{name}
	if f.opts.DomainDelay > 0 {
		names = append(names, string(DomainClock)+" "+s.name.Domain())
	}
	byAddress := public && to.IsValid() && f.opts.IPDelay > 0
	if byAddress {
		names = append(names, addr)
	}
	for i, name := range names {
		lease := f.opts.Lease
		if name == addr {
			lease = f.opts.IPDelay
		}
		if taken, ok := f.opts.Shared.Reserve(name, now, now.Add(lease)); !ok {
			for _, got := range names[:i] {
				f.opts.Shared.Release(got, now)
			}
			return f.refuse(s, taken, now)
		}
	}
	if byAddress { // others may start there in a moment
		f.opts.Shared.Release(addr, now.Add(f.opts.IPDelay))
		names = names[:len(names)-1]
	}
	if r := s.work().machine; !r.since.IsZero() {
		t.wait(Pause{By: MachineClock, Since: r.since, For: r.until.Sub(r.since)})
		s.atWork().machine = refused{}
	}
	t.reserved, t.leased = names, now
	return nil
}

// renew makes the leases of t last while its answer is read. It requires that mu is held.
func (t *Turn) renew(now time.Time) {
	if len(t.reserved) == 0 || now.Sub(t.leased) < renewal {
		return
	}
	t.leased = now
	for _, name := range t.reserved {
		t.frontier.opts.Shared.Renew(name, now.Add(t.frontier.opts.Lease))
	}
}

// release gives back what t has reserved: the host or site until it may be asked again,
// and its domain. It requires that mu is held, and that the clocks of the site have moved.
func (t *Turn) release(now time.Time) {
	for i, name := range t.reserved {
		until := t.released()
		if i > 0 {
			until = now.Add(t.frontier.opts.DomainDelay)
		}
		t.frontier.opts.Shared.Release(name, until)
	}
	t.reserved = nil
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
