package frontier

import (
	"math"
	"slices"
	"time"
)

// A past is the state of a site that has had a request, or has a reason to wait. Most sites of
// a crawl of many sites have no past, and wait in the queue for their first turn. There may
// still be millions of sites with a past, so its fields are small. The methods clocks and
// setClocks convert its clocks to and from Clocks.
type past struct {
	due, ended          time.Time // The fields from due to good have the meaning of the fields of Clocks with the same names.
	ttfb, lastTTFB, gap time.Duration

	strikes, refusals, failures, good int32

	spent   Spent
	odd     *odd   // fields that few sites use; nil if all of them are zero
	address string // last address of the site; empty if it was not public

	by, gapBy clockCode
	public    bool
	earlier   bool   // the time ended was set by an earlier run
	shared    bool   // many sites share this past, so begun copies it before a change
	quick     bool   // the last page of the site came quickly: see reserve
	took      uint16 // decaying mean of the duration of a visit, in milliseconds; 0: no visit in this run
}

// An odd holds those fields of a past that few sites use. It is immutable.
type odd struct {
	given      Fate // why the site was given up in this run; zero: it was not given up
	retryAfter time.Time
	by, gapBy  Clock     // clocks that have no clockCode, because the caller of the frontier has defined them
	rest       time.Time // Term.Rest; zero unless an unknown frontier owned the site before
}

// A clockCode is the index of a Clock in clocksByCode.
type clockCode uint8

var clocksByCode = [...]Clock{
	NoClock, OwnClock, CrawlDelayClock, RateClock, VisitTimeClock, AdaptiveClock, RetryAfterClock, BackOffClock, FailuresClock,
	RobotsClock, IPClock, HostClock, DomainClock, MachineClock, SiteClock, RestartClock, RetryClock,
}

const noCode clockCode = math.MaxUint8

// coded returns the code of c and NoClock. If c has no code, coded returns noCode and c: the
// caller of the frontier has defined c.
func coded(c Clock) (clockCode, Clock) {
	if i := slices.Index(clocksByCode[:], c); i >= 0 {
		return clockCode(i), NoClock
	}
	return noCode, c
}

func (c clockCode) clock(other Clock) Clock {
	if c == noCode {
		return other
	}
	return clocksByCode[c]
}

// clocks returns the clocks of s, which are newer than those of the backlog.
func (s *site) clocks() Clocks {
	p := s.past
	if p == nil {
		return Clocks{}
	}
	odd := p.odds()
	return Clocks{
		Due: p.due, By: p.by.clock(odd.by), Ended: p.ended, TTFB: p.ttfb, LastTTFB: p.lastTTFB, Gap: p.gap, GapBy: p.gapBy.clock(odd.gapBy),
		Strikes: int(p.strikes), Refusals: int(p.refusals), Failures: int(p.failures), Good: int(p.good), Public: p.public,
		RetryAfter: odd.retryAfter,
	}
}

// setClocks stores the clocks of s in its past.
func (s *site) setClocks(c Clocks) {
	if s.past == nil && c == (Clocks{}) {
		return
	}
	p := s.begun()
	odd := p.odds()
	p.due, p.ended, p.ttfb, p.lastTTFB, p.gap, p.public = c.Due, c.Ended, c.TTFB, c.LastTTFB, c.Gap, c.Public
	p.strikes, p.refusals, p.failures, p.good = narrow(c.Strikes), narrow(c.Refusals), narrow(c.Failures), narrow(c.Good)
	p.by, odd.by = coded(c.By)
	p.gapBy, odd.gapBy = coded(c.GapBy)
	odd.retryAfter = c.RetryAfter
	p.setOdds(odd)
}

// narrow returns n limited to the range of int32. Real counts of a site are in this range.
func narrow(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// raise moves the due time of s to t, and its clock to by, if t is later than the due time.
func (s *site) raise(t time.Time, by Clock) {
	if due, _ := s.ownDue(); t.After(due) {
		c := s.clocks()
		c.raise(t, by)
		s.setClocks(c)
	}
}

// ownDue returns when s is due by its own clocks, and the clock that sets this time.
func (s *site) ownDue() (time.Time, Clock) {
	if s.past == nil {
		return time.Time{}, NoClock
	}
	return s.past.due, s.past.by.clock(s.past.odds().by)
}

// lastAsked returns the end of the last answer of s, or the zero time if s has had no request.
func (s *site) lastAsked() time.Time {
	if s.past == nil {
		return time.Time{}
	}
	return s.past.ended
}

// public reports whether s was last served at a public address.
func (s *site) public() bool { return s.past != nil && s.past.public }

// resting reports whether s has strikes, which are failures of the site (Clocks.Strikes).
func (s *site) resting() bool { return s.past != nil && s.past.strikes > 0 }

// since returns the end of the last answer of s, if this answer came in an earlier run. The pause
// of s then counts from this time. Otherwise since returns the zero time.
func (s *site) since() time.Time {
	if s.past == nil || !s.past.earlier {
		return time.Time{}
	}
	return s.past.ended
}

// recall sets the past of s from the backlog's state st, when s is added to memory.
func (s *site) recall(st SiteState, now time.Time) {
	st.Clocks.meet(now)
	s.setClocks(st.Clocks)
	s.spend(st.Spent)
	s.give(st.Fate)
	if s.past != nil {
		s.begun().earlier = true
	}
}

// begun returns the past of s, which the caller may change. It makes a past if s has none, and a
// copy if s shares its past.
func (s *site) begun() *past {
	switch {
	case s.past == nil:
		s.past = &past{}
	case s.past.shared:
		own := *s.past
		own.shared = false
		s.past = &own
	}
	return s.past
}

// spent returns the cost of s so far: pages, bytes and time.
func (s *site) spent() Spent {
	if s.past == nil {
		return Spent{}
	}
	return s.past.spent
}

func (s *site) spend(more Spent) {
	if more != (Spent{}) {
		s.begun().spent.add(more)
	}
}

// given reports whether s was given up in this run, so that it gets no more requests.
func (s *site) given() bool { return s.fate().Code != Undecided }

// fate returns why s was given up in this run, or the zero Fate.
func (s *site) fate() Fate {
	if s.past == nil {
		return Fate{}
	}
	return s.past.odds().given
}

// give sets fate as the reason why s is given up. A fate with Code Undecided means that s is not
// given up.
func (s *site) give(fate Fate) {
	if s.past == nil && fate.Code == Undecided {
		return
	}
	p := s.begun()
	odd := p.odds()
	if odd.given = fate; fate.Code == Undecided {
		odd.given = Fate{}
	}
	p.setOdds(odd)
}

func (p *past) odds() odd {
	if p.odd == nil {
		return odd{}
	}
	return *p.odd
}

func (p *past) setOdds(o odd) {
	switch {
	case o == (odd{}):
		p.odd = nil
	case p.odd == nil || *p.odd != o:
		kept := o // a copy, so that only a past that needs an odd takes the memory for it
		p.odd = &kept
	}
}
