package frontier

import (
	"net/netip"
	"time"
)

// The kinds of commons. A common is an address, domain or host name that several sites share.
const (
	byAddress = iota // a public address
	byDomain         // a registrable domain
	byHost           // a host name at public addresses, with all its schemes and ports
	kinds
)

// commons holds all commons of one kind: all addresses, all domains or all host names. For each
// common it keeps how many turns use the common now, and when the next turn may start. Without
// commons, a server with a hundred sites would get a hundred requests at once.
type commons struct {
	clock Clock
	gap   time.Duration      // least time between two starts of turns at one common; negative: this kind has no clock
	most  int                // largest number of turns that may use one common at the same time
	all   map[string]*common // the commons by address, domain or host name; only forget removes one
	sweep int                // when len(all) reaches sweep, forget removes the unused commons
}

// A common is one address, domain or host name, and its clock.
type common struct {
	busy    int       // number of turns that use it: enter adds one, leave removes one
	from    time.Time // when the pause began that ends at free: the start or end of a request
	free    time.Time // no turn may start before this time
	next    time.Time // the earliest start that was not promised to a site
	waiting []*site   // sites that wait until a turn of this common ends; they are in no queue
}

// A part names one common of a site. It also has the time that this common has promised to the
// site as the start of its next turn. Promised starts keep the sites of a common in order.
type part struct {
	name  string // empty if the site has no common of this kind
	start time.Time
}

// part returns the part of s for one kind of commons. Its name is the last address, the domain or
// the host name of s.
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

// promise sets own.start to the time, now or later, at which the common permits a turn of a site.
// The parameter own is the part of this site. If own has no start yet, it gets the next start that
// was not promised to another site. If the pause of c was extended after an earlier promise,
// own.start moves to c.free.
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

// admit reports whether the common named by own permits a turn of s now. If the common already has
// its largest number of turns, admit parks s until one of these turns ends. If the turn is only
// too early, admit sets a later own.start.
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

// may returns nil if the common named by own permits another turn now, or else a *NotYet.
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

// enter counts one more turn for the common named by own, and returns the pause that this common
// had before the turn. The caller must have called may before, with a nil result.
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

// hold forbids turns at the named common before the time free. A later time that is already set
// stays. The pause counts from the time from, which is the start or the end of a request.
func (cs *commons) hold(name string, from, free time.Time) {
	if c := cs.get(name); free.After(c.free) {
		c.from, c.free = from, free
	}
}

// leave counts one turn less for the named common. It returns all sites that were parked until a
// turn of this common ended. It returns all, because a single one of them may have no entry left.
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

// restore sets the clock of the named common to due, which an earlier run has stored. The restored
// pause ends at most one gap of this run after now. If this run has no clock of this kind, restore
// does nothing.
func (cs *commons) restore(name string, due, now time.Time) {
	if due.After(now.Add(cs.gap)) { // the process that stored due had a wall clock that was ahead
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

// served records the address at which s was served, and whether the address is public. Both
// determine the commons of s. The caller must hold f.mu.
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

// bind counts t as a turn of all commons of its site. All these commons must have permitted the
// turn (see may), and the caller must hold f.mu.
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

// unbind removes t from the commons of its site, and queues the sites that were parked for these
// commons. The caller must hold f.mu, and must have updated the clocks of the turn's site.
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
// clocks of the address and the domain of t's site, to be stored in the backlog. The caller must
// hold f.mu.
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
