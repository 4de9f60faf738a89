package crawler

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Keys of the values that a crawl stores about itself.
const (
	keyRoot  = kept.KeyRoot  // prefix of URLs at which redirects of a seed ended
	keyAsked = kept.KeyAsked // the options of the last run
)

// A Crawler is one crawl on one machine. It has a job, which fetches single URLs, a frontier,
// which decides what is fetched when, workers, and a directory. Run can be called once only.
type Crawler struct {
	opts  Options // checked; never changed
	seeds []frontier.Entry
	idle  *Summary // the summary that Idle has computed; nil: Idle was not called, or has returned false
	join  func()   // begins to share the crawl with other nodes; nil: there are none

	// Set by Run before started is closed; read only after that.
	started  chan struct{}
	visits   *job
	frontier *frontier.Frontier
	db       *store.DB // nil without Options.Dir
	rescans  *asked    // the stored options, with Rescan set; nil: there is no rescan
	revisits bool      // the queue may have entries that wait to be fetched again
	run      time.Time // the start of this run, which identifies its stored status

	// gate is held for reading while seeds are added, so that the directory is not closed
	// meanwhile. It is locked before mu.
	gate sync.RWMutex

	// mu guards the fields below: the state and the limits of the run, which any goroutine
	// may use. While it is held, only locks of the frontier are taken.
	mu     sync.Mutex
	queue  queue // the frontier's backlog; nil after it is closed
	ran    bool
	early  []frontier.Entry // entries that Add got before seeded was set; begin queues them
	known  map[string]bool  // keys of the seeds of Options and of Add; nil before the first Add, and after seeded was set
	seeded bool             // the seeds are queued: from now on the frontier may be stopped, and Add may add entries to it
	stop   bool             // the run stops, or has stopped
	end    End              // the first reason to end
	over   time.Time        // when the workers ended
	allowed
	ordered
	unlisted unlisted
}

// New checks the options. The error is an *OptionError.
func New(opts Options) (*Crawler, error) {
	if err := opts.checkDir(); err != nil {
		return nil, err
	}
	seeds, err := opts.prepare()
	if err != nil {
		return nil, err
	}
	return &Crawler{opts: opts, seeds: seeds, started: make(chan struct{}), allowed: allowed{limits: opts.limits()}}, nil
}

// prepare checks the options, fills in the defaults, and adds the seeds to the scope.
func (o *Options) prepare() (seeds []frontier.Entry, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if seeds, err = parseSeeds(o.Seeds); err != nil {
		return nil, err
	}
	if err := o.rewriteSeeds(seeds); err != nil {
		return nil, err
	}
	if err := o.checkReach(seeds); err != nil {
		return nil, err
	}
	err = tried("Scope", func() {
		for _, e := range seeds {
			o.Scope.Admit(e.URL)
		}
	})
	return seeds, err
}

// checkReach returns an *OptionError if one of the seeds is on the public Internet and the
// contact of the identity cannot be reached from there.
func (o *Options) checkReach(seeds []frontier.Entry) error {
	if o.Network != nil || len(o.ConnectTo) > 0 || !slices.ContainsFunc(seeds, isPublic) {
		return nil
	}
	return o.Identity.checkReach()
}

// isPublic reports whether the host of a seed is a public address, or a domain other than the
// reserved ones, such as example.org.
func isPublic(e frontier.Entry) bool { return identity.IsPublic(e.URL.Host()) }

// running reports whether Run has opened the storage, the fetcher and the frontier.
func (c *Crawler) running() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// ErrRan is returned by a second call of Run.
var ErrRan = errors.New("crawler: Run was called before: make a new Crawler")

