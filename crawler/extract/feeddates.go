package extract

import (
	"strconv"
	"strings"
	"time"
)

// dates are what a feed says about times: of an item when it was changed, and of the feed
// how often there is something new.
type dates struct {
	changes bool // those of items are asked for
	item    bool // one has begun
	first   int  // of its links
	changed time.Time

	ttl       time.Duration // RSS 2.0: for how long the feed may be kept
	period    time.Duration // syndication module of RSS 1.0: updatePeriod,
	frequency uint64        // and how often in that: updateFrequency
}

func (f *feed) beginItem() { f.item, f.first, f.changed = true, len(f.c.doc.Links), time.Time{} }

// endItem notes when the pages of the item that ends were changed.
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
		if l := &links[i]; f.itself(l) {
			f.c.doc.Changes = append(f.c.doc.Changes, Change{l.URL, f.changed})
		}
	}
}

// itself reports whether a link of an item leads to the page that it is about.
func (f *feed) itself(l *Link) bool {
	switch l.Where {
	case "item/link", "entry/link", "item/guid", "item/origlink", "entry/origlink":
		return l.Rel == "" || strings.EqualFold(l.Rel, "alternate")
	}
	return l.Where == "item/url" && f.x == nil // of JSON; elsewhere it is that of a person
}

// date takes a date of an item. When it was published counts where nothing says when it
// was changed.
func (f *feed) date(text string, changed bool) {
	if f.item && (changed || f.changed.IsZero()) {
		if t := parseDate(text); !t.IsZero() {
			f.changed = t
		}
	}
}

// maxTTL is the longest, in minutes, that is one.
const maxTTL = 366 * 24 * 60

// rhythm takes what a feed says about how often there is something new.
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

// every is how often there is something new; 0 where the feed does not say.
func (d *dates) every() time.Duration {
	if d.ttl > 0 {
		return d.ttl
	}
	return d.period / time.Duration(max(d.frequency, 1))
}
