package frontier

import "time"

// With Options.Revisits an entry that was fetched can stay queued and wait until it is due
// again. Its Visits, which say how it ended before, are kept with it.

// maxRevisit is the longest time for which an entry waits to be fetched again.
const maxRevisit = 10 * 365 * 24 * time.Hour

// deadRest is how long a site rests instead of being given up, if Options.Revisits is set. The
// site may answer tomorrow.
const deadRest = 24 * time.Hour

// Visits is the history of an entry that has ended at least once, and was queued again. It is
// immutable.
type Visits struct {
	First   time.Time // the first end of the entry
	Seen    int       // later ends with the code Fetched, which could show a change
	Changes int       // how many of Seen found a change
	Last    Fate      // the last end, with its fate
	Body    Place     // where the last answer is archived with its body; zero: nowhere
}

// A visitOutcome holds those fields of an Outcome that change Visits.
type visitOutcome struct {
	changed bool
	body    Place
}

// The method named "and" returns v with one more end of the entry added. A nil v means that
// there was no end before.
func (v *Visits) and(end Fate, o *visitOutcome) *Visits {
	end.Until = time.Time{}
	if v == nil {
		return &Visits{First: end.Time, Last: end, Body: o.body}
	}
	w := *v
	if w.Last = end; end.Code == Fetched {
		w.Body = o.body
		w.Seen++
		if o.changed {
			w.Changes++
		}
	}
	return &w
}

// after returns e in the form in which it is stored once it has ended with the given fate.
func (e Entry) after(fate Fate, o visitOutcome) Entry {
	if fate.Again() {
		e.Visits, e.Tries = e.Visits.and(fate, &o), 0
	}
	return e
}

// AfterPages reports whether e may be requested after the limit of pages of the crawl or of
// its site is reached: it is a requisite, or was fetched before.
func (e Entry) AfterPages() bool { return e.Requisite() || e.Visits != nil }

// Again reports whether e had ended, and waits to be fetched again. It is false if the new
// fetch has failed and e waits for another try. It is also false if e was put aside
// (Code.Aside) and is queued again, because e then does not wait. Both kinds of entries count
// as queued.
func (e Entry) Again() bool { return e.Visits != nil && e.Tries == 0 && !e.Due.IsZero() }

// Ends reports whether an entry with this fate leaves the queue. It is false for Waiting, and
// for the fate of an entry that will be fetched again, which has an Until.
func (f Fate) Ends() bool { return f.Code != Undecided && f.Code != Waiting && f.Until.IsZero() }

// Waits reports whether an entry with this fate is queued again, and waits for the time Until.
func (f Fate) Waits() bool { return f.Code == Waiting || f.Again() }

// Again reports whether an entry with this fate ended, and is queued to be fetched again.
func (f Fate) Again() bool { return f.Code != Undecided && f.Code != Waiting && !f.Until.IsZero() }