// Run crawls until the queue is empty, no URL may be requested within Options.Patience, a limit
// is reached, or Stop is called. Then it returns nil, even if sites have failed: the summary
// reports that. Summary says how the run ended, and Left which URLs were not fetched. If ctx
// ends, running requests are cancelled and Run returns the cause (context.Cause). In every case
// queued URLs stay queued in Options.Dir.
//
// Any other error ends the crawl, too. It is an error of the directory or its files
// (*storage.InUseError, *storage.DamagedError, ...), an *IdentityError, or an *OptionError,
// because ctx or the HandlerFunc is nil or a new crawl has no seeds. With a nil Handler pages
// are only stored.
func (c *Crawler) Run(ctx context.Context, h Handler) (err error) {
	if err := c.checkRun(ctx, h); err != nil {
		return err
	}
	if c.opts.Dir == "" {
		if err := c.checkSeeds(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	ran := c.ran
	c.ran = true
	c.mu.Unlock()
	if ran {
		return ErrRan
	}
	// Deferred before open is called, because a function of the options that open calls may
	// end the goroutine.
	defer func() { err = distinct(err, c.close()) }()
	if err := c.open(h); err != nil {
		return err
	}
	whole := ctx
	ctx, done := c.bounded(ctx)
	defer done()
	if c.db != nil {
		defer context.AfterFunc(ctx, c.db.Hasten)()
	}
	close(c.started)
	if err := c.begin(); err != nil {
		return err
	}
	if c.rescans != nil {
		err = c.rescan(ctx)
	}
	if c.join != nil {
		c.join() // after the seeds are queued: a node that has nothing may end the run
	}
	if err == nil {
		err = c.work(ctx)
		if l, ok := h.(interface{ ended(error) }); ok {
			l.ended(err)
		}
	}
	if err == nil {
		c.frontier.Settle(whole)
		err = c.skipLeft()
	}
	return distinct(err, c.logGivenUp(), c.keepStatus(ctx, err))
}

// checkRun returns an error for arguments of Run that are not valid.
func (c *Crawler) checkRun(ctx context.Context, h Handler) error {
	f, isFunc := h.(HandlerFunc)
	switch {
	case c == nil || c.started == nil:
		return errNotNew
	case ctx == nil:
		return errNoContext
	case isFunc && f == nil:
		return &OptionError{Field: "Handler", Reason: "is a nil HandlerFunc: pass a nil Handler to Run instead"}
	}
	return nil
}

// errNotNew is the error of a Crawler that is nil or a zero value.
var errNotNew = errors.New("crawler: the Crawler is nil or a zero value: New makes one, if the options are valid")

// errNoContext is the error of a nil context.
var errNoContext = &OptionError{Field: "ctx", Reason: "is nil: context.Background() is one that never ends"}

// work runs the workers and returns the error that ended them.
func (c *Crawler) work(ctx context.Context) error {
	errs := make([]error, c.opts.Concurrency)
	var workers sync.WaitGroup
	for i := range errs {
		// A worker. It ends when the frontier hands out no more turns.
		workers.Go(func() {
			defer c.frontier.Stop()
			errs[i] = errGoexit
			errs[i] = c.worker(ctx)
		})
	}
	workers.Wait()
	c.mu.Lock()
	c.over = time.Now()
	c.mu.Unlock()
	var failed []error
	for _, err := range errs {
		switch {
		case errors.Is(err, frontier.ErrUnasked):
			c.ended(EndUnasked)
		case errors.Is(err, frontier.ErrPatience):
			c.ended(EndPatience)
		case errors.Is(err, frontier.ErrEnd):
			c.ended(EndDone)
		case errors.Is(err, frontier.ErrLimit):
			c.ended(EndLimit)
		case errors.Is(err, frontier.ErrStopped):
			c.ended(EndStopped)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		default:
			failed = append(failed, err)
		}
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTime) {
		c.mu.Lock()
		c.end = EndBroken
		c.mu.Unlock()
		failed = append(failed, context.Cause(ctx))
	}
	return distinct(failed...)
}

// distinct joins errors and leaves out duplicates, because every worker returns the same error
// when, for instance, the disk is full.
func distinct(errs ...error) error {
	var list []error
	said := map[string]bool{}
	var add func(err error)
	add = func(err error) {
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range several.Unwrap() {
				add(e)
			}
		} else if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			list = append(list, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	if len(list) == 1 {
		return list[0]
	}
	return errors.Join(list...)
}

var errGoexit = errors.New("crawler: the handler, or a function of the options, ended its goroutine (runtime.Goexit, or t.Fatal in a test)")

func (c *Crawler) worker(ctx context.Context) error {
	for {
		turn, err := c.frontier.Next(ctx)
		if err != nil {
			return err
		}
		if err := c.visits.Visit(ctx, turn); err != nil {
			return err
		}
	}
}

// Stop ends the crawl gracefully: running visits are finished, no new one begins. It may be
// called at any time, also before Run.
func (c *Crawler) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(EndStopped)
}

// halt stops the frontier. The caller holds mu.
func (c *Crawler) halt(end End) {
	if c.end == "" {
		c.end = end
	}
	c.stop = true
	if c.seeded {
		c.frontier.Stop()
	}
}

// stopped reports whether the run is to end, because Stop was called or Limits.Time is up.
func (c *Crawler) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}

// ended records the first reason why the crawl ended.
func (c *Crawler) ended(end End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == "" {
		c.end = end
	}
}

// open opens the storage, the fetcher and the frontier.
func (c *Crawler) open(h Handler) error {
	o := &c.opts
	var backlog interface {
		frontier.Backlog
		queue
	}
	deps := jobDeps{Stop: c.Stop}
	var err error
	var restarted time.Time
	if o.Dir != "" {
		db, err := store.Open(o.Dir, store.Options{
			NoPages: !o.writes(OutputPages) && !o.writes(OutputBodies), Links: o.writes(OutputLinks), Archive: o.archive(),
			Bounds: o.bounds.storage, SyncDelay: o.bounds.syncDelay, State: o.State, Admit: c.admit,
		})
		if err != nil {
			return err
		}
		c.db, backlog, restarted = db, db, db.Restarted()
		deps.Snapshots, deps.DB, deps.cluster = db, func(frontier.Site) *store.DB { return db }, db.Cluster()
		if deps.ownSites, err = kept.Any(db); err != nil {
			return err
		}
	} else {
		backlog = frontier.NewMemory()
	}
	if c.visits, err = newJob(c.opts, h, deps); err != nil {
		return err
	}
	if c.db == nil {
		// The queue in memory does not keep the results of visits, so digests of bodies are
		// needed only for these options.
		c.visits.digests = o.OnVisit != nil || o.Revisit != nil || o.Previous != ""
		err = c.begun(Start{})
	} else if err = c.logBegin(); err == nil {
		if err = c.keepOrders(); err == nil {
			err = c.resume()
		}
	}
	if err != nil {
		return err
	}
	limits := frontier.Options{
		Delay: o.Delay, IPDelay: o.IPDelay, Restarted: restarted, Revisits: o.Revisit != nil || c.revisits,
		MaxSite:     frontier.Spent{Pages: max(0, o.MaxHostPages), Bytes: o.MaxHostBytes, Time: o.MaxHostTime},
		DomainDelay: o.DomainDelay, Shared: o.clocks(), ReadAhead: o.readAhead(), Requisites: o.Requisites,
		Lease: c.visits.fetcher.Longest(o.Concurrency) + time.Minute, // plus a minute to store the answer
	}
	if c.visits.sites.any() {
		limits.Site = c.visits.SiteLimits
	}
	if deps.cluster != nil {
		limits.Term, limits.Blocked, limits.Credit = deps.cluster.Term, deps.cluster.Blocked, deps.cluster.Credit
		limits.Shared = nodeClocks{limits.Shared, deps.cluster}
	}
	front, err := frontier.New(backlog, limits)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.frontier, c.queue = front, backlog
	if deps.cluster != nil {
		c.join = c.share(deps.cluster)
	}
	err = front.Allow(c.put(c.limits))
	c.mu.Unlock()
	return errors.Join(err, c.steer())
}

// close closes what open has opened. It first waits for calls of Add that are still storing
// seeds.
func (c *Crawler) close() error {
	c.gate.Lock()
	defer c.gate.Unlock()
	c.mu.Lock()
	c.stop = true
	if c.db != nil {
		c.queue = nil
	}
	c.mu.Unlock()
	if c.visits != nil {
		c.visits.Close()
	}
	if c.db == nil {
		return nil
	}
	return c.db.Close()
}

// admit returns an error if the crawl was begun under another identity, or if the previous
// crawl (Options.Previous) is running or missing. It is called before anything is written.
func (c *Crawler) admit(was store.Values) error {
	var old asked
	known, err := was.Get(keyAsked, &old)
	if err != nil {
		return err
	}
	switch {
	case !known:
		if err := c.checkSeeds(); err != nil {
			return err
		}
	case old.Identity.Token != c.opts.Identity.Token || old.Identity.Contact != c.opts.Identity.Contact:
		return &IdentityError{c.opts.Dir, old.Identity, c.opts.Identity}
	}
	if c.opts.Previous != "" {
		if _, err := store.OpenPast(c.opts.Previous); err != nil {
			return err
		}
	}
	_, err = readOrders(c.opts.Dir, was)
	return err
}

// checkSeeds returns an *OptionError if the crawl has no seed and does not wait for one.
func (c *Crawler) checkSeeds() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seeds) > 0 || len(c.early) > 0 || c.limits.Open {
		return nil
	}
	return errNoSeeds
}

