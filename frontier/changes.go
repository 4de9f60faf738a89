package frontier

import "time"

// Changes lists the times at which pages changed, as a sitemap or a feed reports them.
type Changes struct {
	Told  time.Time     // when the sitemap or feed was read; no entry becomes due before this time
	Least time.Duration // the least time from an entry's last fetch to its new Due
	Pages []Change      // the changes; if several have the same Site and Key, the latest counts
}

// A Change is the time of the last change of an entry's page.
type Change struct {
	Site Site
	Key  string // key of the entry (Entry.Key)
	Time time.Time
}

// Due returns when e becomes due because its page changed at the time changed. The result ok is
// false if the change has no effect: e does not wait to be fetched again, was fetched after the
// change, or is already due at the new time or earlier. So each change has an effect only once.
func (c *Changes) Due(e *Entry, changed time.Time) (due time.Time, ok bool) {
	if !e.Again() || !changed.After(e.Visits.Last.Time) {
		return time.Time{}, false
	}
	if due = e.Visits.Last.Time.Add(c.Least); due.Before(c.Told) {
		due = c.Told
	}
	return due, due.Before(e.Due)
}

// bySite returns a map from each site to its entries' keys, and from each key to the latest time
// of change.
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
