package frontier

import (
	"net/netip"
	"time"
)

// The kinds of commons. A common is a property that several sites can share.
const (
	byAddress = iota // a public address
	byDomain         // a registrable domain
	byHost           // a host name at public addresses: its schemes and ports
	kinds
)

// commons holds all commons of one kind: all addresses, all domains or all host names. For each
// common it keeps how many turns are bound to it, which means that they use it, and when the
// next turn may start. Without commons, a server with a hundred sites would get a hundred
// requests at once.
type commons struct {
	clock Clock
	gap   time.Duration      // between two starts of turns at a common; negative: this kind has no clock
	most  int                // largest number of turns that are bound to a common at the same time
	all   map[string]*common // by address, domain or host name; only forget removes one
	sweep int                // when all has this length, forget removes the unused commons
}

// A common is one address, domain or host name, and its clock.
type common struct {
	busy    int       // turns that are bound to it: enter adds one, leave removes one
	from    time.Time // the start or end of the request from which the pause until free counts
	free    time.Time // no turn may start before this time
	next    time.Time // the earliest start of a turn that is not promised to a site
	waiting []*site   // sites that are parked until a turn of this common ends; they are in no queue
}

// A part is the name of one common of a site, and the time that this common has promised to the
// site as the start of its next turn. Promised starts keep the sites of a common in order.
type part struct {
	name  string // empty: the site has no common of this kind
	start time.Time
}

// part returns the part of s in the commons of a kind: its last address, its domain or its host
// name.
func (f *Frontier) part(s *site, kind int) part {
	p := part{start: s.work().starts[kind]}
	switch {
	case kind == byDomain && f.opts.DomainDelay > 0:
		p.name = s.name.Domain()
	case kind == byHost && s.public():
		p.name = s.name.Host()
	case kind == byAddress && s.past != nil:
		p.name = s.past.address
	}
	return p
}

// promise stores the start that the common of the given kind has promised to s.
func (s *site) promise(kind int, start time.Time) {
	if s.doing != nil || !start.IsZero() {
		s.atWork().starts[kind] = start
	}
}

func newCommons(clock Clock, gap time.Duration, most int) commons {
	return commons{clock: clock, gap: gap, most: most, all: map[string]*common{}, sweep: 1024}
}

// promise sets own.start to the time, now or later, at which the common permits a turn of a
// site. The parameter own is the part of this site. If own has no start yet, it gets the next
// start that was not promised to another site. If the pause of c has become longer since an
// earlier promise, own.start moves to c.free.
func (c *common) promise(own *part, now time.Time, gap time.Duration) {
	if own.start.IsZero() {
		own.start = now
		if c.next.After(now) {
			own.start = c.next
		}
		c.next = own.start.Add(gap)
	}
	if own.start.Before(c.free) {
		own.start = c.free
	}
}

// admit reports whether the common that own names permits a turn of s now. If this common
// already has its largest number of turns, admit parks s until one of them ends. Otherwise, if
// the turn is not permitted yet, admit sets a later own.start.
func (cs *commons) admit(s *site, own *part, now time.Time) bool {
	if own.name == "" {
		return true
	}
	c := cs.get(own.name)
	if c.busy >= cs.most {
		c.waiting = append(c.waiting, s)
		s.place = placeParked
		return false
	}
	c.promise(own, now, cs.gap)
	return !own.start.After(now)
}

// may returns nil if a turn may be bound now to the common that own names, or else a *NotYet.
func (cs *commons) may(own *part, now time.Time) error {
	if own.name == "" {
		return nil
	}
	c := cs.get(own.name)
	if c.busy >= cs.most {
		return &NotYet{By: cs.clock}
	}
	c.promise(own, now, cs.gap)
	if own.start.After(now) {
		return &NotYet{cs.clock, own.start}
	}
	return nil
}

// enter binds a turn to the common that own names, and returns the pause of this common before
// the turn. The caller must have called the method may before, and that call must have returned
// nil.
func (cs *commons) enter(own *part) (p Pause) {
	if own.name == "" {
		return p
	}
	c := cs.get(own.name)
	own.start = time.Time{}
	c.busy++
	if !c.from.IsZero() {
		p = Pause{By: cs.clock, Since: c.from, For: c.free.Sub(c.from)}
	}
	return p
}