// errNoSeeds is the error of a crawl without a seed.
var errNoSeeds = &OptionError{Field: "Seeds", Reason: "is empty: give at least one URL to start from, here or by Add; or set Limits.Open by Allow, if seeds are added while the crawl runs"}

// resume reads what an earlier run has stored, and stores the options of this run.
func (c *Crawler) resume() error {
	var old asked
	known, err := c.db.Get(keyAsked, &old)
	if err != nil {
		return err
	}
	var last processes.End
	if _, err := c.db.Get(keyStatus, &last); err != nil {
		return err
	}
	now := c.asked()
	if now.History, err = old.History.Next(now.Began, last); err != nil {
		return err
	}
	now.Revisits = c.opts.Revisit != nil || old.Revisits
	c.run, c.revisits = now.Began, now.Revisits
	start := Start{Resumed: known, Orders: c.kept, Rescan: old.Rescan && !c.opts.Rescan}
	if now.Rescan = c.opts.Rescan || old.Rescan; now.Rescan {
		c.rescans = &now
	}
	if known {
		start.Changes = old.changes(&c.opts)
		if err := c.agree(start.Changes); err != nil {
			return err
		}
	} else if start.Carried, err = c.carry(); err != nil {
		return err
	}
	if c.opts.Previous != "" {
		if err := c.db.PutPrevious(c.opts.Previous); err != nil {
			return err
		}
	}
	if start.Requeued, err = c.widen(); err != nil {
		return err
	}
	// The line in crawl.log is written before the settings are stored. With the other order, a
	// kill in between would lose the line: the next run would find no changed setting.
	if err := c.logStart(start); err != nil {
		return err
	}
	if err := c.db.Put(keyAsked, now); err != nil {
		return err
	}
	return c.begun(start)
}

