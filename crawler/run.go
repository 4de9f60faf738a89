package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
)

// New returns a Crawler for the given options, or an *OptionError if one of them is not valid.
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

// prepare checks the options and fills in their defaults. It returns the seeds, and adds them to
// the scope. The error is an *OptionError.
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

// Stop ends the crawl gracefully: running visits are finished, and no new visit begins. It may be
// called at any time, even before Run.
func (c *Crawler) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(EndStopped)
}

// ErrRan is returned by Run if it was called before.
var ErrRan = errors.New("crawler: Run was called before: make a new Crawler")

// Run crawls until the queue is empty, no URL may be requested within Options.Patience, a limit is
// reached, or Stop is called. Then it returns nil, even if sites have failed: Summary reports
// failures and how the run ended, and Left iterates over the URLs that were not fetched. If ctx
// ends, running requests are cancelled and Run returns the cause (context.Cause). In every case
// queued URLs stay queued in Options.Dir.
//
// Any other error ends the crawl, too. It is an error of the directory or its files
// (*storage.InUseError, *storage.DamagedError, ...), an *IdentityError, or an *OptionError. The
// latter is returned if ctx or the HandlerFunc is nil, or if a new crawl has no seeds. With a nil
// Handler pages are only stored.
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
	// Deferred before open is called, because open calls functions of the options, which may end
	// the goroutine.
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
		// The seeds are queued before, because a node with an empty queue may end the run.
		c.join()
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

// checkRun returns an error if c was not made by New, or if ctx or h cannot be used.
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

// errNotNew is the error of Run if the Crawler was not made by New.
var errNotNew = errors.New("crawler: the Crawler is nil or a zero value: New makes one, if the options are valid")

// errNoContext is the error for a nil context.
var errNoContext = &OptionError{Field: "ctx", Reason: "is nil: context.Background() is one that never ends"}

// work runs the workers until they have ended. It records why the run ended, and returns the errors
// of workers that failed.
func (c *Crawler) work(ctx context.Context) error {
	errs := make([]error, c.opts.Concurrency)
	var workers sync.WaitGroup
	for i := range errs {
		// A worker, which visits pages. It ends when the frontier hands out no more turns, the
		// rights to make a request.
		workers.Go(func() {
			defer c.frontier.Stop()
			errs[i] = errGoexit
			errs[i] = c.worker(ctx)
		})
	}
	workers.Wait()
	c.mu.Lock()
	c.endedAt = time.Now()
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

// halt ends the run for the reason end: no new visits begin. The caller holds mu.
func (c *Crawler) halt(end End) {
	if c.end == "" {
		c.end = end
	}
	c.stop = true
	if c.seeded {
		c.frontier.Stop()
	}
}

// open opens the storage, the fetcher and the frontier, with h as the handler of pages.
func (c *Crawler) open(h Handler) error {
	o := &c.opts
	var backlog interface {
		frontier.Backlog
		queue
	}
	deps := jobDeps{Stop: c.Stop}
	var err error
	var start Start
	var restarted time.Time
	if o.Dir != "" {
		db, err := store.Open(o.Dir, store.Options{
			NoPages: !o.writes(OutputPages) && !o.writes(OutputBodies), Links: o.writes(OutputLinks), Archive: o.archive(),
			Bounds: o.bounds.storage, SyncDelay: o.bounds.syncDelay, State: o.State, Logger: o.Logger, Admit: c.admit,
		})
		if err != nil {
			return err
		}
		c.db, backlog, restarted = db, db, db.Restarted()
		if err := c.agree(); err != nil {
			return err
		}
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
		// The queue in memory does not keep the results of visits. So digests of bodies are needed
		// only for these options.
		c.visits.digests = o.OnVisit != nil || o.Revisit != nil || o.Previous != ""
	} else if err = c.logBegin(); err == nil {
		if err = c.keepOrders(); err == nil {
			start, err = c.resume()
		}
	}
	if err != nil {
		return err
	}
	limits := frontier.Options{
		Delay: o.Delay, IPDelay: o.IPDelay, Restarted: restarted, Revisits: o.Revisit != nil || c.revisits,
		MaxSite:     frontier.Spent{Pages: max(0, o.MaxHostPages), Bytes: o.MaxHostBytes, Time: o.MaxHostTime},
		DomainDelay: o.DomainDelay, Shared: o.clocks(), ReadAhead: o.readAhead(), Requisites: o.Requisites,
		Lease: c.visits.fetcher.Longest(o.Concurrency) + time.Minute, // one minute is for storing the answer
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
	if err = errors.Join(err, c.steer()); err != nil {
		return err
	}
	// OnStart is called last, because orders and seeds that it gives are stored when the call returns.
	return c.begun(start)
}

// close closes everything that open has opened. First it waits for calls of Add that are still
// storing seeds.
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

// resume reads the stored data of earlier runs, and stores the options of this run.
func (c *Crawler) resume() (start Start, err error) {
	var old storedRun
	known, err := c.db.Get(keyStoredRun, &old)
	if err != nil {
		return start, err
	}
	var last processes.End
	if _, err := c.db.Get(keyStatus, &last); err != nil {
		return start, err
	}
	now := c.storedRun()
	if now.History, err = old.History.Next(now.Began, last); err != nil {
		return start, err
	}
	now.Revisits = c.opts.Revisit != nil || old.Revisits
	c.revisits = now.Revisits
	start = Start{Resumed: known, Orders: c.kept, Rescan: old.Rescan && !c.opts.Rescan}
	if now.Rescan = c.opts.Rescan || old.Rescan; now.Rescan {
		c.rescans = &now
	}
	if known {
		start.Changes = old.changes(&c.opts)
	} else if start.Carried, err = c.carry(); err != nil {
		return start, err
	}
	if c.opts.Previous != "" {
		if err := c.db.PutPrevious(c.opts.Previous); err != nil {
			return start, err
		}
	}
	if start.Requeued, err = c.widen(); err != nil {
		return start, err
	}
	// The line in crawl.log is written before the settings are stored. In the other order a kill
	// between the two would lose the line, because the next run would find no changed setting.
	if err := c.logStart(start); err != nil {
		return start, err
	}
	return start, c.db.Put(keyStoredRun, now)
}

// bounded starts the timer that stops the crawl when its time is up. timeGrace later the returned
// context ends, which cancels requests that are still running. The returned function stops the
// timer and ends the context.
func (c *Crawler) bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Now()
	c.timer = time.AfterFunc(frontier.Forever, func() { c.timeUp(cancel) })
	c.arm()
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		if c.cancelTimer != nil {
			c.cancelTimer.Stop()
		}
		cancel(nil)
	}
}

