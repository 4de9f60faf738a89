package frontier

import (
	"fmt"
	"net/netip"
	"time"
)

// Shared holds the clocks that several crawls share: all crawls of a process, or of a machine.
// Each crawl calls Reserve before a request, except for requests to this machine itself. The
// methods are safe for concurrent use. Reserve may take long: only its turn waits. Renew and
// Release are quick and must not call the frontier, which is locked meanwhile. If one of the
// methods panics, the run ends with an error.
type Shared interface {
	// Reserve makes a lease of key, which is a reservation for one request. The lease lasts
	// from the time in now to the time in until. ok is true if it made the lease. If key is
	// already reserved, Reserve makes no lease, and returns the existing reservation and false.
	// A key names a site, a host, an address or a domain.
	Reserve(key string, now, until time.Time) (taken Taken, ok bool)
	// Renew makes the lease of key, which this process has reserved, end only at the time in
	// until.
	Renew(key string, until time.Time)
	// Release ends the lease of key, which this process has reserved, because the request has
	// ended. The key stays reserved, as a pause, up to the time in until.
	Release(key string, until time.Time)
}

// Taken is the existing reservation of a key.
type Taken struct {
	Until time.Time // if it is not in the future, the reservation is tried again after the usual pause
	Lease bool      // a request is under way; the reservation ends after its answer, at the latest at Until
}

// A guarded is an Options.Shared whose panics end the run. They must not reach the callers of
// the frontier, because its mutex may be locked then. Renew and Release require that f.mu is
// held, and Reserve that it is not held.
type guarded struct {
	Shared
	f *Frontier
}

// Reserve implements Shared. After a panic the key is reserved, so no request is made.
func (g guarded) Reserve(key string, now, until time.Time) (taken Taken, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			g.f.mu.Lock()
			defer g.f.mu.Unlock()
			g.failed(v)
		}
	}()
	taken = Taken{Until: until}
	return g.Shared.Reserve(key, now, until)
}

// Renew implements Shared.
func (g guarded) Renew(key string, until time.Time) {
	defer g.contain()
	g.Shared.Renew(key, until)
}

// Release implements Shared.
func (g guarded) Release(key string, until time.Time) {
	defer g.contain()
	g.Shared.Release(key, until)
}

// contain recovers from a panic.
func (g guarded) contain() {
	if v := recover(); v != nil {
		g.failed(v)
	}
}

// failed ends the run with an error that wraps v, the value of a panic, if that is an error.
func (g guarded) failed(v any) {
	err, is := v.(error)
	if !is {
		err = fmt.Errorf("%v", v)
	}
	g.f.fail(fmt.Errorf("frontier: Options.Shared panicked: %w", err))
}

// defaultLease is how long a site is reserved for one request. While the answer is read, each
// renewal reserves the site for this time again. If the process is killed, the site stays
// reserved for at most this time.
const defaultLease = 3 * time.Minute

// renewal is the time after which a lease is renewed while an answer is read.
const renewal = 10 * time.Second

// refused records that another process uses a site or its address, so that a turn must wait.
type refused struct {
	since time.Time // the first of several refusals in a row; zero: there was no refusal
	until time.Time // when the reservation is tried again
}

// reserve makes the reservations of t in Options.Shared. For a request to a public address it
// reserves the host and the address. For a request to a private address it reserves the site.
// If there is a domain clock, it also reserves the domain. It reserves nothing for loopback
// addresses, because their services belong to this machine. If one of the names is already
// reserved, reserve keeps no reservation and returns a *NotYet. It requires that t.frontier.mu
// is held, and unlocks it while it makes the reservations. So it returns a *NotYet, too, if
// another turn has taken the commons of the site meanwhile.
func (t *Turn) reserve(to netip.Addr, public bool) error {
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
	got, taken := f.reserveAll(names, addr)
	now := f.now()
	var err error
	if got < len(names) {
		err = f.refuse(s, taken, now)
	} else {
		err = t.may(now)
	}
	if err != nil {
		for _, name := range names[:got] {
			f.opts.Shared.Release(name, now)
		}
		return err
	}
	if byAddress { // other processes may start a request there after IPDelay
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

// reserveAll makes reservations in Options.Shared until one of them fails. It returns how many it
// has made, and the reservation for which the next one has failed. It requires that f.mu is held,
// and unlocks it meanwhile.
func (f *Frontier) reserveAll(names []string, addr string) (got int, taken Taken) {
	now, ok := f.now(), false
	f.mu.Unlock()
	defer f.mu.Lock() // also if Options.Shared ends the goroutine
	for ; got < len(names); got++ {
		lease := f.opts.Lease
		if names[got] == addr {
			lease = f.opts.IPDelay
		}
		if taken, ok = f.opts.Shared.Reserve(names[got], now, now.Add(lease)); !ok {
			break
		}
	}
	return got, taken
}

// renew extends the leases of t while its answer is read. It requires that mu is held.
func (t *Turn) renew(now time.Time) {
	if len(t.reserved) == 0 || now.Sub(t.leased) < renewal {
		return
	}
	t.leased = now
	for _, name := range t.reserved {
		t.frontier.opts.Shared.Renew(name, now.Add(t.frontier.opts.Lease))
	}
}

// release ends the leases of t. The host or site stays reserved until it is due again, and the
// domain for Options.DomainDelay. It requires that mu is held, and that the clocks of the site
// already include the request.
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

// refuse is called when another process has reserved what s needs. It sets when the reservation
// is tried again, and returns this time in a *NotYet. A lease ends when the other process has
// its answer, so the end is not known, and the reservation is tried again after each usual
// pause of s. The same is done with a reservation whose end has passed. When the attempts have
// lasted longer than the patience (Limits.Patience), s becomes due only after another patience,
// so that the run does not wait for s.
func (f *Frontier) refuse(s *site, taken Taken, now time.Time) error {
	r := &s.atWork().machine
	if r.since.IsZero() {
		r.since = now
	}
	r.until = taken.Until
	if taken.Lease || !taken.Until.After(now) {
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
