package extract

import (
	"strconv"
	"strings"
	"time"
)

// dates holds the times in a feed: when items were changed, and how often the feed changes.
type dates struct {
	changes bool      // collect the times of changes of items
	item    bool      // the feed is inside an item
	first   int       // index in Document.Links of the first link of the item
	changed time.Time // when the item was changed; zero if unknown

	ttl       time.Duration // how long the feed may be cached (RSS 2.0)
	period    time.Duration // the updatePeriod of the syndication module of RSS 1.0
	frequency uint64        // the updateFrequency of that module: number of changes in period
}

func (f *feed) beginItem() { f.item, f.first, f.changed = true, len(f.c.doc.Links), time.Time{} }

// endItem ends the current item, if there is one. If the item has a date, endItem records it as the
// time of change of the item's pages.
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

// isItemLink reports whether a link of an item leads to the item's own page.
func (f *feed) isItemLink(l *Link) bool {
	switch l.Where {
	case "item/link", "entry/link", "item/guid", "item/origlink", "entry/origlink":
		return l.Rel == "" || strings.EqualFold(l.Rel, "alternate")
	}
	return l.Where == "item/url" && f.x == nil // in JSON the page of the item; in XML the page of a person
}

// date reads a date of an item. If changed is true, it is the time of a change. Otherwise it is the
// time of publication, which is used only if no other date of the item is known.
func (f *feed) date(text string, changed bool) {
	if f.item && (changed || f.changed.IsZero()) {
		if t := parseDate(text); !t.IsZero() {
			f.changed = t
		}
	}
}

// maxTTL is the maximum ttl that is accepted, in minutes.
const maxTTL = 366 * 24 * 60

// rhythm reads an element that says how often the feed changes, such as ttl or updatePeriod.
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

// every returns the time between two changes of the feed, as the feed says itself. It returns 0 if
// the feed does not say.
func (d *dates) every() time.Duration {
	if d.ttl > 0 {
		return d.ttl
	}
	return d.period / time.Duration(max(d.frequency, 1))
}