// hold makes the named common permit no start of a turn before the time in free, unless a later
// time is set already. This pause counts from the time in from, which is the start or the end
// of a request.
func (cs *commons) hold(name string, from, free time.Time) {
	if c := cs.get(name); free.After(c.free) {
		c.from, c.free = from, free
	}
}

// leave ends the binding of one turn to the named common, and returns all sites that were
// parked until a turn of this common ended. It returns all, because a single one of them may
// have no entry left.
func (cs *commons) leave(name string, now time.Time) []*site {
	c := cs.all[name]
	c.busy--
	waiting := c.waiting
	c.waiting = nil
	cs.forget(now)
	return waiting
}

// kept returns the clock of the named common in the form that a backlog stores.
func (cs *commons) kept(name string) CommonClock {
	return CommonClock{string(cs.clock) + " " + name, cs.all[name].free}
}

// restore sets the clock of the named common, which an earlier run has stored. The restored
// pause ends at most one gap after now, independent of the gap of the earlier run. If this run
// has no clock of this kind, restore does nothing.
func (cs *commons) restore(name string, due, now time.Time) {
	if due.After(now.Add(cs.gap)) { // stored by a process whose wall clock was ahead
		due = now.Add(cs.gap)
	}
	if due.After(now) {
		cs.hold(name, due.Add(-cs.gap), due)
	}
}

func (cs *commons) get(name string) *common {
	c := cs.all[name]
	if c == nil {
		c = &common{}
		cs.all[name] = c
	}
	return c
}

// forget removes the commons that are not in use, but only if the number of commons has doubled
// since the last removal.
func (cs *commons) forget(now time.Time) {
	if len(cs.all) < cs.sweep {
		return
	}
	for name, c := range cs.all {
		if c.busy == 0 && len(c.waiting) == 0 && !c.next.After(now) && !c.free.After(now) {
			delete(cs.all, name)
		}
	}
	cs.sweep = max(1024, 2*len(cs.all))
}

// served records the address at which s was served, and whether it is public. They determine
// the commons of s. It requires that f.mu is held.
func (f *Frontier) served(s *site, addr netip.Addr, public bool) {
	if s.public() != public {
		s.begun().public = public
		s.promise(byHost, time.Time{})
	}
	at := ""
	if public && addr.IsValid() && f.commons[byAddress].gap >= 0 {
		at = addr.String()
	}
	if f.part(s, byAddress).name != at {
		s.begun().address = at
		s.promise(byAddress, time.Time{})
	}
}

// bind binds t to the commons of its site. It requires that all these commons have permitted
// the turn (see may), and that f.mu is held.
func (t *Turn) bind(now time.Time) {
	f, s := t.frontier, t.site
	for i := range f.commons {
		cs, own := &f.commons[i], f.part(s, i)
		t.bound[i] = own.name
		t.wait(cs.enter(&own))
		s.promise(i, own.start)
		if i == byAddress && t.bound[i] != "" {
			cs.hold(t.bound[i], now, now.Add(cs.gap))
		}
	}
}

// unbind ends the bindings of t to commons, and queues the sites that were parked until then.
// It requires that f.mu is held, and that the clocks of the turn's site already include its
// request.
func (t *Turn) unbind(now time.Time) {
	f := t.frontier
	for i, name := range t.bound {
		if name == "" {
			continue
		}
		cs := &f.commons[i]
		if i == byHost && t.requested {
			cs.hold(name, t.site.lastAsked(), t.rested)
		}
		for _, s := range cs.leave(name, now) {
			f.unpark(s)
		}
	}
}

// keptCommon moves the clock of the domain, which counts from the end of a turn. It returns the
// clocks of the address and the domain of t's site for the backlog. It requires that f.mu is
// held.
func (t *Turn) keptCommon(now time.Time) []CommonClock {
	var clocks []CommonClock
	f := t.frontier
	if name := t.bound[byAddress]; name != "" {
		clocks = append(clocks, f.commons[byAddress].kept(name))
	}
	if name := t.bound[byDomain]; name != "" {
		f.commons[byDomain].hold(name, now, now.Add(f.commons[byDomain].gap))
		clocks = append(clocks, f.commons[byDomain].kept(name))
	}
	return clocks
}
