package crawler

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A job visits URLs: it fetches a URL, stores the answer and calls the handler. It has everything
// that a visit needs. It does not decide when a URL is visited: the frontier does.
//
// Visits run concurrently. A field that several visits use is either constant or has a short-held
// lock of its own. So the job itself has no lock.
type job struct {
	// newJob sets these fields; afterwards they are constant.
	opts       Options    // validated
	seedsOnly  bool       // only the seeds are in scope
	bySite     bool       // the decision to queue a link depends only on the link's site
	onSkip     func(Skip) // j.skipLink, made once to save allocations
	handler    Handler    // may be nil
	programmed bool       // a function of the program gets the pages, and may keep them
	// The digest of each page's body is in its frontier.Fate, for hooks and for comparison.
	digests   bool
	sumSeed   uint64 // random seed for the hashes of bodySum and sitemapSum
	deps      jobDeps
	sites     *sites
	admits    admission
	pastPages *pastPages // looks up the stored data of pages that were fetched before
	// Two visits of one site must not use it at the same time; they never do, because each visit
	// needs the turn of its site, the right to make one request.
	fetcher *fetch.Fetcher

	counts  counts      // the figures of all visits
	repeats repeats     // counts the pages that have equal bodies
	traps   admit.Traps // recognizes endless spaces of URLs, such as calendars
	// Limits the number of sitemaps that are read at once; the visit of a sitemap waits for a free
	// slot.
	listSlots   listSlots
	queuedLists queuedLists  // remembers the sites whose sitemaps were queued
	sitemaps    sitemapTally // the figures of the sitemaps that were read
	// The panic of Options.MaxBody, which ends the crawl; nil if it did not panic.
	panicked  atomic.Pointer[error]
	tags      handlerTags  // the tags that handlers gave to links
	unreadUse atomic.Int64 // number of tdmrep.json files and licenses that could not be read
	slots     slots        // the worker slots of the running visits
}

// jobDeps holds what a job uses but does not own: objects that may outlive the job, or that several
// jobs share. A job with the zero jobDeps stores nothing.
type jobDeps struct {
	// Snapshots stores the robots.txt of every site. If it is nil, they are kept in memory.
	Snapshots fetch.Snapshots

	// DB returns the storage for the visits of a site. The storage keeps the log, the answers and
	// the pages (as Options.Output says), and the URLs at which redirects of seeds end. It must be
	// open during the visit, and must always be the same for one site. DB is called concurrently:
	// once for every visit, and once more for a site that has settings of its own. If DB is nil,
	// nothing is stored.
	DB func(frontier.Site) *store.DB

	// Stop is called when the handler returns ErrStop, before the end of the visit. After that the
	// caller should start no more visits. Stop may be nil.
	Stop func()

	cluster  clusterOf // nil if the crawl has no other nodes
	ownSites bool      // an earlier run stored settings of single sites
}

// newJob returns a job for the options o, which prepare has completed and checked.
func newJob(o Options, h Handler, deps jobDeps) (*job, error) {
	j := &job{
		opts: o, seedsOnly: isList(o.Scope), bySite: o.bySite(), handler: h, programmed: h != nil || o.programmed(), digests: true, sumSeed: rand.Uint64(), deps: deps,
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
			// Only if no function of the program gets pages, because such a function may keep or
			// change their bodies.
			Lend: h == nil && o.Links == nil,
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
	if j.pastPages, err = j.opts.openPastPages(); err != nil {
		return nil, err
	}
	if j.fetcher, err = fetch.New(wire); err != nil {
		return nil, err
	}
	return j, nil
}

// Close closes idle connections. No visit may be running.
func (j *job) Close() { j.fetcher.Close() }

// Counts returns the figures of all visits so far. It may be called at any time and from any
// goroutine.
func (j *job) Counts() Counts {
	n := j.counts.snapshot()
	n.Sitemaps = j.sitemaps.counts()
	return n
}

// oldest returns the site and the start of the visit that has been running longest. ok is false if
// no visit is running. It may be called at any time and from any goroutine.
func (j *job) oldest() (site frontier.Site, since time.Time, ok bool) { return j.slots.oldest() }

// db returns the storage for the visits of a site, or nil if they are not stored.
func (j *job) db(site frontier.Site) *store.DB {
	if j.deps.DB == nil {
		return nil
	}
	return j.deps.DB(site)
}

// embeds reports whether the crawl needs the links of pages to images, scripts and style sheets.
func (o *Options) embeds() bool { return o.Requisites || o.writes(OutputLinks) }

// reading returns the options for reading pages. The text of links takes much time to read. So it
// is read with the page only if Options.Links or OutputLinks needs it. Otherwise Page.Links reads
// the text when it is called.
func (o *Options) reading() extract.Options {
	_, dates := o.Revisit.(revisit.Believer)
	return extract.Options{Token: o.Identity.Token, Aliases: o.Aliases, Embeds: o.embeds(), Forms: o.Forms, Text: o.Links != nil || o.writes(OutputLinks), Changes: dates}
}

func (o *Options) writes(out Output) bool { return slices.Contains(o.Output, out) }

// maxComparing is the number of archived bodies that are in memory for comparison at once.
const maxComparing = 2

// SiteLimits returns the limits that Options.Site has set for a site. A program that runs a job
// must call it before the first request to a site, for instance as frontier.Options.Site. The error
// is an *OptionError if the settings are not valid, or a *PanicError if Site panicked. After an
// error the program must end the crawl.
func (j *job) SiteLimits(site frontier.Site) (frontier.SiteLimits, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return frontier.SiteLimits{}, err
	}
	return frontier.SiteLimits{Delay: a.Delay, Max: frontier.Spent{Pages: a.MaxPages, Bytes: a.MaxBytes, Time: a.MaxTime}}, nil
}

