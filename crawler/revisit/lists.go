package revisit

import (
	"iter"
	"slices"
	"time"
)

// A Believer is a Policy that takes up what lists, sitemaps and feeds, say between two
// visits of a page. Hinted is one; of other policies nothing is brought forward.
type Believer interface {
	Policy
	// Believes says whether a page is fetched again sooner where the list at a URL says that
	// it was changed since its last visit, and how long after that visit at the earliest.
	// The same URL has the same answer.
	Believes(list string) (least time.Duration, ok bool)
}

// Believes implements Believer: all lists are, and no page is fetched again before Least.
func (h Hinted) Believes(string) (least time.Duration, ok bool) { return h.Least, true }

// list is after what time a list is worth another request: sooner each time that it had
// changed. What is learnt of many pages by one request would be lost if it counted as one
// that nobody can keep up with. It is not asked for before it has something new, as it
// says itself.
func (h Hinted) list(v Visit) time.Duration {
	start := h.Least
	if start <= 0 {
		start = h.Else.Next(v)
	}
	next := Adaptive{Least: h.Least, Most: h.Most, Start: start}.Next(v)
	return max(next, within(float64(v.Hints.Every), 0, h.Most))
}

// Dates are when the pages of a list were changed, as far as that is believed. Many lists
// say of all pages that they were changed when the list was made, or asked for.
type Dates struct {
	read   time.Time
	common time.Time // that of more than half of the pages, which is not believed; zero: there is none
}

// alike is how far two dates are apart, at most, that are one: to make a list, and all
// pages anew, takes its time.
const alike = 30 * time.Minute

// ReadDates reads what a list says that was read at a moment; zero times say nothing.
func ReadDates(said iter.Seq[time.Time], read time.Time) Dates {
	var all []int64
	for t := range said {
		if t = whenOver(t); !t.IsZero() {
			all = append(all, t.Unix())
		}
	}
	d := Dates{read: read}
	if len(all) == 0 {
		return d
	}
	slices.Sort(all)
	middle := all[len(all)/2] // where more than half are one, it is one of them
	ones := 0
	for _, t := range all {
		if near(time.Unix(t, 0), time.Unix(middle, 0)) {
			ones++
		}
	}
	if 2*ones > len(all) {
		d.common = time.Unix(middle, 0)
	}
	return d
}

// Changed is when a page was changed of which the list says a date. It is false where that
// is not believed: where it says nothing, is still to come, or is what more than half of
// the pages have in common.
func (d Dates) Changed(said time.Time) (at time.Time, ok bool) {
	at = whenOver(said)
	if at.IsZero() || at.After(d.read) || !d.common.IsZero() && near(at, d.common) {
		return time.Time{}, false
	}
	return at, true
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= alike }

// whenOver is a date, or of a whole day its end: a visit on that day may have been before
// the change.
func whenOver(t time.Time) time.Time {
	if h, m, s := t.Clock(); h+m+s == 0 && !t.IsZero() {
		return t.AddDate(0, 0, 1)
	}
	return t
}
