package crawler

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// findings holds the links that a visit has found on its page. Its memory is reused for other
// pages.
type findings struct {
	seen map[string]struct{} // keys (URL.Key) of all links
	// Keys of links that were refused as links to pages; such a URL may still be queued if the page
	// also shows it, for example as an image.
	refused  map[string]struct{}
	noFollow map[string]struct{} // keys of links that are marked nofollow
	entries  []frontier.Entry
	tagged   []frontier.Entry // the entries to which the handler gave a tag
}

// maxFindings is the maximum number of links for which clear keeps the memory. After a page with
// more links, clear allocates new memory.
const maxFindings = 1024

func newFindings() *findings {
	return &findings{seen: map[string]struct{}{}, refused: map[string]struct{}{}, noFollow: map[string]struct{}{}}
}

// clear removes the links of the last page.
func (f *findings) clear() {
	if len(f.seen) > maxFindings {
		*f = *newFindings()
		return
	}
	clear(f.seen)
	clear(f.refused)
	clear(f.noFollow)
	clear(f.entries)
	clear(f.tagged)
	f.entries, f.tagged = f.entries[:0], f.tagged[:0]
}

// A slot is a worker slot. It holds the data of one visit, and is free again after that visit.
type slot struct {
	number int       // number of the slot in crawl.log
	db     *store.DB // the storage of the visit; nil if it stores nothing

	site  frontier.Site // site of the visit; empty while the slot is free
	since time.Time
	nth   int // number of the visit, counted from 1 in this run
}

// slots hands out the slot that has been free for longest, so that the slot numbers in crawl.log
// show the order of visits. In the crawl.log of Heritrix this column has the numbers of threads.
type slots struct {
	most int // usual number of slots; there are more if more visits run at once

	// Guards the fields below, and the fields site, since and nth of all slots.
	mu     sync.Mutex
	all    []*slot
	visits int
}

// take returns a slot for a visit of site: the slot that has been free for longest, or a new one.
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

func (d *slots) release(one *slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.site = ""
}

// A scratch is reusable memory for the page of a visit and its links.
type scratch struct {
	found *findings
	own   Page           // the page of the visit, if it is not passed to the program
	links []extract.Link // memory for the links of own
}

// scratches is a pool of scratch values. A pool returns the value that was used last, which is
// likely to be still in the processor's cache.
var scratches = sync.Pool{New: func() any { return &scratch{found: newFindings()} }}

// maxScratch is the maximum number of links for which a pooled scratch keeps memory.
const maxScratch = 1 << 10

// page returns the Page that the visit fills in. If programmed is true, it is a new one, because
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

// oldest returns the site and the start of the visit that has been running longest. ok is false if
// no visit is running.
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

// A runningVisit describes a visit that has not ended.
type runningVisit struct {
	site  frontier.Site
	since time.Time
}

// running returns the n visits that have been running longest, in the order in which they began.
func (d *slots) running(n int) (all []runningVisit) {
	d.mu.Lock()
	for _, one := range d.all {
		if one.site != "" {
			all = append(all, runningVisit{one.site, one.since})
		}
	}
	d.mu.Unlock()
	slices.SortFunc(all, func(a, b runningVisit) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.site, b.site)) })
	return all[:min(n, len(all))]
}
