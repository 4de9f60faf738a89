package frontier

import "time"

// Changes are the times of change of pages, from a sitemap or a feed.
type Changes struct {
	Told  time.Time     // when the sitemap or feed was read; no entry becomes due before this time
	Least time.Duration // the least time between the last end of an entry and its new Due
	Pages []Change      // if several are for the same entry, the latest counts
}

// A Change is the time of the last change of an entry's page.
type Change struct {
	Site Site
	Key  string // of the entry (Entry.Key)
	Time time.Time
}

// Due returns when e is due because its page was changed at the time changed. If the change
// has no effect, ok is false: if e does not wait to be fetched again, was fetched after the
// change, or is due no later than the returned time without the change. So each change
// counts once.
func (c *Changes) Due(e *Entry, changed time.Time) (due time.Time, ok bool) {
	if !e.Again() || !changed.After(e.Visits.Last.Time) {
		return time.Time{}, false
	}
	if due = e.Visits.Last.Time.Add(c.Least); due.Before(c.Told) {
		due = c.Told
	}
	return due, due.Before(e.Due)
}

// bySite returns the latest time of change of each key, by site.
func (c *Changes) bySite() map[Site]map[string]time.Time {
	sites := map[Site]map[string]time.Time{}
	for i := range c.Pages {
		p := &c.Pages[i]
		changed := sites[p.Site]
		if changed == nil {
			changed = map[string]time.Time{}
			sites[p.Site] = changed
		}
		if p.Time.After(changed[p.Key]) {
			changed[p.Key] = p.Time
		}
	}
	return sites
}
