package frontier

import (
	"math"
	"time"
)

// motion counts everything that is under way. Only begun and submitted start something. The field
// activity increases in begun, submitted and settled.
type motion struct {
	out      int    // turns that Next has handed out and Finish has not ended
	pages    int    // those turns of out whose entry may become a page that counts for the limits (spot.page)
	hops     int    // turns that Hop has handed out and Finish has not ended
	closing  int    // sites that a call of Done or a search of the backlog has taken (placeOut), without a turn
	pending  int    // calls of Submit that have not settled yet; see Growth.Settled
	reading  int64  // bytes that the turns that are out have received so far, as counted by Received
	activity uint64 // how often something has started or settled; it never decreases
	grown    uint64 // the highest Growth.Number that was absorbed
}

// begun increases the counter that kind points to, one of the fields of m.
func (m *motion) begun(kind *int) { *kind++; m.activity++ }

// mayBePage counts the turn for which s was picked, because the entry of the turn may become a
// page that counts for the limits. If s is shut (it gets no more requests for pages), mayBePage
// does nothing.
func (f *Frontier) mayBePage(s *site) {
	if s.page = !f.shut(s); s.page {
		f.pages++
	}
}

// isNoPage reverts mayBePage. It is called when the turn has ended, or when it is clear that the
// entry of the turn will not become a page.
func (f *Frontier) isNoPage(s *site) {
	if !s.page {
		return
	}
	full, _ := f.full()
	s.page = false
	f.pages--
	if full {
		f.kickLocked()
	}
}

// submitted counts a completion that the caller is about to submit to the backlog.
func (m *motion) submitted() { m.pending++; m.activity++ }

// settled subtracts the calls of Submit that have settled according to g.
func (m *motion) settled(g Growth) { m.pending -= g.Settled; m.activity++ }

// still reports whether nothing is under way that could bring new entries. Turns handed out by Hop
// are not counted: each of them ends before the turn on which Hop was called.
func (m *motion) still() bool { return m.out == 0 && m.closing == 0 && m.pending == 0 }

// A Rest says whether anything is under way in a frontier. The frontier is at rest if Out, Pending
// and Held are 0.
//
// If a frontier returns two Rests with the same Activity, and was at rest both times, nothing has
// happened between them. A crawl on several frontiers that send each other links can detect its
// end in three steps. It sees that all frontiers are at rest, then that no message is in transit,
// and then that all frontiers are at rest with the same Activity as in the first step. After that
// nothing happens before the earliest NextDue.
type Rest struct {
	Out      int       // turns that are out, including turns handed out by Hop
	Pending  int       // calls of Submit that have not settled yet; they may still bring new entries
	Held     int       // held entries for which Done was not called yet
	Activity uint64    // a number that increases with each turn, each Add and each growth of the backlog
	Grown    uint64    // the Number of the last Growth that this Rest includes; a later one may bring entries
	NextDue  time.Time // when the first site with an entry to request is due; may be past; zero if no site has one
	NextBy   Clock     // the clock that this first site waits for
	Spent    Spent     // cost of all requests of this frontier so far
	// Verdict is the error with which Next would end the run now if Limits.Open were not set:
	// ErrEnd, ErrUnasked, ErrPatience or ErrLimit. It is nil if the run would continue. After the
	// end of the run it is the error that Next returns.
	Verdict error
}

// Rest returns the current Rest. It holds one lock for a short time, and absorbs a growth
// of the backlog itself, so no goroutine need wait in Next.
func (f *Frontier) Rest() Rest {
	f.absorbGrown()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := Rest{Out: f.out + f.hops, Pending: f.pending + f.closing, Held: f.held, Activity: f.activity, Verdict: f.verdict(f.now()), Spent: f.spent, Grown: f.grown}
	if s := f.first(); s != nil {
		r.NextDue, r.NextBy = s.due, f.by(s)
		if r.NextDue.IsZero() { // the first site has had no request, so it is due now
			r.NextDue = f.opened
		}
	}
	return r
}

// verdict returns Rest.Verdict. It requires that f.mu is held.
func (f *Frontier) verdict(now time.Time) error {
	if f.err != nil {
		return f.err
	}
	if _, used := f.full(); used {
		return ErrLimit
	}
	wait := time.Duration(math.MaxInt64)
	if s := f.first(); s != nil {
		wait = s.due.Sub(now) // 0 or negative if s is ready or unsearched
	}
	if f.limits.Paused || !f.still() || f.held > 0 || wait <= 0 || !f.impatient(wait) {
		return nil
	}
	return f.ended()
}
