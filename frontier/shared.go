package frontier

import (
	"fmt"
	"net/netip"
	"time"
)

// Shared holds the clocks that several crawls share: all crawls of a process, or of a machine.
// Each crawl calls Reserve before a request, except for requests to this machine itself. The
// methods are safe for concurrent use. Reserve may take long, because only the turn that called it
// waits. Renew and Release must be quick and must not call the frontier: it is locked during the
// call. If one of the methods panics, the run ends with an error.
type Shared interface {
	// Reserve makes a lease of key: a reservation for one request. A key names a site, a host, an
	// address or a domain. The lease lasts from now to until, and ok is true. If key is already
	// reserved, Reserve makes no lease, and returns the existing reservation and false.
	Reserve(key string, now, until time.Time) (taken Taken, ok bool)
	// Renew moves the end of the lease of key to until. This process must have the lease.
	Renew(key string, until time.Time)
	// Release ends the lease of key because the request has ended. This process must have the
	// lease. The key stays reserved until the time until, as a pause.
	Release(key string, until time.Time)
}

// Taken is an existing reservation of a key.
type Taken struct {
	Until time.Time // end of the reservation; if it has passed, Reserve is called again after the usual pause
	Lease bool      // a request is under way; the reservation ends after the answer, and at the latest at Until
}

// A guarded is an Options.Shared whose panics end the run. The panics must not reach the callers
// of the frontier, because its mutex may be locked. The caller of Renew and Release must hold
// f.mu; the caller of Reserve must not.
type guarded struct {
	Shared
	f *Frontier
}

// Reserve implements Shared. After a panic it reports that the key is taken, so no request is
// made.
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

// contain recovers from a panic and ends the run with it. It must be deferred.
func (g guarded) contain() {
	if v := recover(); v != nil {
		g.failed(v)
	}
}

// failed ends the run because of a panic with the value v. If v is an error, the error of the run
// wraps v.
func (g guarded) failed(v any) {
	err, is := v.(error)
	if !is {
		err = fmt.Errorf("%v", v)
	}
	g.f.fail(fmt.Errorf("frontier: Options.Shared panicked: %w", err))
}

// defaultLease is how long a site is reserved for one request. Renewals while the answer is read
// reserve the site for this time again. If the process is killed, the site stays reserved for at
// most this time.
const defaultLease = 3 * time.Minute

// renewal is the time after which a lease is renewed while an answer is read.
const renewal = 10 * time.Second

// refused records that a turn must wait because another process uses the site or its address.
type refused struct {
	since time.Time // time of the first of several refusals in a row; zero: there was no refusal
	until time.Time // when the next attempt at the reservation is made
}

// reserve makes the reservations of t in Options.Shared. For a request to a public address it
// reserves the host and the address. For a request to a private address it reserves the site. If
// there is a domain clock, it also reserves the domain. It reserves nothing for loopback
// addresses, because their services belong to this machine. If one of the names is already
// reserved, reserve keeps no reservation and returns a *NotYet. The caller must hold
// t.frontier.mu, which reserve unlocks while it makes the reservations. So it also returns a
// *NotYet if another turn has taken the commons of the site meanwhile.
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
	if byAddress { // from then on other processes may start a request at this address
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

// reserveAll makes reservations of names in Options.Shared until one of them fails. It returns how
// many it has made, and the existing reservation that made the next one fail. The caller must hold
// f.mu, which reserveAll unlocks during the calls.
func (f *Frontier) reserveAll(names []string, addr string) (got int, taken Taken) {
	now, ok := f.now(), false
	f.mu.Unlock()
	defer f.mu.Lock() // deferred, so that f.mu is also locked if Options.Shared calls runtime.Goexit
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

// renew extends the reservations of t while its answer is read. The caller must hold mu.
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
// domain for Options.DomainDelay. The caller must hold mu, and must have updated the clocks of the
// site after the request.
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

// refuse is called when another process has reserved a name that s needs. It sets when the next
// attempt at the reservation is made, and returns this time in a *NotYet. The end of a lease is
// not known, because it ends when the other process has its answer. So the reservation is tried
// again after each usual pause of s. This also applies to a reservation whose end has passed. If
// the attempts have lasted longer than the patience (Limits.Patience), s becomes due only after
// another patience, so that the run does not wait for s.
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
