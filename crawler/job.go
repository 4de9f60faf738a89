package crawler

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A job visits URLs. It has what a visit needs: the identity, the scope, the fetcher, the
// handler, the storage, and the counts. It does not decide when a URL is visited: the frontier
// does. A Crawler, which is a crawl on one machine, has a job and a frontier.
//
// Visits run concurrently. Each field that they share is either constant or has a lock of its
// own, which is held for a short time only. So the job itself has no lock.
type job struct {
	// Set by newJob, then constant.
	opts       Options    // checked
	listed     bool       // only the seeds are in scope
	bySite     bool       // the decision to queue a link depends on the link's site only
	onSkip     func(Skip) // the method value j.skipLink, made once to save allocations
	handler    Handler    // nil: none
	programmed bool       // a function of the program is called with pages, and may keep them
	digests    bool       // the frontier.Fate of each page has the digest of its body, for hooks and for comparison
	sumSeed    uint64     // secret seed of the hashes that bodySum and sitemapSum return
	deps       jobDeps
	sites      *sites
	admits     admission
	memory     *remembered    // looks up what was stored about pages that were fetched before
	fetcher    *fetch.Fetcher // must not be used by two visits of one site at the same time; they never are, because each visit needs the turn of its site

	counts      counts                // every visit adds to them
	repeats     repeats               // counts equal bodies of pages: every visit with a page adds to it
	traps       admit.Traps           // endless spaces of URLs that links lead into: every visit adds to it
	listSlots   listSlots             // limits how many sitemaps are read at once: the visit of a sitemap waits for a free slot
	queuedLists queuedLists           // the sitemaps that were queued: every visit adds those of its robots.txt
	sitemaps    sitemapTally          // the figures of sitemaps: every visit of one adds to them
	panicked    atomic.Pointer[error] // the panic of Options.MaxBody, which ends the crawl
	tags        givenTags             // the tags that handlers gave to links: every visit reads them, and adds to them
	unreadUse   atomic.Int64          // number of tdmrep.json files and licenses that could not be read
	slots       slots                 // the worker slots of the running visits
}

// jobDeps are what a job uses but does not own: they may outlive the job, or be shared by
// several jobs. A job with the zero jobDeps stores nothing.
type jobDeps struct {
	// Snapshots stores the robots.txt of every site; nil: they are kept in memory.
	Snapshots fetch.Snapshots

	// DB returns the storage of a site's visits: the log, the answers and the pages (as
	// Options.Output says), and the roots of the scope (URLs at which redirects of seeds end).
	// The storage that it returns must be open during the visit, and always be the same for one
	// site. DB is called concurrently: once by every visit, and once more for a site that has
	// settings of its own. If DB is nil, nothing is stored.
	DB func(frontier.Site) *store.DB

	// Stop is called when the handler returns ErrStop, before the visit is over. After that the
	// caller should start no more visits. Stop may be nil.
	Stop func()

	cluster  clusterOf // nil: the crawl has no other nodes
	ownSites bool      // the storage has settings of sites from an earlier run
}

// newJob returns a job for options on which prepare was called.
func newJob(o Options, h Handler, deps jobDeps) (*job, error) {
	j := &job{
		opts: o, listed: isList(o.Scope), bySite: o.bySite(), handler: h, programmed: h != nil || o.programmed(), digests: true, sumSeed: rand.Uint64(), deps: deps,
		slots: slots{most: o.Concurrency}, listSlots: make(listSlots, maxLists), counts: counts{recent: recent{began: time.Now()}},
	}
	j.sites, j.onSkip = &sites{opts: &j.opts}, j.skipLink
	j.admits = newAdmission(&j.opts, j.sites)
	j.tags.db, j.tags.byKey = deps.DB, map[string]string{}
	if deps.ownSites {
		j.sites.db = deps.DB
	}
	wire := fetch.Options{
		Policy: o.policy(), Purpose: o.Purpose, OptOut: j.sites.optedOut,
		UserAgent: o.Identity.UserAgent(), From: o.Identity.From(),
		Network: deps.network(o.Network), Snapshots: deps.Snapshots, RootCAs: o.RootCAs,
		ConnectTo: o.ConnectTo, AllowPrivate: o.AllowPrivate, Timeout: o.Timeout,
		Bodies: fetch.Bodies{
			MaxSize: o.MaxSize, KeepWire: deps.DB != nil && o.writes(OutputWARC), BodyBudget: o.BodyBudget, TempDir: o.Dir,
			Lend: h == nil && o.Links == nil, // these functions get pages, and may keep or change them
		},
		Proxy: o.Proxy, Header: o.Header, Signing: o.Signing, Bandwidth: o.Bandwidth,
		Bounds: fetch.Bounds{MaxHosts: o.bounds.hosts, MaxIdle: o.bounds.idle, MaxNames: o.bounds.names},
	}
	if o.MaxBody != nil {
		wire.MaxBody = j.maxBody
	}
	if j.sites.any() {
		wire.Site = j.siteWire
	}
	var err error
	if j.memory, err = j.opts.remember(); err != nil {
		return nil, err
	}
	if j.fetcher, err = fetch.New(wire); err != nil {
		return nil, err
	}
	return j, nil
}

// Close closes idle connections. No visit may be running.
func (j *job) Close() { j.fetcher.Close() }

// Counts returns the figures of all visits so far. It may be called at any time, from any
// goroutine.
func (j *job) Counts() Counts {
	n := j.counts.snapshot()
	n.Sitemaps = j.sitemaps.counts()
	return n
}

// oldest returns the longest-running visit, and its start; ok is false if no visit is running.
// It may be called at any time, from any goroutine.
func (j *job) oldest() (site frontier.Site, since time.Time, ok bool) { return j.slots.oldest() }

// db returns the storage of a site's visits, or nil if they are not stored.
func (j *job) db(site frontier.Site) *store.DB {
	if j.deps.DB == nil {
		return nil
	}
	return j.deps.DB(site)
}

// A slot is a worker slot. It has the data of one visit. No other visit uses it until that
// visit has ended.
type slot struct {
	number int       // number of the slot in crawl.log
	db     *store.DB // the storage of the visit; nil: none

	site  frontier.Site // site of the visit; empty while the slot is free
	since time.Time
	nth   int // the visit is the nth visit of the run
}

// slots hands out worker slots in turn, so that the slot numbers in crawl.log show the order of
// visits. In the crawl.log of Heritrix this column has the numbers of threads.
type slots struct {
	most int // usual number of slots; there are more if more visits run at once

	mu     sync.Mutex // guards the fields below, and the fields site, since and nth of all slots
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

// A scratch is memory for the page of a visit and its links, which later visits reuse.
type scratch struct {
	found *findings
	own   Page           // the page of the visit, if it is not passed to the program
	links []extract.Link // memory for the links of own
}

// scratches has scratch values that are not in use. A pool gives out the value that was used
// last, which is likely to be still in the processor's cache.
var scratches = sync.Pool{New: func() any { return &scratch{found: newFindings()} }}

// maxScratch is the most links for which a pooled scratch keeps memory.
const maxScratch = 1 << 10

// page returns the Page that the visit fills. If programmed is true, it is a new one, because
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

// A runningVisit is a visit that has not ended.
type runningVisit struct {
	site  frontier.Site
	since time.Time
}

// running returns the n running visits that began first, the first of them first.
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
