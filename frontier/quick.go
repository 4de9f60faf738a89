package frontier

import (
	"math"
	"time"
)

// Here turns are kept back for sites that are quick. Sites that answer slowly, or not at
// all, would otherwise soon have all turns that Limits.Turns allows, and the others would
// wait until those time out. Sites whose pages were never requested may turn out to be slow,
// and share the rest of the turns with them. A crawl without slow visits keeps nothing back.
//
// How long the visits of a site take is kept in memory alone: each run finds it out anew.

const (
	quickVisit = 3 * time.Second // longest visit of a site that is quick
	shortRest  = time.Minute     // a site that rests for longer loses little if it waits for a turn, too
	slowTimes  = 5 * time.Minute // for so long after a slow visit turns are kept back: longer than a visit takes
)

// A reserve is what is kept back for quick sites, and what the others have.
type reserve struct {
	quick  int           // quick sites that have something to be asked and rest for no longer than shortRest
	need   int           // turns that these use on average, in thousandths: the sum of site.need
	unsure int           // turns that are out of sites that are not quick
	slow   time.Time     // the last slow visit ended
	took   time.Duration // that it took
}

// kept is how many of some turns are kept back: one more than quick sites use on average,
// but at most one for each of them, and half of all.
func (r *reserve) kept(turns int) int {
	return min(turns/2, r.quick, (r.need+999)/1000+1)
}

// unsureMay reports whether a site that is not quick may have a turn. Of a single turn half
// of the time is kept back: as much as the last slow visit took.
func (f *Frontier) unsureMay(now time.Time) bool {
	switch turns := f.limits.Turns; {
	case turns == 0 || f.reserve.quick == 0 || now.Sub(f.reserve.slow) > slowTimes:
		return true
	case turns == 1:
		return f.unsureAfter(now) <= 0
	default:
		return f.unsure < turns-f.kept(turns)
	}
}

// unsureAfter is how long a single turn is kept back.
func (f *Frontier) unsureAfter(now time.Time) time.Duration {
	return f.reserve.slow.Add(f.reserve.took).Sub(now)
}

// upNext is the site that goes first of those that are ready and may have a turn; nil if
// there is none.
func (f *Frontier) upNext(now time.Time) *site {
	if len(f.unsureReady.sites) > 0 && f.unsureMay(now) {
		return f.head()
	}
	if len(f.ready.sites) > 0 {
		return f.ready.sites[0]
	}
	return nil
}

// count notes what s needs of the turns that are kept back; 0: nothing.
func (r *reserve) count(s *site, need uint16) {
	r.need += int(need) - int(s.need)
	if s.need > 0 {
		r.quick--
	}
	if s.need = need; need > 0 {
		r.quick++
	}
}

// needs is how much of a turn s uses on average, in thousandths, at least 1; 0 if it is not
// quick, or rests for long.
func (s *site) needs() uint16 {
	if !s.quick() {
		return 0
	}
	rest := s.due.Sub(s.past.ended)
	if rest > shortRest {
		return 0
	}
	took, pause := int(s.past.took), int(max(rest, 0).Milliseconds())
	return uint16(max(1, 1000*took/(took+pause)))
}

// quick reports whether s was quick when its last page was requested.
func (s *site) quick() bool { return s.past != nil && s.past.quick }

// promising reports whether s was not slow, and only its robots.txt was requested.
func (s *site) promising() bool {
	return s.past != nil && !s.past.quick && s.past.took > 0 && s.past.took <= uint16(quickVisit/time.Millisecond)
}

// visited notes how long a visit has taken, and whether it has decided the entry: what a
// site serves a robots.txt with says little of its pages. A visit without a request says
// nothing, unless it was long. It requires that mu is held.
func (f *Frontier) visited(t *Turn, decided bool, now time.Time) {
	took := now.Sub(t.began)
	if !t.requested && took <= quickVisit {
		return
	}
	p := t.site.begun()
	last := int(min(took.Milliseconds()+1, math.MaxUint16))
	mean := last
	if p.took > 0 {
		mean = int(p.took) + (last-int(p.took))/4
	}
	p.took = uint16(mean)
	// One slow visit among quick ones is forgiven, and a slow past is by a quick visit.
	if slow := min(last, mean) > int(quickVisit.Milliseconds()); slow || decided {
		p.quick = !slow
	}
	if took > quickVisit {
		f.reserve.slow, f.reserve.took = now, took
	}
}
