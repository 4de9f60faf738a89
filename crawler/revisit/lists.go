package revisit

import (
	"iter"
	"slices"
	"time"
)

// A Believer is a Policy that uses the dates of lists, that is of sitemaps and feeds, between
// two visits of a page. Hinted is one; with other policies no visit is brought forward.
type Believer interface {
	Policy
	// Believes reports whether a page is fetched sooner if the list with the URL list says that
	// it has changed since its last visit, and how long after that visit at the earliest. It
	// must always return the same for the same URL.
	Believes(list string) (least time.Duration, ok bool)
}

// Believes implements Believer: it believes all lists, and fetches no page again before
// Least.
func (h Hinted) Believes(string) (least time.Duration, ok bool) { return h.Least, true }

// list returns the time until the next visit of a list: sooner each time the list has
// changed. One request for a list tells about many pages, so a list is not given up for
// changing too often. It is not fetched before it changes by its own statement.
func (h Hinted) list(v Visit) time.Duration {
	start := h.Least
	if start <= 0 {
		start = h.Else.Next(v)
	}
	next := Adaptive{Least: h.Least, Most: h.Most, Start: start}.Next(v)
	return max(next, within(float64(v.Hints.Every), 0, h.Most))
}

// Dates decide which dates of a list are believed. Many lists date all pages to the time when
// the list was made or requested.
type Dates struct {
	read   time.Time
	common time.Time // the date of more than half of the pages, which is not believed, or zero
}

// alike is the largest difference of two dates that count as one: making a list, and all of
// its pages, takes time.
const alike = 30 * time.Minute

// ReadDates returns the Dates of a list that was read at the time read and has the dates
// said. It ignores zero times.
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
	middle := all[len(all)/2] // if more than half are alike, this is one of them
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

// Changed returns the time of a page's change if the list dates it to said. ok is false if
// that is not believed: the date is zero, in the future, or the one that more than half of
// the pages have.
func (d Dates) Changed(said time.Time) (at time.Time, ok bool) {
	at = endOfDay(said)
	if at.IsZero() || at.After(d.read) || !d.common.IsZero() && near(at, d.common) {
		return time.Time{}, false
	}
	return at, true
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= alike }

// endOfDay returns t, or the end of the day if t is a whole day: a visit on that day may have
// been before the change.
func endOfDay(t time.Time) time.Time {
	if h, m, s := t.Clock(); h+m+s == 0 && !t.IsZero() {
		return t.AddDate(0, 0, 1)
	}
	return t
}
