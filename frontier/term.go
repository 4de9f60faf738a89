package frontier

import (
	"context"
	"time"
)

// This file has the unexported part of a frontier that shares its backlog with others: see Term.
// Without Options.Term and Options.Blocked it does nothing.

// taken is a past for sites that came with the same Term.Rest, have had no request in this run and
// have the usual pause. All these sites share one past. The function unasked makes it.
type taken struct {
	rest time.Time // Term.Rest of these sites
	past *past
}

// leaving is the state for sites that change their owner.
type leaving struct {
	terms   map[uint64]bool // numbers of the terms whose first growth was absorbed
	changed chan struct{}   // closed by tellFreed; nil if no call of Withdraw waits
}

// has reports whether this frontier owns the site with the given name.
func (f *Frontier) has(name Site) bool { return f.opts.Term == nil || f.opts.Term(name) != 0 }

// beginTerms records the numbers of terms whose first growth is absorbed.
func (f *Frontier) beginTerms(terms []uint64) {
	if len(terms) > 0 && f.terms == nil {
		f.terms = map[uint64]bool{}
	}
	for _, number := range terms {
		f.terms[number] = true
	}
}

// current reports whether t is the term in which this frontier owns the site now, and whether this
// term has begun. Before a term begins, the clocks that the site shares with others might not be
// known.
func (f *Frontier) current(name Site, t *Term) bool {
	if f.opts.Term == nil {
		return true
	}
	number := f.opts.Term(name)
	return number != 0 && t != nil && t.Number == number && f.terms[number]
}

// drain adds n to the number of sites that had a request and are no longer in memory. Sites that
// change their owner are not counted, because another frontier may have made the request.
func (f *Frontier) drain(n int) {
	if f.opts.Term == nil {
		f.drained += n
	}
}

// takeOver records for s, which is new in memory, until when an unknown frontier may have sent it
// a request. The parameter t is the term of the site's state, or nil.
func (f *Frontier) takeOver(s *site, t *Term) {
	if t == nil || t.Rest.IsZero() {
		return
	}
	if f.taken.past == nil || !f.taken.rest.Equal(t.Rest) {
		rest := live(t.Rest, f.now())
		f.taken = taken{t.Rest, unasked(rest, f.opts.Delay)}
		f.taken.past.odd = &odd{rest: rest}
	}
	shared := f.taken.past
	switch {
	case s.past == nil && f.delay(s) == f.opts.Delay:
		s.past = shared
	case s.past == nil || s.past.odd == nil:
		s.begun().odd = shared.odd
	default:
		odd := s.past.odds()
		odd.rest = shared.odd.rest
		s.past.setOdds(odd)
	}
}

// unknownUntil returns the time until which an unknown frontier may have sent s a request, or
// the zero time.
func (s *site) unknownUntil() time.Time {
	if s.past == nil || s.past.odd == nil {
		return time.Time{}
	}
	return s.past.odd.rest
}

// restUnknown makes s, its host and its domain rest their full pause. The pause counts from the
// time rest, until which an unknown frontier may have sent s a request.
func (f *Frontier) restUnknown(s *site, rest time.Time) {
	c := s.clocks()
	gap, _ := c.steady(f.delay(s))
	s.raise(rest.Add(gap), RestartClock)
	now := f.now()
	if free := rest.Add(max(gap, PublicFloor)); free.After(now) { // the clock of a host name counts only at public addresses
		f.commons[byHost].hold(s.name.Host(), rest, free)
	}
	if free := rest.Add(f.opts.DomainDelay); f.opts.DomainDelay > 0 && free.After(now) {
		f.commons[byDomain].hold(s.name.Domain(), rest, free)
	}
}

// withdraw removes the sites that this frontier does not own, and returns those that are still in
// use. The caller must hold f.mu. If there are many sites, withdraw unlocks and locks f.mu several
// times.
func (f *Frontier) withdraw() (busy []*site) {
	if f.opts.Term == nil {
		return nil
	}
	n := 0
	for name, s := range f.sites {
		if !f.has(name) {
			if !f.evict(s) {
				busy = append(busy, s)
			}
		} else if o := s.work().wants; o != nil && !f.has(o.name) {
			// Otherwise s would wait for a site that is no longer in memory.
			f.unqueue(s)
			s.want(nil)
			f.queue(s)
		}
		if n++; n%somePage == 0 { // let other goroutines continue
			f.mu.Unlock()
			f.mu.Lock()
		}
	}
	f.kickLocked()
	return busy
}

// evict removes s from memory and returns true. It returns false if a turn, a search or a call of
// Done has s, or an entry of s is held. Parked sites may be removed: unpark ignores them later.
func (f *Frontier) evict(s *site) bool {
	w := s.work()
	switch {
	case f.sites[s.name] != s:
		return true // the site was already removed
	case s.place == placeOut || w.held > 0:
		return false
	}
	f.unqueue(s)
	f.count(s, 0)
	s.want(nil)
	f.entries -= int(s.queued)
	f.again -= w.again
	f.ahead -= len(w.ahead)
	delete(f.sites, s.name)
	return true
}

// freed returns a channel that tellFreed closes. The caller must hold f.mu.
func (f *Frontier) freed() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// tellFreed wakes the calls of Withdraw after a turn or a held entry has ended. The caller must
// hold f.mu.
func (f *Frontier) tellFreed() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// blocked returns the result of Options.Blocked.
func (f *Frontier) blocked() <-chan struct{} {
	if f.opts.Blocked == nil {
		return nil
	}
	return f.opts.Blocked()
}

// waitUnblocked waits while Options.Blocked forbids requests, at most until ctx or the run ends.
func (f *Frontier) waitUnblocked(ctx context.Context) {
	for {
		changed := f.blocked()
		if changed == nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-f.over:
			return
		}
	}
}

// putBack ends a turn that Next has made but not returned. The entry is handed out again later.
// The turn's token of Limits.Rate is not given back, so that blocked requests do not all start at
// once later.
func (t *Turn) putBack() {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	t.finished = true
	w := t.site.atWork()
	w.ahead = append([]Entry{t.entry}, w.ahead...)
	f.ahead++
	f.release(t, f.now())
	f.kickLocked()
}
