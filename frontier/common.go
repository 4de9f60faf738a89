package frontier

import (
	"time"
)

// commons keeps the clocks of what several sites share, addresses or
// registrable domains: how many turns are bound to one, and when the next may
// start. Shared hosting must not be asked by a hundred of its sites at once.
type commons struct {
	clock   Clock
	gap     time.Duration // between two starts
	fromEnd bool          // and between the end of one and the start of the next
	most    int           // turns at once
	all     map[string]*common
	sweep   int
}

type common struct {
	busy    int
	last    time.Time // the last start, or end
	next    time.Time // the first start that is not promised to anybody
	waiting []*site   // for a place; they are nowhere else
}

// A share is a site's part in a common: which one, and the start that it was
// promised there.
type share struct {
	name  string // empty: none
	start time.Time
}

func newCommons(clock Clock, gap time.Duration, most int) commons {
	return commons{clock: clock, gap: gap, most: most, all: map[string]*common{}, sweep: 1024}
}

// promise gives sh a start, now or later: the next free one, or the one it was
// promised before, put off where the last start came late.
func (c *common) promise(sh *share, now time.Time, gap time.Duration) {
	if sh.start.IsZero() {
		sh.start = now
		if c.next.After(now) {
			sh.start = c.next
		}
		c.next = sh.start.Add(gap)
	}
	if free := c.last.Add(gap); sh.start.Before(free) {
		sh.start = free
	}
}

// admit says whether a site may be handed out for what is known of its share.
// If not, the site is parked, or has a later start.
func (cs *commons) admit(s *site, sh *share, now time.Time) bool {
	if sh.name == "" {
		return true
	}
	c := cs.get(sh.name)
	if c.busy >= cs.most {
		c.waiting = append(c.waiting, s)
		s.place = placeParked
		return false
	}
	c.promise(sh, now, cs.gap)
	return !sh.start.After(now)
}

// may says whether a turn may be bound to what sh names.
func (cs *commons) may(sh *share, now time.Time) error {
	c := cs.get(sh.name)
	if c.busy >= cs.most {
		return &NotYet{By: cs.clock}
	}
	c.promise(sh, now, cs.gap)
	if sh.start.After(now) {
		return &NotYet{cs.clock, sh.start}
	}
	return nil
}

// enter binds a turn that may be bound.
func (cs *commons) enter(sh *share, now time.Time) {
	c := cs.get(sh.name)
	sh.start, c.last = time.Time{}, now
	c.busy++
}

// leave ends a binding and returns the sites that waited for the place. All of
// them: the first may turn out to have nothing left to ask.
func (cs *commons) leave(name string, now time.Time) []*site {
	c := cs.all[name]
	c.busy--
	if cs.fromEnd {
		c.last = now
	}
	waiting := c.waiting
	c.waiting = nil
	cs.forget(now)
	return waiting
}

// kept is the clock of a name, as a backlog keeps it.
func (cs *commons) kept(name string, now time.Time) CommonClock {
	last := cs.all[name].last
	if cs.fromEnd {
		last = now
	}
	return CommonClock{string(cs.clock) + " " + name, last.Add(cs.gap)}
}

// restore sets a clock that was kept.
func (cs *commons) restore(name string, due, now time.Time) {
	if due.After(now.Add(cs.gap)) { // kept by a clock that ran ahead
		due = now.Add(cs.gap)
	}
	if due.After(now) {
		cs.get(name).last = due.Add(-cs.gap)
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

// forget drops what nobody waits for, when there is twice as much as after the
// last time.
func (cs *commons) forget(now time.Time) {
	if len(cs.all) < cs.sweep {
		return
	}
	for name, c := range cs.all {
		if c.busy == 0 && len(c.waiting) == 0 && !c.next.After(now) && !c.last.Add(cs.gap).After(now) {
			delete(cs.all, name)
		}
	}
	cs.sweep = max(1024, 2*len(cs.all))
}
