package frontier

import (
	"strings"
	"time"
)

// recall loads the sites of the backlog that have entries left or still rest. If the wall clock
// was wrong, Clocks.meet shifts the end of a pause. If such a pause is longer than a minute,
// recall returns a completion that saves the new end. Otherwise each of several short runs would
// shift the end again, and the pause would never end.
func (f *Frontier) recall() (moved []Completion, err error) {
	for st, err := range f.backlog.Sites() {
		if err != nil {
			return moved, err
		}
		if st.Term != nil {
			f.beginTerms([]uint64{st.Term.Number})
		}
		if !f.current(st.Site, st.Term) {
			continue
		}
		f.spent.add(st.Spent)
		f.done += st.Known - st.Left()
		if !st.Clocks.Ended.IsZero() {
			f.drain(1)
		}
		// A site that an earlier run has given up is tried again.
		st.Fate, st.Clocks.Refusals = Fate{}, 0
		met := st.Clocks
		again := met.meet(f.opened) && met.Due.After(f.opened.Add(time.Minute))
		if st.Left() > 0 || again || st.Clocks.Due.After(f.opened) {
			f.learn(st)
		}
		if again {
			moved = append(moved, Completion{Site: st.Site, Clocks: met, Spent: st.Spent})
		}
	}
	return moved, nil
}

// restore reads the clocks that several sites share from the backlog.
func (f *Frontier) restore() error {
	for c, err := range f.backlog.Common() {
		if err != nil {
			return err
		}
		f.restoreCommon(c, f.opened)
	}
	return nil
}

// restoreCommon sets a clock that several sites share to the value stored in the backlog.
func (f *Frontier) restoreCommon(c CommonClock, now time.Time) {
	kind, name, _ := strings.Cut(c.Name, " ")
	switch Clock(kind) {
	case IPClock:
		f.commons[byAddress].restore(name, live(c.Due, now), now)
	case DomainClock:
		f.commons[byDomain].restore(name, live(c.Due, now), now)
	}
}

// absorbGrown absorbs a growth of the backlog, unless a leader (see keeper) does this. Growths
// that are not absorbed are merged. The merged growth would become large while Add adds many
// entries.
func (f *Frontier) absorbGrown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.led {
		return
	}
	select {
	case g := <-f.backlog.Grown():
		f.absorb(g)
	default:
	}
}

// site returns the site with the given name, and adds it if it is not in memory.
func (f *Frontier) site(name Site) *site {
	s := f.sites[name]
	if s == nil {
		s = f.newSite(name)
	}
	return s
}

func (f *Frontier) newSite(name Site) *site {
	s := &site{name: name}
	f.sites[name] = s
	return s
}

// unasked returns one past for all sites that have had no request and have the usual pause. This
// past makes a site rest for the pause, counted from a restart after a crash. If there was no such
// restart, unasked returns nil.
func unasked(restarted time.Time, delay time.Duration) *past {
	if restarted.IsZero() {
		return nil
	}
	s := &site{}
	s.raise(restarted.Add(delay), RestartClock)
	s.past.shared = true
	return s.past
}

// restart makes s rest its full pause. The pause counts from the last restart after a crash, or
// from the time until which an unknown frontier may have sent a request (Term.Rest). The length of
// the pause depends on the limits of s, as far as they are known.
func (f *Frontier) restart(s *site) {
	if rest := s.unknownUntil(); !rest.IsZero() {
		f.restUnknown(s, rest)
	}
	if f.opts.Restarted.IsZero() {
		return
	}
	gap := f.delay(s)
	if s.past == nil && gap == f.opts.Delay {
		s.past = f.unasked
		return
	}
	c := s.clocks()
	gap, _ = c.steady(gap)
	s.raise(f.opts.Restarted.Add(gap), RestartClock)
}

// holdHost makes all sites with the host name of s wait until s has rested after its last answer.
// The last answer may have come in an earlier run.
func (f *Frontier) holdHost(s *site) {
	if !s.public() {
		return
	}
	clocks := s.clocks()
	if free := clocks.rested(s.name, f.delay(s)); free.After(f.now()) {
		f.commons[byHost].hold(s.name.Host(), clocks.Ended, free)
	}
}

// absorb applies a growth of the backlog. It requires that mu is held.
func (f *Frontier) absorb(g Growth) {
	f.settled(g)
	f.grown = max(f.grown, g.Number)
	if g.Err != nil {
		f.broken = true
		f.fail(g.Err)
	}
	f.beginTerms(g.Terms)
	for _, c := range g.Common {
		f.restoreCommon(c, f.now())
	}
	for _, st := range g.Sites {
		if f.current(st.Site, st.Term) {
			f.learn(st)
			f.leave(st)
		}
	}
	if f.opts.Credit != nil {
		f.turnover()
	}
	f.kickLocked()
}

// leave removes a site from memory, if the site has no queued entry, no turn or other site needs
// it, and the backlog has its current clocks.
func (f *Frontier) leave(st SiteState) {
	s := f.sites[st.Site]
	if w := s.work(); s.left() > 0 || s.place != placeIdle || w.wants != nil || w.wantedBy > 0 || s.given() {
		return
	}
	due, by := s.ownDue()
	// A rest that counts from Term.Rest is stored in the state's Term, not in its clocks.
	known := st.Clocks.Due.Equal(due) || by == RestartClock && !s.unknownUntil().IsZero()
	if !known || !st.Clocks.Ended.Equal(s.lastAsked()) {
		return
	}
	delete(f.sites, s.name)
	if !s.lastAsked().IsZero() {
		f.drain(1)
	}
}

// learn applies st, the state of a site in the backlog. If the site is already in memory, its
// clocks in memory are newer, so learn updates only the site's stock.
func (f *Frontier) learn(st SiteState) {
	s := f.sites[st.Site]
	if s == nil {
		s = f.newSite(st.Site)
		if !st.Clocks.Ended.IsZero() {
			f.drain(-1)
		}
		s.recall(st, f.now())
		f.takeOver(s, st.Term)
		f.restart(s)
		f.slow(s)
		f.holdHost(s)
	}
	queued := narrow(st.Queued)
	f.entries += int(queued) - int(s.queued)
	f.again += st.Again - s.work().again
	s.queued = queued
	s.setAgain(st.Again, st.NextAgain)
	s.more = s.more || st.Ready
	s.head = st.Head
	s.setRetry(f.meetEntry(st.Waiting, f.now()), st.Waiting)
	s.setRequisites(requisites{})
	if s.left() == 0 {
		s.more = false // all entries, including those that were read, have ended
	}
	f.queue(s)
}
