package frontier

import "time"

// motion counts what is under way. begun, submitted and settled alone make
// anything begin, so that nothing moves without a trace in activity.
type motion struct {
	out      int    // turns handed out by Next and not finished
	pages    int    // of these, those whose site says page: they may end with one that counts
	hops     int    // turns made by Hop and not finished
	closing  int    // sites that Done or look has, for which none of the others stands
	pending  int    // submits of which Grown has not told yet that they have settled
	reading  int64  // bytes of the answers to turns that are out, as Received says
	activity uint64 // of all that ever began; it never falls
}

// begun counts a turn.
func (m *motion) begun(kind *int) { *kind++; m.activity++ }

// mayBePage notes that the turn for which a site was picked may end with a page that counts,
// unless it has the right to none.
func (f *Frontier) mayBePage(s *site) {
	if s.page = !f.shut(s); s.page {
		f.pages++
	}
}

// isNoPage notes that it does not, or has been counted.
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

// submitted counts what is about to be submitted to the backlog.
func (m *motion) submitted() { m.pending++; m.activity++ }

// settled counts what the backlog tells.
func (m *motion) settled(g Growth) { m.pending -= g.Settled; m.activity++ }

// still reports whether nothing is under way that could bring new entries. The
// turns of hops are left out: each lives within another turn.
func (m *motion) still() bool { return m.out == 0 && m.closing == 0 && m.pending == 0 }

// A Rest says whether anything moves in a frontier. It is at rest where Out, Pending
// and Held are 0.
//
// Two looks at a frontier with an equal Activity, both at rest, prove that
// nothing has moved from the first to the second. Where several frontiers send
// each other what they find, and all were at rest at a first look, nothing was
// on the way between them after it, and all are at rest with the same Activity
// at a second look, nothing will move again before the first NextDue: that is
// how a crawl on several of them finds its end.
type Rest struct {
	Out      int       // turns that are out, those made by Hop, too
	Pending  int       // what was submitted to the backlog and not acknowledged: its links may be news still
	Held     int       // turns that were finished with Hold, and whose Done is still to come
	Activity uint64    // another figure after each turn, each Add and all news of the backlog
	NextDue  time.Time // since when, or from when on, the first site with something to be asked is due; zero if there is none
	NextBy   Clock     // what it waits for
}

// Rest looks. It takes the time of one lock. Nobody need wait in Next for it: it
// takes in what the backlog has to say itself.
func (f *Frontier) Rest() Rest {
	f.hear()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := Rest{Out: f.out + f.hops, Pending: f.pending + f.closing, Held: f.held, Activity: f.activity}
	if s := f.first(); s != nil {
		r.NextDue, r.NextBy = s.due, f.by(s)
		if r.NextDue.IsZero() { // it was never asked
			r.NextDue = f.opened
		}
	}
	return r
}
