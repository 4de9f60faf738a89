package frontier

import (
	"net/netip"
	"time"
)

// addresses keeps the clocks of addresses that several sites share: how many
// turns are bound to one, and when the next may start. Shared hosting must not
// be asked by a hundred of its sites at once.
type addresses struct {
	gap   time.Duration // between two starts
	most  int           // turns at once
	all   map[netip.Addr]*address
	sweep int
}

type address struct {
	busy    int
	last    time.Time // the last start
	next    time.Time // the first start that is not promised to anybody
	waiting []*site   // for a place; they are nowhere else
}

// promise gives s a start, now or later: the next free one, or the one it was
// promised before, put off where the last start came late.
func (a *address) promise(s *site, now time.Time, gap time.Duration) {
	if s.start.IsZero() {
		s.start = now
		if a.next.After(now) {
			s.start = a.next
		}
		a.next = s.start.Add(gap)
	}
	if free := a.last.Add(gap); s.start.Before(free) {
		s.start = free
	}
}

// admit says whether a site may be handed out for what is known of the address
// it was bound to before. If not, the site is parked at the address, or has a
// later start.
func (as *addresses) admit(s *site, now time.Time) bool {
	if !s.addr.IsValid() {
		return true
	}
	a := as.get(s.addr)
	if a.busy >= as.most {
		a.waiting = append(a.waiting, s)
		s.place = placeParked
		return false
	}
	a.promise(s, now, as.gap)
	return !s.start.After(now)
}

// enter binds a turn of s to addr.
func (as *addresses) enter(s *site, addr netip.Addr, now time.Time) error {
	a := as.get(addr)
	if s.addr != addr {
		s.addr, s.start = addr, time.Time{}
	}
	if a.busy >= as.most {
		return &NotYet{By: IPClock}
	}
	a.promise(s, now, as.gap)
	if s.start.After(now) {
		return &NotYet{IPClock, s.start}
	}
	s.start, a.last = time.Time{}, now
	a.busy++
	return nil
}

// leave ends a binding and returns the sites that waited for the place. All of
// them: the first may turn out to have nothing left to ask.
func (as *addresses) leave(addr netip.Addr) []*site {
	a := as.all[addr]
	a.busy--
	waiting := a.waiting
	a.waiting = nil
	return waiting
}

func (as *addresses) get(addr netip.Addr) *address {
	a := as.all[addr]
	if a == nil {
		a = &address{}
		as.all[addr] = a
	}
	return a
}

// forget drops addresses that nobody waits for, when there are twice as many
// as after the last time.
func (as *addresses) forget(now time.Time) {
	if len(as.all) < as.sweep {
		return
	}
	for addr, a := range as.all {
		if a.busy == 0 && len(a.waiting) == 0 && !a.next.After(now) {
			delete(as.all, addr)
		}
	}
	as.sweep = max(1024, 2*len(as.all))
}
