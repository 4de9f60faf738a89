package extract

import (
	"strconv"
	"strings"
	"time"
)

// dates are the times in a feed: when an item was changed, and how often the feed changes.
type dates struct {
	changes bool      // collect the changes of items
	item    bool      // an item has begun and not ended
	first   int       // index of the item's first link in Document.Links
	changed time.Time // when the item was changed; zero if that is not known

	ttl       time.Duration // RSS 2.0: how long the feed may be cached
	period    time.Duration // syndication module of RSS 1.0: updatePeriod
	frequency uint64        // syndication module of RSS 1.0: updateFrequency, the number of changes in period
}

func (f *feed) beginItem() { f.item, f.first, f.changed = true, len(f.c.doc.Links), time.Time{} }

// endItem ends the current item, if there is one. If the item has a date, endItem records that
// the pages of the item were changed at that date.
func (f *feed) endItem() {
	if !f.item {
		return
	}
	f.item = false
	if f.changed.IsZero() || !f.changes {
		return
	}
	links := f.c.doc.Links
	for i := f.first; i < len(links); i++ {
		if l := &links[i]; f.isItemLink(l) {
			f.c.doc.Changes = append(f.c.doc.Changes, Change{l.URL, f.changed})
		}
	}
}

// isItemLink reports whether a link of an item leads to the item's page.
func (f *feed) isItemLink(l *Link) bool {
	switch l.Where {
	case "item/link", "entry/link", "item/guid", "item/origlink", "entry/origlink":
		return l.Rel == "" || strings.EqualFold(l.Rel, "alternate")
	}
	return l.Where == "item/url" && f.x == nil // in JSON the item's page, in XML the page of a person
}

// date handles a date of an item. If changed is true, it is the time of a change. Otherwise it
// is the time of publication, which counts only if no other date of the item is known.
func (f *feed) date(text string, changed bool) {
	if f.item && (changed || f.changed.IsZero()) {
		if t := parseDate(text); !t.IsZero() {
			f.changed = t
		}
	}
}

// maxTTL is the longest ttl that is accepted, in minutes.
const maxTTL = 366 * 24 * 60

// rhythm handles an element, such as ttl or updatePeriod, that says how often the feed changes.
func (f *feed) rhythm(name, text string) {
	n, err := strconv.ParseUint(text, 10, 32)
	switch name {
	case "ttl":
		if err == nil && n <= maxTTL {
			f.ttl = time.Duration(n) * time.Minute
		}
	case "updatefrequency":
		if err == nil {
			f.frequency = n
		}
	case "updateperiod":
		const day = 24 * time.Hour
		f.period = map[string]time.Duration{"hourly": time.Hour, "daily": day, "weekly": 7 * day, "monthly": 30 * day, "yearly": 365 * day}[strings.ToLower(text)]
	}
}

// every returns how often the feed changes, or 0 if the feed does not say it.
func (d *dates) every() time.Duration {
	if d.ttl > 0 {
		return d.ttl
	}
	return d.period / time.Duration(max(d.frequency, 1))
}
