package frontier

import (
	"math"
	"slices"
	"time"
)

// A past is what is known of a site that was asked, or has a reason to wait. Most sites
// of a wide crawl have none, and wait in the queue for their first turn; there may be
// millions of them, and of those with a past, so that it is packed. clocks and setClocks
// are the only way to its clocks.
type past struct {
	due, ended          time.Time // of Clocks, as all up to by
	ttfb, lastTTFB, gap time.Duration

	strikes, refusals, failures, good int32

	spent   Spent
	odd     *odd   // nil: nothing
	address string // the public one where it was served last; empty: none that counts

	by, gapBy clockCode
	public    bool
	earlier   bool   // ended is of an earlier run: due is counted from there
	shared    bool   // many sites have this one: begun makes a copy for who gets another
	quick     bool   // its last page came quickly: see reserve
	took      uint16 // decaying mean of how long a visit takes, in milliseconds; 0: there was none in this run
}

// An odd is what few sites with a past have. It is never changed.
type odd struct {
	given      Fate // why it is not asked any more in this run; zero: it is
	retryAfter time.Time
	by, gapBy  Clock // where these have no code
}

// A clockCode is the place of a Clock in clocksByCode.
type clockCode uint8

var clocksByCode = [...]Clock{
	NoClock, OwnClock, CrawlDelayClock, RateClock, VisitTimeClock, AdaptiveClock, RetryAfterClock, BackOffClock, FailuresClock,
	RobotsClock, IPClock, HostClock, DomainClock, MachineClock, SiteClock, RestartClock, RetryClock,
}

const noCode clockCode = math.MaxUint8

// coded is the code of c, or what it has none for: who waits for a clock of his own may
// call it what he likes.
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

// clocks are those of s: newer than what the backlog knows.
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

// setClocks keeps what the clocks of s have come to.
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

// narrow is n, or as much of it as is kept: no site fails that often, or has so much.
func narrow(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// raise moves the due time of s to t if that is later.
func (s *site) raise(t time.Time, by Clock) {
	if due, _ := s.ownDue(); t.After(due) {
		c := s.clocks()
		c.raise(t, by)
		s.setClocks(c)
	}
}

// ownDue is when s may be asked by its own clocks, and the one that says so.
func (s *site) ownDue() (time.Time, Clock) {
	if s.past == nil {
		return time.Time{}, NoClock
	}
	return s.past.due, s.past.by.clock(s.past.odds().by)
}

// lastAsked is the end of its last answer; zero if it was never asked.
func (s *site) lastAsked() time.Time {
	if s.past == nil {
		return time.Time{}
	}
	return s.past.ended
}

// public reports whether s was last served at a public address.
func (s *site) public() bool { return s.past != nil && s.past.public }

// resting reports whether s has asked for rest, and not been forgiven.
func (s *site) resting() bool { return s.past != nil && s.past.strikes > 0 }

// since is what due is counted from, where the last answer is not one of this run.
func (s *site) since() time.Time {
	if s.past == nil || !s.past.earlier {
		return time.Time{}
	}
	return s.past.ended
}

// recall takes in what the backlog knows of a site that comes into memory.
func (s *site) recall(st SiteState, now time.Time) {
	st.Clocks.meet(now)
	s.setClocks(st.Clocks)
	s.spend(st.Spent)
	s.give(st.Fate)
	if s.past != nil {
		s.begun().earlier = true
	}
}

// begun is the past of s, to be changed.
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

// spent is what s has cost.
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

// given reports whether s is not asked any more in this run.
func (s *site) given() bool { return s.fate().Code != Undecided }

// fate is why s is not asked any more in this run.
func (s *site) fate() Fate {
	if s.past == nil {
		return Fate{}
	}
	return s.past.odds().given
}

// give says why s is not asked any more, if it is not.
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
		kept := o // alone takes memory, and only now
		p.odd = &kept
	}
}