func (c *Crawler) timeUp(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.limits.Time; l == 0 || time.Since(c.began) < l || c.cancelTimer != nil {
		return // the limit was raised while the timer fired
	}
	c.halt(EndTime)
	c.cancelTimer = time.AfterFunc(timeGrace, func() { cancel(errTime) })
}

var errTime = errors.New("crawler: the time of the run is up")

// timeGrace is the time for which running requests may continue after the time of a run is up.
const timeGrace = 10 * time.Second

// keepStatus stores the status at the end of a run for ReadStatus. err is the error of the run. If
// the run has failed, keepStatus stores nothing. The end of ctx is not such a failure.
func (c *Crawler) keepStatus(ctx context.Context, err error) error {
	if c.db == nil || err != nil && !errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	s := c.Status()
	s.Orders, s.Memory = nil, StatusMemory{} // ReadStatus reads the orders from the state, and cannot know the memory
	return c.db.Put(keyStatus, keptStatus{c.run, s})
}

// A keptStatus is the status that a run stores at its end. A run that fails stores no status, so
// the status of an earlier run may still be there. The field Of identifies the run.
type keptStatus struct {
	Of time.Time `json:"of_run"` // start of the run that stored the status: its storedRun.Began
	Status
}

// begun is called at the start of a run. It logs the changed settings and calls Options.OnStart.
func (c *Crawler) begun(s Start) error {
	for _, d := range s.Changes {
		c.opts.Logger.Info("resumed with another setting", "setting", d.Setting, "was", d.Was, "is", d.Is)
	}
	if c.opts.OnStart == nil {
		return nil
	}
	return safely("OnStart", func() { c.opts.OnStart(s) })
}

func (c *Crawler) storedRun() storedRun {
	a := storedRun{Identity: c.opts.Identity, Settings: map[string]string{}, Began: c.run}
	for _, s := range c.opts.Settings() {
		a.Settings[s.Name] = s.String()
	}
	return a
}

// agree returns an error if this node has other options than a node that is running. With different
// options one node would fetch URLs that another node refuses.
func (c *Crawler) agree() error {
	cluster := c.db.Cluster()
	if cluster == nil {
		return nil
	}
	others, err := cluster.Declare(c.storedRun())
	if err != nil {
		return err
	}
	for _, raw := range others {
		var other storedRun
		if err := json.Unmarshal(raw, &other); err != nil {
			return fmt.Errorf("crawler: what another node has declared cannot be read: %w", err)
		}
		var names []string
		for _, change := range other.changes(&c.opts) {
			if !slices.Contains(perNode, change.Setting) {
				names = append(names, fmt.Sprint(change))
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("crawler: another node of this crawl runs with other options (%s): use the same ones, or stop all nodes first", strings.Join(names, "; "))
		}
	}
	return nil
}

// perNode lists the settings that may differ between the nodes of a crawl. They limit the speed and
// the duration of one node.
var perNode = []string{"max-time", "rate", "bandwidth", "concurrency", "patience"}

// keepOrders reads the orders of earlier runs that still apply into c.kept, oldest first. It leaves
// out orders that Options.Lift revokes, and records that these are revoked.
func (c *Crawler) keepOrders() error {
	all, err := readOrders(c.opts.Dir, c.db)
	if err != nil {
		return err
	}
	var keep []Order
	for _, o := range all {
		if !c.opts.lifts(o) {
			keep = append(keep, o)
			continue
		}
		lift := Order{Time: time.Now(), Do: orderLift, Of: o.Of, What: o.Do}
		if err := errors.Join(c.db.Put(kept.KeyOrder+o.Do+" "+o.Of, lift), c.note(lift)); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.kept = keep
	c.mu.Unlock()
	return nil
}
