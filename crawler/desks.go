package crawler

import (
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// A desk is where one visit works. What lies there is the visit's alone, until
// the next one sits down.
type desk struct {
	number int         // as it stands in the log
	db     *storage.DB // where the visit is kept: set and read by the visit alone; nil: nowhere

	site  frontier.Site // of the visit; empty while nobody is here
	since time.Time
	nth   int // of all visits
}

// desks are what Heritrix's log calls threads: numbers for the visits of one time.
// They are used in turn: each of them says in the log what came between.
type desks struct {
	most int // that are usual; there are more where there are more visits at once

	mu     sync.Mutex // guards what follows, and all of a desk but what a visit found
	all    []*desk
	visits int
}

// take gives a visit a desk, the one that was left to itself for longest.
func (d *desks) take(site frontier.Site) *desk {
	d.mu.Lock()
	defer d.mu.Unlock()
	var one *desk
	for _, o := range d.all {
		if o.site == "" && (one == nil || o.nth < one.nth) {
			one = o
		}
	}
	if one == nil || len(d.all) < d.most {
		one = &desk{number: len(d.all)}
		d.all = append(d.all, one)
	}
	d.visits++
	one.site, one.since, one.nth = site, time.Now(), d.visits
	return one
}

func (d *desks) leave(one *desk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.site = ""
}

// A paper is the memory that a visit writes to once there is an answer.
type paper struct {
	found *findings
	own   Page           // of visits of which no program sees the page
	links []extract.Link // of that
}

// papers are those that nobody writes to: not one for each desk, for desks are used in
// turn, and the processor still has at hand what was used last.
var papers = sync.Pool{New: func() any { return &paper{found: newFindings()} }}

// maxPaper is how many links are kept room for.
const maxPaper = 1 << 10

// page is memory for the page of the visit. A program may keep what it is given: then it
// is new.
func (p *paper) page(programmed bool) *Page {
	if programmed {
		return new(Page)
	}
	p.own.html.Links = p.links
	return &p.own
}

// clear forgets the visit, whose turn was given back.
func (p *paper) clear() {
	p.found.clear()
	if links := p.own.html.Links; cap(links) > 0 && cap(links) <= maxPaper {
		clear(links)
		p.links = links[:0]
	}
	p.own = Page{}
}

// oldest is the visit that has been under way for the longest time.
func (d *desks) oldest() (site frontier.Site, since time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		if one.site != "" && (!ok || one.since.Before(since)) {
			site, since, ok = one.site, one.since, true
		}
	}
	return site, since, ok
}
