package crawler

import (
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// A slot is a worker slot: it has the data of one visit. Only that visit uses the slot, until
// the next visit takes it.
type slot struct {
	number int         // number of the slot in crawl.log
	db     *storage.DB // the storage of the visit; nil: none

	site  frontier.Site // site of the visit; empty while the slot is free
	since time.Time
	nth   int // the visit is the nth visit of the run
}

// slots hands out worker slots in turn, so that crawl.log shows the order of visits. The
// crawl.log of Heritrix has thread numbers in the place of slot numbers.
type slots struct {
	most int // usual number of slots; there are more if more visits run at once

	mu     sync.Mutex // guards the fields below, and all of a slot except the results of its visit
	all    []*slot
	visits int
}

// take returns a free slot for a visit: the one that has been free for longest.
func (d *slots) take(site frontier.Site) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	var one *slot
	for _, o := range d.all {
		if o.site == "" && (one == nil || o.nth < one.nth) {
			one = o
		}
	}
	if one == nil || len(d.all) < d.most {
		one = &slot{number: len(d.all)}
		d.all = append(d.all, one)
	}
	d.visits++
	one.site, one.since, one.nth = site, time.Now(), d.visits
	return one
}

func (d *slots) leave(one *slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.site = ""
}

// A scratch is the memory in which a visit reads its answer.
type scratch struct {
	found *findings
	own   Page           // the page of the visit, if it is not passed to the program
	links []extract.Link // memory for the links of own
}

// scratches has scratch values that are not in use. It is a pool, so that the value used last
// is used next, while it is still in the processor's cache.
var scratches = sync.Pool{New: func() any { return &scratch{found: newFindings()} }}

// maxScratch is the most links for which a pooled scratch keeps memory.
const maxScratch = 1 << 10

// page returns the Page to fill in the visit. It is a new one if programmed is true, because
// the program may keep it.
func (p *scratch) page(programmed bool) *Page {
	if programmed {
		return new(Page)
	}
	p.own.html.Links = p.links
	return &p.own
}

// clear removes the data of the visit from p, after the visit has ended.
func (p *scratch) clear() {
	p.found.clear()
	if links := p.own.html.Links; cap(links) > 0 && cap(links) <= maxScratch {
		clear(links)
		p.links = links[:0]
	}
	p.own = Page{}
}

// oldest returns the site and the start of the longest-running visit.
func (d *slots) oldest() (site frontier.Site, since time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		if one.site != "" && (!ok || one.since.Before(since)) {
			site, since, ok = one.site, one.since, true
		}
	}
	return site, since, ok
}
