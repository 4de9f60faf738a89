package crawler

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// A Job is what a visit needs: who asks, what belongs to the crawl, the fetcher,
// the handler, where the answers go, and the counts. Where its turns come from is
// not its business: a Crawler is a Job with a frontier, a directory and workers
// around it, on one machine.
//
// Visits run side by side. What they share is either never changed, or has a lock of
// its own, held for no longer than a look or a count: so a Job needs none.
type Job struct {
	// Set by newJob, and never changed.
	opts       Options    // checked
	listed     bool       // nothing but seeds is in its scope
	bySite     bool       // whether a link is wanted depends on its site alone
	tell       func(Skip) // is skipLink: made once
	handler    Handler    // nil: none
	programmed bool       // what is given a page may be the program's own
	digests    bool       // fates have those of their bodies: somebody may look at them
	sumSeed    uint64     // see bodySum
	rooms      Rooms
	sites      *sites
	memory     *remembered    // of pages that were fetched before
	fetcher    *fetch.Fetcher // which relies on one visit of a site at a time, as turns are

	counts    counts       // each adds to them as it comes to something; nothing is taken away
	repeats   repeats      // of pages that were fetched: every visit with a page adds its own
	traps     traps        // the spaces that links lead into: every visit adds what it finds
	lists     lists        // the sitemaps that are read: every visit of one waits for room
	told      told         // the sitemaps that were queued: every visit adds those of its robots.txt
	sitemaps  sitemapTally // the figures of sitemaps: every visit that meets one adds to them
	unreadUse atomic.Int64 // documents about use that could not be read: every visit adds its own
	desks     desks        // of the visits under way: the visit that took one gives it back
}

// Rooms are what a Job does not make itself, since they outlive it or are not for
// it alone. The zero value is a job that keeps nothing.
type Rooms struct {
	// Snapshots keeps the robots.txt of every site that is asked; nil: in memory.
	Snapshots fetch.Snapshots

	// DB is where the visits of a site are kept: the log, the answers, the pages,
	// as far as Options.Output says, and the roots of the scope. It must be open
	// while a visit is under way, and always be the same for one site. It is called
	// once by every visit, several at once, and once for a site that has settings of its
	// own. nil: nowhere.
	DB func(frontier.Site) *storage.DB

	// Stop is called when the handler returns ErrStop, before that visit gives its
	// turn back: whoever hands out turns is to hand out no more. nil: nobody is
	// told.
	Stop func()

	ownSites bool // DB keeps settings of sites from an earlier run
}

// NewJob checks the options and brings the surroundings of their seeds into scope.
// Who uses the job queues the seeds, and sees to the limits: of the options only
// those count that are about one visit. SiteLimits are those of single sites; with Revisit
// the frontier needs frontier.Options.Revisits. The error
// is an *OptionError.
func NewJob(opts Options, h Handler, rooms Rooms) (*Job, error) {
	if _, err := opts.prepare(); err != nil {
		return nil, err
	}
	return newJob(opts, h, rooms)
}

// newJob needs options that are prepared.
func newJob(o Options, h Handler, rooms Rooms) (*Job, error) {
	j := &Job{
		opts: o, listed: isList(o.Scope), bySite: o.bySite(), handler: h, programmed: h != nil || o.programmed(), digests: true, sumSeed: rand.Uint64(), rooms: rooms,
		desks: desks{most: o.Concurrency}, lists: make(lists, maxLists), counts: counts{recent: recent{began: time.Now()}},
	}
	j.sites, j.tell = &sites{opts: &j.opts}, j.skipLink
	if rooms.ownSites {
		j.sites.db = rooms.DB
	}
	wire := fetch.Options{
		Policy: o.policy(), Purpose: o.Purpose, OptOut: j.sites.optedOut,
		UserAgent: o.Identity.UserAgent(), From: o.Identity.From(),
		Network: o.Network, Snapshots: rooms.Snapshots, RootCAs: o.RootCAs,
		ConnectTo: o.ConnectTo, AllowPrivate: o.AllowPrivate, Timeout: o.Timeout, MaxSize: o.MaxSize, KeepWire: rooms.DB != nil && o.writes(OutputWARC),
		Lend:  h == nil, // a handler may keep what it is given
		Proxy: o.Proxy, Header: o.Header, Bandwidth: o.Bandwidth,
		BodyBudget: o.BodyBudget, TempDir: o.Dir,
		MaxHosts: o.bounds.hosts, MaxIdle: o.bounds.idle, MaxNames: o.bounds.names,
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

// Close closes connections that are kept open. No visit may be under way.
func (j *Job) Close() { j.fetcher.Close() }

// Counts are the figures of all visits so far. It may be called at any time, from
// any goroutine.
func (j *Job) Counts() Counts {
	n := j.counts.snapshot()
	n.Sitemaps = j.sitemaps.counts()
	return n
}

// Oldest is the visit that has been under way for the longest time, and since
// when; ok is false if none is. It may be called at any time, from any goroutine.
func (j *Job) Oldest() (site frontier.Site, since time.Time, ok bool) { return j.desks.oldest() }

// db is where visits of a site are kept; nil: nowhere.
func (j *Job) db(site frontier.Site) *storage.DB {
	if j.rooms.DB == nil {
		return nil
	}
	return j.rooms.DB(site)
}
