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

// totals are sums over all sites, those that are left to the backlog, too.
type totals struct {
	entries  int   // that have not ended, but for again: the sum of site.queued; learn writes it
	again    int   // that are to be fetched again: the sum of site.again; learn writes it
	done     int   // entries that have ended, in earlier runs, too
	ahead    int   // entries in work.ahead, of all
	drained  int   // sites that were asked and are not in sites
	spent    Spent // what was spent before this run, and by each Finish since
	politely Politeness
}

// Stats is a snapshot of what a frontier holds.
type Stats struct {
	Entries  int   // queued, out or held, but for those of Again
	Again    int   // that had ended, and wait to be fetched again, or are fetched just now
	Done     int   // that have ended, in earlier runs, too
	Spent    Spent // by the whole crawl
	Sites    int   // that were asked or are to be
	Out      int   // turns
	Held     int   // turns that were finished with Hold, and whose Done is still to come
	Polite   Politeness
	NextDue  time.Time // of the first site that waits; zero if none does
	NextSite Site
	NextBy   Clock
}

// Stats counts. It takes the time of one lock.
func (f *Frontier) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := Stats{Entries: f.entries, Again: f.again, Done: f.done, Spent: f.spent, Sites: len(f.sites) + f.drained, Out: f.out, Held: f.held, Polite: f.politely}
	if s := f.first(); s != nil {
		st.NextDue, st.NextSite, st.NextBy = s.due, s.name, f.by(s)
	}
	return st
}

// A SiteStatus is what the frontier knows of a site in memory.
type SiteStatus struct {
	Site   Site
	Queued int // that have not ended, but for those of Again
	Again  int // that had ended, and wait to be fetched again, or are fetched just now
	Spent  Spent
	Out    bool      // a turn has it
	Due    time.Time // when it can be asked
	By     Clock     // what it waits for
	Pause  time.Duration
	Given  Fate // why it is not asked any more in this run
	Over   bool // its budget is used up: nothing more is asked
	Shut   bool // its pages are, by Options.MaxSite or SiteLimits: only what these are shown with is still asked for

	Gap      time.Duration // between two requests, where it answers as it did
	Parked   bool          // it waits until another turn ends: of its address, domain or host, or of a site that it needs
	Excluded string        // why nothing more is asked, by Exclude; empty: it is

	// NextAgain is when the first of those of Again is due that is not fetched just now; the
	// site itself may have to be left in peace for longer. Zero if there is none.
	NextAgain time.Time
}

// Left is how many entries have not ended: Queued, and Again.
func (s *SiteStatus) Left() int { return s.Queued + s.Again }

// somePage is how many sites are looked at with the lock held.
const somePage = 256

// Each calls fn for every site in memory, in no order, until it returns false.
// The crawl goes on meanwhile, also within fn: what it says of a site is as
// young as fn is quick, and a site that comes or goes may be missed.
func (f *Frontier) Each(fn func(SiteStatus) bool) {
	var page [somePage]SiteStatus
	n := 0
	told := func() bool {
		for _, st := range page[:n] {
			if !fn(st) {
				return false
			}
		}
		n = 0
		return true
	}
	f.mu.Lock()
	for _, s := range f.sites { // a map may change while it is ranged over
		page[n] = f.status(s)
		if n++; n < len(page) {
			continue
		}
		f.mu.Unlock()
		if !told() {
			return
		}
		f.mu.Lock()
	}
	f.mu.Unlock()
	told()
}

// status requires that mu is held.
func (f *Frontier) status(s *site) SiteStatus {
	due, by := f.dueAt(s)
	clocks := s.clocks()
	gap, _ := clocks.steady(f.delay(s))
	over, shut := f.overBudget(s), false
	if !over && f.sitePagesSpent(s) {
		_, shut = s.shows()
		shut = shut || s.place == placeOut
		over = !shut
	}
	return SiteStatus{
		Site: s.name, Queued: int(s.queued), Again: s.work().again, NextAgain: s.nextAgain(), Spent: s.spent(), Out: s.place == placeOut,
		Due: due, By: by, Pause: clocks.asked(), Given: s.fate(), Over: over, Shut: shut,
		Gap: gap, Parked: s.place == placeParked, Excluded: f.exclusion(s.name),
	}
}

// nextAgain is when the first entry is due that is to be fetched again, of those that were
// not handed out.
func (s *site) nextAgain() time.Time {
	w := s.work()
	next := w.revisit
	for i := range w.ahead {
		if e := &w.ahead[i]; e.Again() && (next.IsZero() || e.Due.Before(next)) {
			next = e.Due
		}
	}
	return next
}

// Longest is the site that is waited for longest: of those with something to be
// asked the one that is due last, if that is after now.
func (f *Frontier) Longest(now time.Time) (SiteStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lastDue.After(now) {
		return SiteStatus{}, false
	}
	if !f.lastWaits() {
		// It was asked, or given up, before its time: another one is the last.
		f.last, f.lastDue = nil, time.Time{}
		n := 0
		for _, s := range f.sites {
			if s.place == placeWaiting {
				f.noteLast(s)
			}
			if n++; n%somePage == 0 { // let the others go on
				f.mu.Unlock()
				f.mu.Lock()
			}
		}
	}
	if !f.lastWaits() || !f.lastDue.After(now) {
		return SiteStatus{}, false
	}
	return f.status(f.last), true
}

// noteLast notes a site that is put into the queue.
func (f *Frontier) noteLast(s *site) {
	if s.due.After(f.lastDue) {
		f.last, f.lastDue = s, s.due
	}
}

func (f *Frontier) lastWaits() bool {
	return f.last != nil && f.last.place == placeWaiting && f.last.due.Equal(f.lastDue)
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
	if until := t.site.clocks().RetryAfter; !until.IsZero() && !o.Request.Started.Before(until) {
		p.RetryAfter++
	}
}
