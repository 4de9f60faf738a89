package frontier

import (
	"math"
	"time"
)

// motion counts what is under way. Only begun and submitted start something. These two and
// settled increase activity.
type motion struct {
	out      int    // turns handed out by Next and not finished
	pages    int    // those turns of out whose entry may become a page that counts for the limits (site.page)
	hops     int    // turns made by Hop and not finished
	closing  int    // sites whose place is placeOut for a Done or a search, without a turn
	pending  int    // calls of Submit that have not settled yet; see Growth.Settled
	reading  int64  // bytes of the answers of turns that are out, counted by Received
	activity uint64 // how often something has started or settled; it never decreases
	grown    uint64 // the highest Growth.Number that was absorbed
}

// begun adds one to a counter of m, to which kind points.
func (m *motion) begun(kind *int) { *kind++; m.activity++ }

// mayBePage counts the turn for which s was picked, because the entry of the turn may become a
// page that counts for the limits. If s is shut (see the method shut), it gets no more requests
// for pages, so the turn is not counted.
func (f *Frontier) mayBePage(s *site) {
	if s.page = !f.shut(s); s.page {
		f.pages++
	}
}

// isNoPage takes back the count of mayBePage. It is called when the turn has ended, or when the
// entry of the turn is known to be no page.
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

// submitted counts a completion that the caller will submit to the backlog.
func (m *motion) submitted() { m.pending++; m.activity++ }

// settled subtracts the submits that have settled, as g says.
func (m *motion) settled(g Growth) { m.pending -= g.Settled; m.activity++ }

// still reports whether nothing is under way that could bring new entries. Turns made by
// Hop are not counted: each ends before the turn that made it.
func (m *motion) still() bool { return m.out == 0 && m.closing == 0 && m.pending == 0 }

// A Rest says whether anything is under way in a frontier. The frontier is at rest if Out,
// Pending and Held are 0.
//
// If two Rests of a frontier have the same Activity, and the frontier was at rest both times,
// nothing has happened in between. A crawl on several frontiers, which send each other links,
// can find its end in three steps. First it sees that all frontiers are at rest, then that no
// message is in transit, and then that all frontiers are at rest with the same Activity as in
// the first step. After that nothing happens before the earliest NextDue.
type Rest struct {
	Out      int       // turns that are out, including those made by Hop
	Pending  int       // calls of Submit that have not settled, so that new entries may follow
	Held     int       // held entries, whose Done was not called
	Activity uint64    // increases with each turn, each Add and each growth of the backlog
	Grown    uint64    // the Number of the last Growth that is taken into account; a later one may bring entries
	NextDue  time.Time // when the first site with an entry to request is due, or was; zero if no site has one
	NextBy   Clock     // the clock for which that site waits
	Spent    Spent     // what the requests of this frontier have cost
	// Verdict is the error with which Next would end the run now if Limits.Open were not set:
	// ErrEnd, ErrUnasked, ErrPatience or ErrLimit. It is nil if the run would go on. After the
	// end of the run it is the error of Next.
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
		if r.NextDue.IsZero() { // the first site has had no request
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
		wait = s.due.Sub(now) // not more than 0 if s is ready or unsearched
	}
	if f.limits.Paused || !f.still() || f.held > 0 || wait <= 0 || !f.impatient(wait) {
		return nil
	}
	return f.ended()
}
