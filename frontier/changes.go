package frontier

import "time"

// Changes are what a list of pages, a sitemap or a feed, says of when they were changed.
type Changes struct {
	Told  time.Time     // when the list was read: no entry is due before, by what it says
	Least time.Duration // nor this soon after it ended last
	Pages []Change      // of several of one entry the latest counts
}

// A Change says when the page of an entry was changed last.
type Change struct {
	Site Site
	Key  string // of the entry (Entry.Key)
	Time time.Time
}

// Due is when an entry is due by a change of its page. ok is false where that changes
// nothing: where it does not wait to be fetched again, was fetched since the change, or is
// due no later by itself. So each change counts once, whether there was one or not.
func (c *Changes) Due(e *Entry, changed time.Time) (due time.Time, ok bool) {
	if !e.Again() || !changed.After(e.Visits.Last.Time) {
		return time.Time{}, false
	}
	if due = e.Visits.Last.Time.Add(c.Least); due.Before(c.Told) {
		due = c.Told
	}
	return due, due.Before(e.Due)
}

// bySite are the changes of each site, by key.
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
