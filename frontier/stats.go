package frontier

import (
	"iter"
	"time"
)

// Politeness says how the requests of a frontier kept their pauses.
type Politeness struct {
	Requests    int           // requests that had to wait for a pause
	Early       int           // requests of Requests that started before the site was due: must be 0
	LeastMargin time.Duration // least time between the due time of a site and the start of its request
	RetryAfter  int           // requests that waited for a Retry-After
}

// totals are sums over all sites, including sites that are only in the backlog.
type totals struct {
	entries  int   // entries that have not ended, except those that again counts: the sum of site.queued; only learn writes it
	again    int   // entries to fetch again: the sum of work.again; only learn writes it
	done     int   // entries that have ended, including those of earlier runs
	ahead    int   // entries in work.ahead of all sites
	drained  int   // sites that had a request and were removed from Frontier.sites
	spent    Spent // the cost of the crawl before this run, plus what each Finish has added since
	politely Politeness
}

// Stats is a snapshot of the numbers of a frontier.
type Stats struct {
	Entries  int   // queued, out or held, except those that Again counts
	Again    int   // entries that had ended, and wait to be fetched again or are being fetched
	Done     int   // ended, including those of earlier runs
	Spent    Spent // of the whole crawl
	Sites    int   // sites that had a request or will have one
	Out      int   // turns that are out
	Held     int   // held entries, whose Done was not called
	Polite   Politeness
	NextDue  time.Time // when the first site that waits is due; zero if no site waits
	NextSite Site
	NextBy   Clock
}

// Stats returns the current Stats. It holds one lock for a short time.
func (f *Frontier) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := Stats{Entries: f.entries, Again: f.again, Done: f.done, Spent: f.spent, Sites: len(f.sites) + f.drained, Out: f.out, Held: f.held, Polite: f.politely}
	if s := f.first(); s != nil {
		st.NextDue, st.NextSite, st.NextBy = s.due, s.name, f.by(s)
	}
	return st
}

// A SiteStatus is the state of a site in memory.
type SiteStatus struct {
	Site   Site
	Queued int // entries that have not ended, except those that Again counts
	Again  int // entries that had ended, and wait to be fetched again or are being fetched
	Spent  Spent
	Out    bool          // a turn has it
	Due    time.Time     // when the next request is permitted
	By     Clock         // the clock for which it waits
	Pause  time.Duration // from the end of the last answer to Due
	Given  Fate          // why it was given up in this run
	Over   bool          // its budget is used up: no more requests
	Shut   bool          // its pages are used up, by Options.MaxSite or SiteLimits: only requisites are still requested

	Gap time.Duration // the pause between two requests, if the site answers as before
	// The site waits for the end of another turn, which uses its address, domain or host, or a
	// site that it needs.
	Parked   bool
	Excluded string // why the site was excluded, as given to Exclude; empty: it is not excluded

	// NextAgain is the earliest Due of the entries counted by Again that are not being fetched,
	// or the zero time if there are none. The site itself may be due later.
	NextAgain time.Time
}

// Left returns the number of entries that have not ended, in Queued and in Again.
func (s *SiteStatus) Left() int { return s.Queued + s.Again }

// somePage is the number of sites that are read before the lock is released for a moment.
const somePage = 256

// Sites iterates over the sites in memory, in no particular order. The crawl continues during
// the iteration, and the body of the loop may call methods of f. So if the body is slow, a
// status may be old, sites that are added or removed meanwhile may be missed, and a site that is
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

// Status returns the status of a site. ok is false if the site is not in memory, because
// nothing of it is queued: then only the backlog has its clocks.
func (f *Frontier) Status(of Site) (st SiteStatus, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sites[of]
	if s == nil {
		return st, false
	}
	return f.status(s), true
}

// status returns the status of s. It requires that mu is held.
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
	return SiteStatus{
		Site: s.name, Queued: int(s.queued), Again: s.work().again, NextAgain: s.nextAgain(), Spent: s.spent(), Out: s.place == placeOut,
		Due: due, By: by, Pause: clocks.asked(), Given: s.fate(), Over: over, Shut: shut,
		Gap: gap, Parked: s.place == placeParked, Excluded: f.exclusion(s.name),
	}
}

// nextAgain returns the earliest Due of those entries of s to fetch again that were not handed
// out in a turn.
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

// Longest returns the status of the queued site that is due last, and true. If no queued
// site is due after now, it returns false.
func (f *Frontier) Longest(now time.Time) (SiteStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lastDue.After(now) {
		return SiteStatus{}, false
	}
	if !f.lastWaits() {
		// f.last has left the queue before it was due, so find the site that is now last.
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

// noteLast updates last and lastDue for s, which was queued.
func (f *Frontier) noteLast(s *site) {
	if s.due.After(f.lastDue) {
		f.last, f.lastDue = s, s.due
	}
}

func (f *Frontier) lastWaits() bool {
	return f.last != nil && f.last.place == placeWaiting && f.last.due.Equal(f.lastDue)
}

// account adds the request of t to Politeness. It requires that f.mu is held, and that the
// clocks of the site do not include this request yet.
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
