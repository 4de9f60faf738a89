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

// embeds reports whether the links of pages to requisites (images, scripts ...) are needed.
func (o *Options) embeds() bool { return o.Requisites || o.writes(OutputLinks) }

// reading returns the options for reading pages. To read the text of links is expensive. So
// this text is read at once only if Options.Links or OutputLinks needs it for each link.
// Otherwise Page.Links reads the text when it is called.
func (o *Options) reading() extract.Options {
	_, dates := o.Revisit.(revisit.Believer)
	return extract.Options{Token: o.Identity.Token, Aliases: o.Aliases, Embeds: o.embeds(), Forms: o.Forms, Text: o.Links != nil || o.writes(OutputLinks), Changes: dates}
}

func (o *Options) writes(out Output) bool { return slices.Contains(o.Output, out) }

// maxComparing is how many archived bodies are in memory for comparison at once.
const maxComparing = 2

// SiteLimits returns the limits of a site that Options.Site has set. A program that runs a job
// must call it before the first request to a site, for instance as frontier.Options.Site. The
// error is an *OptionError if the settings are not valid, or a *PanicError if Site has
// panicked. After an error the program must end the crawl.
func (j *job) SiteLimits(site frontier.Site) (frontier.SiteLimits, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return frontier.SiteLimits{}, err
	}
	return frontier.SiteLimits{Delay: a.Delay, Max: frontier.Spent{Pages: a.MaxPages, Bytes: a.MaxBytes, Time: a.MaxTime}}, nil
}

// siteWire returns the options of the fetcher for one site.
func (j *job) siteWire(site frontier.Site) (fetch.SiteOptions, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return fetch.SiteOptions{}, err
	}
	return fetch.SiteOptions{AllowForbidden: a.AllowForbidden, Header: a.Header}, nil
}

// siteInForce returns the settings of a site. It must be called before a request to the site.
// If the site has settings of its own, or had some in an earlier run, the first call logs its
// settings.
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

// logSite writes the settings that a site has of its own to crawl.log and to the state, before
// requests to the site are logged. If the site has none any more, but had some in an earlier
// run, it writes that there are none.
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

// givenTags are the tags that handlers have given to links. An entry that was queued before its
// URL got a tag, for example because a sitemap named it, gets the tag when it is visited.
type givenTags struct {
	db func(frontier.Site) *store.DB // where the tags are stored; nil: in byKey

	mu    sync.Mutex
	byKey map[string]string // tags by frontier.Entry.Key
}

// put stores the tags of entries.
func (g *givenTags) put(entries []frontier.Entry) error {
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

// retag sets the tag of e, which is about to be visited. db is the storage of its site, or nil.
func (g *givenTags) retag(db *store.DB, e *frontier.Entry) error {
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

// An admission decides whether a URL that was found enters the crawl: by the scope, the
// depth, the filters, the opt-out list, and the settings of its site.
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

// unwanted returns why a URL that was found is not queued, or Undecided if it is.
func (a *admission) unwanted(e *frontier.Entry) frontier.Code {
	reason := a.rules.Unwanted(e)
	if reason == frontier.Undecided && a.sites.of(e.URL.Site()).Exclude {
		return frontier.OptedOut
	}
	return reason
}

// narrowed returns why e is outside the depth, the filters or the scope of the crawl, or
// Undecided if it is inside all of them.
func (a *admission) narrowed(e *frontier.Entry) frontier.Code { return a.rules.Narrowed(e) }

// maxQueuedLists is the most sites that queuedLists remembers.
const maxQueuedLists = 1 << 14

// maxLists is how many sitemaps are read at once. It is small, because even a small file may
// list 50,000 pages.
const maxLists = 2

// listSlots is a semaphore that limits how many sitemaps are read at once.
type listSlots chan struct{}

// enter waits for a free slot; leave releases it. The error is that of ctx.
func (l listSlots) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queuedLists remembers for which sites the sitemaps of robots.txt were queued in this run. If
// a site is forgotten, its sitemaps are queued once more, which has no effect.
type queuedLists struct {
	mu    sync.Mutex // guards sites: every visit takes it once
	sites map[frontier.Site]time.Time
}

// first returns false if the sitemaps that are named in s, the robots.txt of a site, were
// queued before. Otherwise it returns true, and remembers that they are queued now.
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

// remembered looks up pages that were fetched before: in the previous crawl, or, with
// Options.Revisit, in this crawl.
type remembered struct {
	past *store.Past // the previous crawl; nil: none

	// comparing limits how many archived bodies are read for comparison at once. These bodies
	// do not count for Options.BodyBudget. If they did, visits could wait for ever: each visit
	// holds a part of the budget for the new body of its page while it waits for another part.
	comparing chan struct{}

	mu     sync.Mutex      // guards the fields below: each visit of a page reads them
	logged bool            // it was logged that an archived answer cannot be read
	plain  map[string]bool // URLs whose archived answer was unusable: they are requested without a condition
}

// remember returns a new remembered for the crawl. If the options name a previous crawl, it
// opens that crawl.
func (o *Options) remember() (*remembered, error) {
	m := &remembered{comparing: make(chan struct{}, maxComparing), plain: map[string]bool{}}
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

// maxBody calls Options.MaxBody. A panic in it ends the crawl: the visit returns it as an error.
func (j *job) maxBody(x *fetch.Exchange) (most int64) {
	if err := safely("MaxBody", func() { most = j.opts.MaxBody(x) }); err != nil {
		j.panicked.Store(&err)
	}
	return most
}

// skipLink counts a link whose URL is not queued, and passes it to OnSkip.
func (j *job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Code) })
	j.skip(s)
}

// skipURL counts a queued URL that ended without a page, and passes it to OnSkip.
func (j *job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Code) })
	j.skip(s)
}

func (j *job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}

// network returns the network for requests. In a crawl of several nodes it sends nothing after the
// lease of this node has ended, because another node may have its sites then.
func (d *jobDeps) network(n fetch.Network) fetch.Network {
	if d.cluster == nil {
		return n
	}
	if n == nil {
		n = new(machineNetwork)
	}
	return leasedNetwork{n, d.cluster.May}
}
