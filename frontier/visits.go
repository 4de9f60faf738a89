package frontier

import "time"

// In a crawl that does not end an entry that was fetched stays queued: it waits until it
// is due again. What was seen of it goes with it.

// maxRevisit is the longest that an entry waits to be fetched again.
const maxRevisit = 10 * 365 * 24 * time.Hour

// deadRest is how long a site rests that would be given up, where entries are fetched
// again and again: it may be there tomorrow.
const deadRest = 24 * time.Hour

// Visits are what is known of an entry that ended before, and was queued again. They are
// never changed.
type Visits struct {
	First   time.Time // when it ended for the first time
	Seen    int       // how often it was looked whether it has changed, since
	Changes int       // how often it had
	Last    Fate      // with which it ended last
	Body    Place     // where what was fetched last is archived with its body; zero: nowhere
}

// A visitOutcome is what an Outcome says for Visits.
type visitOutcome struct {
	changed bool
	body    Place
}

// and is v with another end; v may be nil.
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

// after is e as it is once it has ended with a fate.
func (e Entry) after(fate Fate, o visitOutcome) Entry {
	if fate.Again() {
		e.Visits, e.Tries = e.Visits.and(fate, &o), 0
	}
	return e
}

// AfterPages reports whether e may be asked for also once the pages are spent that a crawl
// or a site may have: it is what pages are shown with, or was a page before.
func (e Entry) AfterPages() bool { return e.Requisite() || e.Visits != nil }

// Again reports whether e had ended, and waits to be fetched again. An entry whose fetch
// has failed since then waits for another try of that, and one that was put aside and is
// wanted again waits for nothing: these count as queued.
func (e Entry) Again() bool { return e.Visits != nil && e.Tries == 0 && !e.Due.IsZero() }

// Ends reports whether an entry is done with. One that is Waiting is not, nor is one that
// is to be fetched again: its fate has an Until.
func (f Fate) Ends() bool { return f.Code != Undecided && f.Code != Waiting && f.Until.IsZero() }

// Waits reports whether an entry is queued again until Until.
func (f Fate) Waits() bool { return f.Code == Waiting || f.Again() }

// Again reports whether an entry ended, and is queued to be fetched again.
func (f Fate) Again() bool { return f.Code != Undecided && f.Code != Waiting && !f.Until.IsZero() }
