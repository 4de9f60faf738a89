package revisit

import (
	"iter"
	"slices"
	"time"
)

// A Believer is a Policy that uses the dates in lists, which are sitemaps and feeds. If a list
// reports that a page has changed, the page may be fetched earlier than the method Next says.
// Hinted is a Believer. With other policies the dates in lists have no effect.
type Believer interface {
	Policy
	// Believes reports whether a page is fetched earlier if a list reports a change since the
	// page's last visit. The parameter list is the URL of the list. The result least is the minimum
	// time from the last visit to the next one. Believes must always return the same results for
	// the same URL.
	Believes(list string) (least time.Duration, ok bool)
}

// Believes implements Believer. Hinted believes all lists. The minimum time between two visits is
// h.Least.
func (h Hinted) Believes(string) (least time.Duration, ok bool) { return h.Least, true }

// list returns the time until the next visit of a list, which is a sitemap or a feed. The time gets
// shorter each time the list has changed. One request for a list gives information about many
// pages, so a list is worth a request even if it changes very often. If a list says how often it
// changes (Hints.Every), it is not fetched more often.
func (h Hinted) list(v Visit) time.Duration {
	start := h.Least
	if start <= 0 {
		start = h.Else.Next(v)
	}
	next := Adaptive{Least: h.Least, Most: h.Most, Start: start}.Next(v)
	return max(next, within(float64(v.Hints.Every), 0, h.Most))
}

// Dates decides which dates in a list are believed. A list is a sitemap or a feed. In many lists,
// the date of every page is the time at which the list was made or requested.
type Dates struct {
	read time.Time
	// The date of more than half of the pages, which is not believed; zero if none exists.
	common time.Time
}

// alike is the maximum difference of two dates that count as the same date. A server needs some
// time to make a list and all pages in it.
const alike = 30 * time.Minute

// ReadDates returns the Dates of a list. The parameter said yields the dates in the list. The
// parameter read is the time at which the list was read. ReadDates ignores zero times.
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
	middle := all[len(all)/2] // if more than half of the dates are alike, middle is one of them
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

// Changed returns the time at which a page was changed. The parameter said is the date of the page
// in the list. ok is false if the date is not believed, because it is zero, in the future, or the
// date of more than half of the pages.
func (d Dates) Changed(said time.Time) (at time.Time, ok bool) {
	at = endOfDay(said)
	if at.IsZero() || at.After(d.read) || !d.common.IsZero() && near(at, d.common) {
		return time.Time{}, false
	}
	return at, true
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= alike }

// endOfDay returns t, or the end of the day if t is a date without a time. The day's end is used
// because a visit on that day may have been before the change.
func endOfDay(t time.Time) time.Time {
	if h, m, s := t.Clock(); h+m+s == 0 && !t.IsZero() {
		return t.AddDate(0, 0, 1)
	}
	return t
}