// widen adds to the scope the URLs at which redirects of seeds ended, and, if this run has no
// seeds, those of earlier runs. It then queues entries again that an earlier run had dropped
// because they were out of its scope, if they are in scope now. It returns the number of
// entries that it queued.
func (c *Crawler) widen() (requeued int, err error) {
	if len(c.seeds) == 0 {
		if err := c.admitSeeds(); err != nil {
			return 0, err
		}
	}
	var panicked error
	for raw, err := range c.db.Keys(keyRoot) {
		if err != nil {
			return 0, err
		}
		u, err := frontier.ParseURL(raw)
		if err != nil {
			return 0, &store.DamagedError{Path: filepath.Join(c.db.Dir(), store.StateFile), Err: err}
		}
		if err := safely("Scope", func() { c.opts.Scope.Admit(u) }); err != nil {
			return 0, err
		}
	}
	requeued, err = c.db.Requeue(func(e frontier.Entry) (wanted bool) {
		if panicked == nil {
			panicked = safely("Scope", func() { wanted = c.visits.admits.unwanted(&e) == frontier.Undecided })
		}
		return wanted
	})
	return requeued, errors.Join(panicked, err)
}

// admitSeeds adds the seeds of earlier runs to the scope. Without them a run that has no seeds
// would drop all links.
func (c *Crawler) admitSeeds() error {
	for site, err := range c.db.Names() {
		if err != nil {
			return err
		}
		for k, err := range c.db.Entries(site) {
			if err == nil && k.FromSeed() {
				err = safely("Scope", func() { c.opts.Scope.Admit(k.URL) })
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Lookup returns the fate of a URL in the running crawl. The fate is frontier.Undecided if the
// URL is queued, and frontier.Waiting if it waits for another try. ok is false if the crawl has
// not found the URL. The URL is written as in Options.Seeds. Options.Rewrite and Options.Same
// are applied to it. Lookup needs Options.Dir. The errors are those of Records, and an
// *OptionError for text that is no URL. For the fates of all URLs of a crawl see
// storage.Reader.
func (c *Crawler) Lookup(url string) (fate frontier.Fate, ok bool, err error) {
	records, err := c.Records()
	if err != nil {
		return fate, false, err
	}
	seeds, err := parseSeeds([]string{url})
	if err == nil {
		err = c.opts.rewriteSeeds(seeds)
	}
	if err != nil {
		return fate, false, err
	}
	u := seeds[0].URL
	if !seeds[0].Same.IsZero() {
		u = seeds[0].Same
	}
	return records.Fate(u)
}

// Records returns what the running crawl has committed to its directory, with the methods of a
// storage.Reader. A visit is committed a few hundredths of a second after its end. It fails with
// ErrEnded if no run is active.
func (c *Crawler) Records() (*store.Records, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.queue == nil:
		return nil, ErrEnded
	case c.db == nil:
		return nil, errors.New("crawler: the crawl has no directory: set Options.Dir")
	}
	return &c.db.Records, nil
}
