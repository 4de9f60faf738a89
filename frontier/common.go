package frontier

import (
	"net/netip"
	"time"
)

// The kinds of commons: properties that several sites can share.
const (
	byAddress = iota // a public address
	byDomain         // a registrable domain
	byHost           // a host name at public addresses: its schemes and ports
	kinds
)

// commons holds all commons of one kind. For each common it keeps how many turns are bound
// to it, and when the next turn may start. Without commons, a server with a hundred sites
// would get a hundred requests at once.
type commons struct {
	clock Clock
	gap   time.Duration      // between two promised starts; negative: there is no such clock
	most  int                // turns at once
	all   map[string]*common // by address, domain or host name; only forget removes one
	sweep int                // the length of all from which forget removes unused ones
}

// A common is one address, domain or host name.
type common struct {
	busy    int       // turns that are bound to it: enter adds one, leave removes one
	from    time.Time // the start or end of a request, from which the pause up to free counts
	free    time.Time // no turn may start before
	next    time.Time // the first start that no site was promised
	waiting []*site   // parked until a turn of this common ends; these sites are in no queue
}

// A part is the name of a site's common, and the start that the common has promised to the
// site.
type part struct {
	name  string // empty: the site has no common of this kind
	start time.Time
}

// part returns what s shares with other sites by a kind of common clock: the last address of s,
// its domain, or its host.
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

// promise stores the start that the common of a kind has promised to s.
func (s *site) promise(kind int, start time.Time) {
	if s.doing != nil || !start.IsZero() {
		s.atWork().starts[kind] = start
	}
}

func newCommons(clock Clock, gap time.Duration, most int) commons {
	return commons{clock: clock, gap: gap, most: most, all: map[string]*common{}, sweep: 1024}
}

// promise sets own.start, to now or later. If own has no start yet, it gets the next one
// that no site was promised. If the pause of c has become longer since an earlier promise,
// the start is postponed to c.free.
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

// admit reports whether the common of own permits a turn of s now. If not, admit either
// parks s, because the common has its maximum of turns, or sets a later own.start.
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

// may returns a *NotYet if a turn may not be bound to the common of own now, or else nil.
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

// enter binds a turn to the common of own, and returns the pause before the turn. Before it,
// may must have permitted the turn.
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

// hold permits no start before the time free. The pause up to free counts from the time
// from, which is the start or the end of a request.
func (cs *commons) hold(name string, from, free time.Time) {
	if c := cs.get(name); free.After(c.free) {
		c.from, c.free = from, free
	}
}

// leave ends the binding of one turn and returns all sites that waited for it. One site
// would not be enough, because it may have no entry left.
func (cs *commons) leave(name string, now time.Time) []*site {
	c := cs.all[name]
	c.busy--
	waiting := c.waiting
	c.waiting = nil
	cs.forget(now)
	return waiting
}

// kept returns the clock of a name in the form that a backlog keeps.
func (cs *commons) kept(name string) CommonClock {
	return CommonClock{string(cs.clock) + " " + name, cs.all[name].free}
}

// restore sets a clock that an earlier run has kept. The pause ends at most one gap of this
// run after now. If this run has no clock of this kind, restore does nothing.
func (cs *commons) restore(name string, due, now time.Time) {
	if due.After(now.Add(cs.gap)) { // kept by a clock that ran ahead
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

// forget removes the commons that are not in use, if their number has doubled since the
// last removal.
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

// served sets the address of a site, and whether it is public, which determine its
// commons. It requires that mu is held.
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
// the turn, and that mu is held.
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

// unbind ends the bindings of t and queues the sites that waited for them. It requires
// that mu is held, and that the clocks of the site have moved.
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

// keptCommon moves the clock of the domain, which counts from the end of a turn, and
// returns the clocks of the address and the domain for the backlog. It requires that mu
// is held.
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
