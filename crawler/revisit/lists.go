package revisit

import (
	"iter"
	"slices"
	"time"
)

// A Believer is a Policy that uses the dates in lists. A list is a sitemap or a feed. If a list
// says that a page has changed, the Believer may bring the next visit of the page forward.
// Hinted is a Believer. Other policies bring no visit forward.
type Believer interface {
	Policy
	// Believes reports whether a page is fetched sooner if a list says that the page has
	// changed since its last visit. The parameter list is the URL of the list. least is the
	// shortest time from the last visit to the next one. Believes must always return the same
	// results for the same URL.
	Believes(list string) (least time.Duration, ok bool)
}

// Believes implements Believer. Hinted believes all lists. A page is not fetched again before
// Least.
func (h Hinted) Believes(string) (least time.Duration, ok bool) { return h.Least, true }

// list returns the time until the next visit of a list, which is a sitemap or a feed. The time
// gets shorter each time the list has changed. One request for a list gives information about
// many pages, so a list is worth a request even if it changes very often. If a list says how
// often it changes (Hints.Every), it is not fetched more often.
func (h Hinted) list(v Visit) time.Duration {
	start := h.Least
	if start <= 0 {
		start = h.Else.Next(v)
	}
	next := Adaptive{Least: h.Least, Most: h.Most, Start: start}.Next(v)
	return max(next, within(float64(v.Hints.Every), 0, h.Most))
}

// Dates decides which dates in a list are believed. In many lists, the date of every page is
// the time when the list was made or requested.
type Dates struct {
	read   time.Time
	common time.Time // the date of more than half of the pages, which is not believed, or zero
}

// alike is the largest difference of two dates that count as the same date. A server needs some
// time to make a list and all pages in it.
const alike = 30 * time.Minute

// ReadDates returns the Dates of a list. The first argument yields the dates in the list. The
// second is the time when the list was read. ReadDates ignores zero times.
func ReadDates(said iter.Seq[time.Time], read time.Time) Dates {
	var all []int64
	for t := range said {
		if t = endOfDay(t); !t.IsZero() {
			all = append(all, t.Unix())
		}
	}
	d := Dates{read: read}
	if len(all) == 0 {
		return d
	}
	slices.Sort(all)
	middle := all[len(all)/2] // if more than half of the dates are alike, middle is one of these
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

// Changed returns the time when a page has changed. Its argument is the date of the page in the
// list. ok is false if the date is not believed: it is zero, in the future, or the date of more
// than half of the pages.
func (d Dates) Changed(said time.Time) (at time.Time, ok bool) {
	at = endOfDay(said)
	if at.IsZero() || at.After(d.read) || !d.common.IsZero() && near(at, d.common) {
		return time.Time{}, false
	}
	return at, true
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= alike }

// endOfDay returns t, or the end of the day if t is a date without a time, because a visit on
// that day may have been before the change.
func endOfDay(t time.Time) time.Time {
	if h, m, s := t.Clock(); h+m+s == 0 && !t.IsZero() {
		return t.AddDate(0, 0, 1)
	}
	return t
}
