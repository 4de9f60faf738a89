package frontier

import "time"

// Politeness is the frontier's own account of how it kept the pauses it was
// asked for.
type Politeness struct {
	Requests    int           // that had a pause to keep
	Early       int           // of these, started before the site was due: must be 0
	LeastMargin time.Duration // least time by which one started after its site was due
	RetryAfter  int           // times a Retry-After named, kept
}

// Stats is a snapshot of what a frontier holds.
type Stats struct {
	Entries  int   // queued, or out
	Spent    Spent // by the whole crawl
	Sites    int   // that were asked or are to be
	Out      int   // turns
	Polite   Politeness
	NextDue  time.Time // of the first site that waits; zero if none does
	NextSite Site
	NextBy   Clock
}

// Stats counts. It takes the time of one lock.
func (f *Frontier) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := Stats{Entries: f.entries, Spent: f.spent, Sites: len(f.sites) + f.drained, Out: f.out, Polite: f.politely}
	for _, h := range []*siteHeap{&f.ready, &f.waiting} {
		if len(h.sites) > 0 {
			s := h.sites[0]
			st.NextDue, st.NextSite, st.NextBy = s.due, s.name, s.by
			break
		}
	}
	return st
}

// A SiteStatus is what the frontier knows of a site in memory.
type SiteStatus struct {
	Site   Site
	Queued int
	Spent  Spent
	Out    bool      // a turn has it
	Due    time.Time // when it can be asked
	By     Clock     // what it waits for
	Pause  time.Duration
	Given  Fate // why it is not asked any more in this run
	Over   bool // its budget is used up
}

// Each calls fn for every site in memory, in no order, until it returns false.
// The frontier stands still meanwhile.
func (f *Frontier) Each(fn func(SiteStatus) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sites {
		due, by := f.dueAt(s)
		st := SiteStatus{
			Site: s.name, Queued: s.queued, Spent: s.spent, Out: s.place == placeOut,
			Due: due, By: by, Pause: s.clocks.asked(), Given: s.given, Over: f.overBudget(s),
		}
		if !fn(st) {
			return
		}
	}
}

// account keeps the figures of Politeness. It requires that mu is held, and
// that the clocks have not moved yet.
func (f *Frontier) account(t *Turn, o Outcome) {
	if o.Request == nil {
		f.refund()
		return
	}
	if t.pause.By == NoClock {
		return
	}
	p := &f.politely
	margin := o.Request.Started.Sub(t.due)
	if p.Requests == 0 || margin < p.LeastMargin {
		p.LeastMargin = margin
	}
	p.Requests++
	if margin < 0 {
		p.Early++
	}
	if until := t.site.clocks.RetryAfter; !until.IsZero() && !o.Request.Started.Before(until) {
		p.RetryAfter++
	}
}
