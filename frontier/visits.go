package frontier

import "time"

// With Options.Revisits an entry that was fetched can stay queued and wait until it is due again.
// Its history (see Visits) is stored with the entry.

// maxRevisit is the longest time for which an entry waits to be fetched again.
const maxRevisit = 10 * 365 * 24 * time.Hour

// deadRest is the default of Options.DeadRest: how long a site rests that is not given up only
// because Options.Revisits is set. The site may answer later.
const deadRest = 24 * time.Hour

// Visits is the history of an entry that has ended at least once, and was queued again. It is
// immutable.
type Visits struct {
	First   time.Time // when the entry first ended
	Seen    int       // number of later ends with the code Fetched; each of them could show a change
	Changes int       // number of those ends that found a change
	Last    Fate      // the fate with which the entry ended last
	Body    Place     // where the archive has the last answer with its body; zero: nowhere
}

// A visitOutcome holds the fields of an Outcome that change Visits.
type visitOutcome struct {
	changed bool
	body    Place
}

// The method "and" returns a copy of v with one more end of the entry. A nil v stands for an entry
// that has not ended before.
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

// after returns e as the backlog stores it after e has ended with the given fate.
func (e Entry) after(fate Fate, o visitOutcome) Entry {
	if fate.Again() {
		e.Visits, e.Tries = e.Visits.and(fate, &o), 0
	}
	return e
}

// AfterPages reports whether e may be requested after the limit of pages of the crawl or of its
// site is reached. This is so if e is a requisite, or was fetched before.
func (e Entry) AfterPages() bool { return e.Requisite() || e.Visits != nil }

// Again reports whether e had ended and waits to be fetched again. Two kinds of entries count as
// queued instead, so Again is false for them: an entry whose new fetch has failed and that waits
// for another try, and an entry that was put aside (Code.Aside) and is queued again.
func (e Entry) Again() bool { return e.Visits != nil && e.Tries == 0 && !e.Due.IsZero() }

// Ends reports whether an entry with this fate leaves the queue. It is false for Undecided, for
// Waiting, and for an entry that will be fetched again (the fate has an Until).
func (f Fate) Ends() bool { return f.Code != Undecided && f.Code != Waiting && f.Until.IsZero() }

// Waits reports whether an entry with this fate is queued again and due at Until.
func (f Fate) Waits() bool { return f.Code == Waiting || f.Again() }

// Again reports whether an entry with this fate has ended and is queued to be fetched again.
func (f Fate) Again() bool { return f.Code != Undecided && f.Code != Waiting && !f.Until.IsZero() }
