package frontier

import (
	"iter"
	"time"
)

// Politeness counts how the requests of a frontier kept their pauses.
type Politeness struct {
	Requests    int           // requests that had to wait for a pause
	Early       int           // those of Requests that started before the site was due; must be 0
	LeastMargin time.Duration // shortest time from the due time of a site to the start of its request
	RetryAfter  int           // those of Requests that waited for a Retry-After
}

// totals are sums over all sites, including those that are only in the backlog.
type totals struct {
	entries  int   // sum of the fields queued of all sites: entries that have not ended; only learn writes it
	again    int   // sum of the fields again of all sites: entries to fetch again; only learn writes it
	done     int   // entries that have ended, including those of earlier runs
	ahead    int   // sum of the lengths of work.ahead: entries read from the backlog and not handed out
	drained  int   // sites that had a request and were removed from Frontier.sites
	spent    Spent // cost of the crawl in all runs so far; each Finish adds to it
	politely Politeness
}

// Stats is a snapshot of the numbers of a frontier.
type Stats struct {
	Entries  int   // entries that have not ended, except those that Again counts
	Again    int   // entries that had ended, and wait to be fetched again or are being fetched again
	Done     int   // entries that have ended, including those of earlier runs
	Spent    Spent // cost of the whole crawl so far, in all runs
	Sites    int   // sites that had a request or will have one
	Out      int   // turns that are out
	Held     int   // held entries for which Done was not called yet
	Polite   Politeness
	NextDue  time.Time // when the first of the waiting sites is due; zero if no site waits
	NextSite Site
	NextBy   Clock
}

// Stats returns the current numbers. It holds one lock for a short time.
func (f *Frontier) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := Stats{Entries: f.entries, Again: f.again, Done: f.done, Spent: f.spent, Sites: len(f.sites) + f.drained, Out: f.out, Held: f.held, Polite: f.politely}
	if s := f.first(); s != nil {
		st.NextDue, st.NextSite, st.NextBy = s.due, s.name, f.by(s)
	}
	return st
}

// A SiteStatus describes a site that the frontier has in memory.
type SiteStatus struct {
	Site   Site
	Queued int // entries that have not ended, except those that Again counts
	Again  int // entries that had ended, and wait to be fetched again or are being fetched again
	Spent  Spent
	Out    bool          // a turn has the site
	Due    time.Time     // when the next request is permitted
	By     Clock         // the clock that the site waits for
	Pause  time.Duration // time from the end of the last answer to Due
	Given  Fate          // why the site was given up in this run; zero: it was not
	Over   bool          // the budget of the site is used up; it gets no more requests
	Shut   bool          // the site has used up its pages (Options.MaxSite or SiteLimits); only requisites are requested

	Gap time.Duration // pause between two requests, if the answers of the site stay as quick as before
	// Parked says that the site waits until another turn ends. That turn uses the site's address,
	// domain or host, or a site that this site needs.
	Parked   bool
	Excluded string // the reason given to Exclude; empty: the site is not excluded
	// Site or host that was given to Exclude; empty: the site is not excluded.
	ExcludedAs string

	// NextAgain is the earliest Due of the entries that Again counts and that are not being
	// fetched. It is zero if there are none. The site itself may be due later.
	NextAgain time.Time
}

// Left returns the number of entries that have not ended, in Queued and in Again.
func (s *SiteStatus) Left() int { return s.Queued + s.Again }

// somePage is the number of sites that a loop reads before it releases the lock for a moment.
const somePage = 256

// Sites iterates over the sites in memory, in no particular order. The crawl continues during the
// iteration, and the body of the loop may call methods of f. If the body is slow, a status may be
// old. Sites that are added or removed during the iteration may be missed, and a site that is
// removed and added again may come twice.
func (f *Frontier) Sites() iter.Seq[SiteStatus] {
	return func(yield func(SiteStatus) bool) {
		var page [somePage]SiteStatus
		n := 0
		told := func() bool {
			for _, st := range page[:n] {
				if !yield(st) {
					return false
				}
			}
			n = 0
			return true
		}
		f.mu.Lock()
		for _, s := range f.sites { // the map f.sites may change while the lock is released
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
}

// Status returns the status of the site named of. It returns false if the site is not in memory,
// because it has no queued entries. Only the backlog has the clocks of such a site.
func (f *Frontier) Status(of Site) (st SiteStatus, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sites[of]
	if s == nil {
		return st, false
	}
	return f.status(s), true
}

// status returns the status of s. The caller must hold mu.
func (f *Frontier) status(s *site) SiteStatus {
	due, by := f.dueAt(s)
	clocks := s.clocks()
	gap, _ := clocks.steady(f.delay(s))
	over, shut := f.overBudget(s), false
	if !over && f.sitePagesSpent(s) {
		_, shut = s.dueRequisite()
		shut = shut || s.place == placeOut
		over = !shut
	}
	as, excluded := f.exclusion(s.name)
	return SiteStatus{
		Site: s.name, Queued: int(s.queued), Again: s.work().again, NextAgain: s.nextAgain(), Spent: s.spent(), Out: s.place == placeOut,
		Due: due, By: by, Pause: clocks.asked(), Given: s.fate(), Over: over, Shut: shut,
		Gap: gap, Parked: s.place == placeParked, Excluded: excluded, ExcludedAs: as,
	}
}

// nextAgain returns the earliest Due of the entries of s to fetch again, without those that were
// handed out in a turn.
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

// Longest returns the status of the queued site that is due last, and true. It returns false if no
// queued site is due after now.
func (f *Frontier) Longest(now time.Time) (SiteStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lastDue.After(now) {
		return SiteStatus{}, false
	}
	if !f.lastWaits() {
		// f.last has left the queue before it was due, so search for the site that is due last
		// now.
		f.last, f.lastDue = nil, time.Time{}
		n := 0
		for _, s := range f.sites {
			if s.place == placeWaiting {
				f.noteLast(s)
			}
			if n++; n%somePage == 0 { // let other goroutines continue
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

// noteLast updates last and lastDue after s was queued.
func (f *Frontier) noteLast(s *site) {
	if s.due.After(f.lastDue) {
		f.last, f.lastDue = s, s.due
	}
}

func (f *Frontier) lastWaits() bool {
	return f.last != nil && f.last.place == placeWaiting && f.last.due.Equal(f.lastDue)
}

// account adds the request of t to Politeness. The caller must hold f.mu, and must not have
// updated the clocks of the site for this request yet.
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
