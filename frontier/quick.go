package frontier

import (
	"math"
	"time"
)

// Some turns are kept back for quick sites. Otherwise sites that answer slowly, or not at all,
// would soon have all turns that Limits.Turns allows, and the other sites would wait until the
// slow requests time out. A site without a page request so far may be slow, too. Such sites share
// the turns that are not kept back with the slow sites. A crawl without slow visits keeps no turns
// back.
//
// The duration of visits is kept only in memory: each run measures it again.

const (
	quickVisit = 3 * time.Second // longest visit of a quick site
	shortRest  = time.Minute     // no turns are kept back for a site that rests longer, because it loses little by waiting
	slowTimes  = 5 * time.Minute // how long turns are kept back after a slow visit; no visit takes that long
)

// A reserve has the numbers that decide how many turns are kept back for quick sites, and
// whether a site that is not quick may have another turn.
type reserve struct {
	quick  int           // quick sites that have entries to request and rest at most shortRest
	need   int           // turns that the quick sites use on average, in thousandths: the sum of spot.need
	unsure int           // turns that are out for sites that are not quick
	slow   time.Time     // end of the last slow visit
	took   time.Duration // duration of the last slow visit
}

// kept returns how many turns are kept back for quick sites, if the crawl has the given number
// of turns: one more than the quick sites use on average, but at most one for each quick site,
// and at most half of all turns.
func (r *reserve) kept(turns int) int {
	return min(turns/2, r.quick, (r.need+999)/1000+1)
}

// unsureMay reports whether a site that is not quick may have a turn now. If the crawl has only
// one turn, slow sites do not get it after a slow visit, for as long as that visit took. So slow
// sites have the turn for at most half of the time.
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

// unsureAfter returns for how long the only turn of the crawl is still kept back.
func (f *Frontier) unsureAfter(now time.Time) time.Duration {
	return f.reserve.slow.Add(f.reserve.took).Sub(now)
}

// upNext returns the first site that is ready and may have a turn, or nil.
func (f *Frontier) upNext(now time.Time) *site {
	if len(f.unsureReady.sites) > 0 && f.unsureMay(now) {
		return f.head()
	}
	if len(f.ready.sites) > 0 {
		return f.ready.sites[0]
	}
	return nil
}

// count records in r which share of the turns s needs as a quick site. The parameter need is the
// result of s.needs, or 0 if s has no entry to request.
func (r *reserve) count(s *site, need uint16) {
	r.need += int(need) - int(s.need)
	if s.need > 0 {
		r.quick--
	}
	if s.need = need; need > 0 {
		r.quick++
	}
}

// needs returns how much of a turn s uses on average, in thousandths and at least 1. It returns
// 0 if s is not quick, or rests longer than shortRest.
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

// quick reports whether s answered quickly when its last page was requested.
func (s *site) quick() bool { return s.past != nil && s.past.quick }

// promising reports whether only the robots.txt of s was requested so far, and its answer came
// quickly.
func (s *site) promising() bool {
	return s.past != nil && !s.past.quick && s.past.took > 0 && s.past.took <= uint16(quickVisit/time.Millisecond)
}

// visited records how long the turn t had its site. The parameter decided says that the visit
// decided the entry. Only then can the site become quick, because the time for a robots.txt says
// little about pages. A visit without a request counts only if it was long. The caller must hold
// f.mu.
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
	// One slow visit among quick ones does not make a site slow, and one quick visit makes
	// a slow site quick.
	if slow := min(last, mean) > int(quickVisit.Milliseconds()); slow || decided {
		p.quick = !slow
	}
	if took > quickVisit {
		f.reserve.slow, f.reserve.took = now, took
	}
}