// siteWire returns the options of the fetcher for one site: its extra header fields, and whether
// URLs that its robots.txt forbids may be requested.
func (j *job) siteWire(site frontier.Site) (fetch.SiteOptions, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return fetch.SiteOptions{}, err
	}
	return fetch.SiteOptions{AllowForbidden: a.AllowForbidden, Header: a.Header}, nil
}

// siteInForce returns the settings of a site. It must be called before a request to the site. The
// first call for a site writes the settings to the log if the site has settings of its own, or had
// some in an earlier run.
func (j *job) siteInForce(site frontier.Site) (*siteAnswer, error) {
	a := j.sites.of(site)
	if a.err != nil {
		return nil, a.err
	}
	if a != usualSite && a.logged.CompareAndSwap(false, true) {
		return a, j.logSite(site, a)
	}
	return a, nil
}

// logSite writes the settings of its own that a site has to crawl.log and to the state. This
// happens before requests to the site are logged. If the site had settings in an earlier run and
// now has none, logSite writes an empty list of settings.
func (j *job) logSite(site frontier.Site, a *siteAnswer) error {
	now := kept.OfSite{Own: j.opts.ownSettings(&a.SiteOptions), Reason: a.Reason}
	notes := []string{"site:" + string(site)}
	said := []any{"site", string(site)}
	for _, own := range now.Own {
		if own.Wider {
			notes = append(notes, "allows:"+own.Name+"="+own.Value)
			said = append(said, "allows", own.Name+"="+own.Value)
		} else {
			notes = append(notes, "own:"+own.Name+"="+own.Value)
		}
	}
	if a.Reason != "" {
		notes = append(notes, "reason:"+a.Reason)
		j.opts.Logger.Info("a site has settings of its own", append(said, "reason", a.Reason)...)
	}
	db := j.db(site)
	if db == nil || a.Exclude {
		return nil
	}
	err := db.Put(kept.KeySite+string(site), now)
	return errors.Join(err, db.Log().Write(&crawllog.Line{Time: time.Now(), Size: -1, URL: crawllog.RunURL, Annotations: notes}))
}

// handlerTags holds the tags that handlers have given to links. It is needed for an entry that was
// queued before its URL got a tag, for example because a sitemap named the URL. Such an entry gets
// its tag when it is visited.
type handlerTags struct {
	db func(frontier.Site) *store.DB // the storage for the tags of a site; nil: they are kept in byKey

	mu    sync.Mutex
	byKey map[string]string // tags by frontier.Entry.Key
}

// put stores the tag of each entry.
func (g *handlerTags) put(entries []frontier.Entry) error {
	for i := range entries {
		e := &entries[i]
		if g.db != nil {
			if err := g.db(e.URL.Site()).PutTag(e); err != nil {
				return err
			}
			continue
		}
		g.mu.Lock()
		g.byKey[e.Key()] = e.Tag
		g.mu.Unlock()
	}
	return nil
}

// retag sets the tag of e to the tag that a handler has given to its URL. It is called before the
// visit of e. db is the storage of its site, or nil. A seed keeps its tag.
func (g *handlerTags) retag(db *store.DB, e *frontier.Entry) error {
	switch {
	case e.Hops == "":
		return nil
	case db != nil:
		return db.Retag(e)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if tag, ok := g.byKey[e.Key()]; ok {
		e.Tag = tag
	}
	return nil
}

// An admission decides whether a URL that was found is queued. The decision depends on the scope,
// the depth, the filters, the opt-out list, and the settings of the URL's site.
type admission struct {
	rules admit.Rules
	sites *sites
}

// newAdmission returns the admission of a crawl with the options o, which are validated and never
// change.
func newAdmission(o *Options, s *sites) admission {
	return admission{admit.Rules{
		OptOut: o.OptOut, Scope: func(e frontier.Entry) bool { return o.Scope.Contains(e) }, Site: s.contains,
		Include: o.Include, Exclude: o.Exclude, Depth: o.Depth, Requisites: o.Requisites, NoSitemaps: o.Sitemaps == SitemapsNone,
	}, s}
}

// unwanted returns the reason why e is not queued, or Undecided if it is queued.
func (a *admission) unwanted(e *frontier.Entry) frontier.Code {
	reason := a.rules.Unwanted(e)
	if reason == frontier.Undecided && a.sites.of(e.URL.Site()).Exclude {
		return frontier.OptedOut
	}
	return reason
}

// narrowed returns the reason why e is outside the depth, the filters or the scope of the crawl. It
// returns Undecided if e is inside all of them.
func (a *admission) narrowed(e *frontier.Entry) frontier.Code { return a.rules.Narrowed(e) }

// maxQueuedLists is the maximum number of sites that queuedLists remembers.
const maxQueuedLists = 1 << 14

// maxLists is the maximum number of sitemaps that are read at once. It is small, because even a
// small file may list 50,000 pages.
const maxLists = 2

// listSlots is a semaphore that limits how many sitemaps are read at once.
type listSlots chan struct{}

// enter waits for a free slot and takes it. The function leave releases the slot. If ctx ends
// first, enter returns its cause as the error.
func (l listSlots) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queuedLists remembers the sites for which the sitemaps of robots.txt were queued in this run. It
// may forget sites to save memory. The sitemaps of a forgotten site are queued again, which has no
// effect.
type queuedLists struct {
	mu    sync.Mutex // guards sites; every visit locks it once
	sites map[frontier.Site]time.Time
}

// first reports whether the sitemaps that s names must be queued now. s is the robots.txt of site.
// It returns true once for each copy of robots.txt.
func (t *queuedLists) first(site frontier.Site, s *robots.Snapshot) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, known := t.sites[site]; known && at.Equal(s.Fetched) {
		return false
	}
	if t.sites == nil || len(t.sites) >= maxQueuedLists {
		t.sites = map[frontier.Site]time.Time{}
	}
	t.sites[frontier.Site(strings.Clone(string(site)))] = s.Fetched // cloned, because a substring would keep the whole URL in memory
	return true
}

// pastPages looks up pages that were fetched before: in the previous crawl, or, with
// Options.Revisit, in this crawl.
type pastPages struct {
	past *store.Past // the previous crawl; nil if none exists

	// comparing limits the number of archived bodies that are in memory for comparison. These
	// bodies do not count for Options.BodyBudget. If they did, visits could wait for ever: each
	// visit would hold a part of the budget for its new body while it waits for another part.
	comparing chan struct{}

	mu sync.Mutex // guards the fields below, which each visit of a page reads
	// An unreadable archived answer was logged; further ones are only counted.
	logged bool
	// URLs with an unusable archived answer; they are requested without a condition
	plain map[string]bool
}

// openPastPages returns a new pastPages for the crawl. If Options.Previous is set, it opens that
// crawl, and fails if that cannot be opened.
func (o *Options) openPastPages() (*pastPages, error) {
	m := &pastPages{comparing: make(chan struct{}, maxComparing), plain: map[string]bool{}}
	if o.Previous == "" {
		return m, nil
	}
	past, err := store.OpenPast(o.Previous)
	if err != nil {
		return nil, err
	}
	if !past.Remembers() {
		o.Logger.Warn("the crawl before has no archive: every page is requested as if it were new", "dir", o.Previous)
		return m, nil
	}
	m.past = past
	return m, nil
}

// maxBody calls Options.MaxBody for the answer x. A panic in MaxBody is stored, and ends the crawl
// at the end of the visit.
func (j *job) maxBody(x *fetch.Exchange) (most int64) {
	if err := safely("MaxBody", func() { most = j.opts.MaxBody(x) }); err != nil {
		j.panicked.Store(&err)
	}
	return most
}

// skipLink counts a link whose URL is not queued, and passes it to Options.OnSkip.
func (j *job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Code) })
	j.skip(s)
}

// skipURL counts a queued URL that ended without a page, and passes it to Options.OnSkip.
func (j *job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Code) })
	j.skip(s)
}

func (j *job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}

// network returns the network for requests, which is n or by default that of this machine. In a
// crawl of several nodes it sends nothing after the lease of this node has ended, because another
// node may then have its sites.
func (d *jobDeps) network(n fetch.Network) fetch.Network {
	if d.cluster == nil {
		return n
	}
	if n == nil {
		n = new(machineNetwork)
	}
	return leasedNetwork{n, d.cluster.May}
}
