package frontier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options are the settings of a frontier. The zero value is polite. Patience, Rate, Limit and
// MaxBytes are only the initial limits: Allow changes them during a run (see Limits).
type Options struct {
	Delay       time.Duration // least pause of a site, counted from the end of a response; 0: DefaultDelay, -1: none
	IPDelay     time.Duration // least time between two starts of requests at one public address; 0: 250 ms, -1: no address clock
	PerIP       int           // largest number of turns at one public address at the same time; 0: 2
	DomainDelay time.Duration // least pause of a registrable domain, which then has at most one turn; 0: no domain clock
	Shared      Shared        // clocks that all crawls of this process or machine share; nil: none
	Lease       time.Duration // how long Shared reserves a site for a request, counted again from each Received; 0: 3 minutes
	// Patience is how long the run waits for the next entry. The run ends if no entry falls due
	// within this time. 0: 2 min, -1: no patience, Forever: the run waits for every entry.
	Patience time.Duration
	Rate     rate.Limit // largest number of requests per second to all sites together; 0: no limit
	Limit    int        // largest number of pages of the whole crawl; 0: no limit
	MaxBytes int64      // largest number of bytes of all answers of the crawl; 0: no limit
	MaxSite  Spent      // the budget of each site; 0 in a field: no limit

	// Requisites permits requests for images, scripts and style sheets after the limit of pages of
	// the crawl or of a site is reached. They must have RequisiteRank and belong to pages that
	// were fetched before. All other limits still apply.
	Requisites bool

	// Revisits permits to fetch entries again (see Outcome.Revisit). It must be set if the backlog
	// has entries that wait to be fetched again. These entries are requested even after the limit
	// of pages is reached. Revisits also sets Requisites. With Revisits, a site that does not
	// answer is not given up, but rests for DeadRest.
	Revisits bool
	DeadRest time.Duration // rest of a site that does not answer, if Revisits is set; 0: a day

	// Site returns the limits of a site. Next and Hop call it before the first request to the
	// site. No lock is held during the call, so Site must be safe for concurrent use. While Site
	// runs, only its caller waits; turns of other sites continue. The limits are used as long as
	// the site is in memory. If Site returns an error, the run ends, as after an error of the
	// backlog; no entry is lost. If Site is nil, all sites have the limits of Options.
	Site func(Site) (SiteLimits, error)

	// ReadAhead is how many entries of a site are read from the backlog in advance and kept in
	// memory. The maximum is 8. 0: 8.
	ReadAhead int
	// Restarted is when the crawl was last opened after a crash. Each site rests its full pause,
	// counted from this time. Zero: there was no crash.
	Restarted time.Time

	// Term returns the number of the term in which this frontier owns a site, or 0 if another
	// frontier owns it. Term and Blocked are for a backlog that several frontiers share: see the
	// type Term and Frontier.Withdraw.
	//
	// Term is called often and with a lock held: it must be quick, safe for concurrent use, and
	// must not call the frontier. If Term is nil, this frontier owns all sites. If it is not nil,
	// Limits.Open is set at the start.
	Term func(Site) uint64
	// Blocked returns nil if requests may be made now. Otherwise it returns a channel that is
	// closed when Blocked must be called again. Until then Next returns no turn, and Turn.Bind
	// returns a *NotYet. This wait is no failure of a site, because no turn is out during it.
	// Blocked must be safe for concurrent use. If it is nil, requests may be made at any time.
	Blocked func() <-chan struct{}
	// Credit returns how many pages and bytes this frontier may spend of Limits.Pages and
	// Limits.Bytes, counted from New; the field Time is not used. When the credit is used up, the
	// limit counts as reached. After the credit has grown, the backlog must send a Growth, which
	// may be empty. Credit is called like Term: often, and with a lock held. If it is nil, this
	// frontier may spend all that the limits allow.
	Credit func() Spent
}

// belowNone reports whether d is negative but not -1. Only -1 means "none", so that a wrong
// calculation with a negative result does not remove a pause.
func belowNone(d time.Duration) bool { return d < 0 && d != -1 }

// check returns an error that names the first field with a negative value that is not
// permitted, or nil if there is no such field.
func (o *Options) check() error {
	for _, n := range []struct {
		field string
		bad   bool
	}{
		{"Delay", belowNone(o.Delay)}, {"IPDelay", belowNone(o.IPDelay)}, {"Patience", belowNone(o.Patience)},
		{"PerIP", o.PerIP < 0}, {"DomainDelay", o.DomainDelay < 0}, {"Lease", o.Lease < 0}, {"DeadRest", o.DeadRest < 0}, {"Rate", o.Rate < 0},
		{"Limit", o.Limit < 0}, {"MaxBytes", o.MaxBytes < 0}, {"ReadAhead", o.ReadAhead < 0},
		{"MaxSite", o.MaxSite.Pages < 0 || o.MaxSite.Bytes < 0 || o.MaxSite.Time < 0},
	} {
		if n.bad {
			return fmt.Errorf("frontier: Options.%s is negative", n.field)
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Delay = orDefault(o.Delay, DefaultDelay)
	o.Lease = orDefault(o.Lease, defaultLease)
	o.DeadRest = orDefault(o.DeadRest, deadRest)
	if o.IPDelay == 0 {
		o.IPDelay = 250 * time.Millisecond
	}
	if o.PerIP == 0 {
		o.PerIP = 2
	}
	if o.ReadAhead <= 0 || o.ReadAhead > maxAhead {
		o.ReadAhead = maxAhead
	}
	return o
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(d, 0)
}

// A Frontier decides which URL is requested next. It hands out turns, which are rights to make
// one request. It is safe for concurrent use.
//
// Any number of workers call Next and Finish; no other goroutine is needed. One of the workers
// that wait in Next waits for the timer on behalf of all of them.
type Frontier struct {
	opts    Options // the settings, with defaults filled in; never changed. pace has the limits that Allow changes
	backlog Backlog // its methods are called without holding mu, except in Hop
	opened  time.Time
	unasked *past // one past that all sites without a request share; see the function unasked
	taken   taken // like unasked, for sites that an unknown frontier owned before; guarded by mu

	// mu guards all fields below, and the fields of sites and commons. So the places of sites, the
	// reasons why sites wait, and the sums (see totals) change together. mu is not held during
	// Read and Submit of the backlog, or while a goroutine waits. Hop calls State of the backlog
	// with mu held, so that no other goroutine adds the same site to memory at the same time.
	// While a turn has a site, only this turn reads the site's entries from the backlog and moves
	// its clocks. Any goroutine that holds mu may change the place of a site (see place) and its
	// stock (the known state of its entries in the backlog).
	mu sync.Mutex

	// sites holds the sites that have queued entries, have a turn, or have completions that the
	// backlog has not settled (see Backlog.Grown). All other sites are only in the backlog.
	// Only learn and Hop add a site to the map, and only leave removes one. site.place says in
	// which queue a site is.
	sites   map[Site]*site
	commons [kinds]commons // the addresses, domains and host names that several sites share, and the sites that wait for them

	keeper   // the goroutine that waits for the timer
	queues   // the sites that wait for a request, in order
	reserve  // how many turns are kept back for quick sites
	motion   // counts of everything that is under way
	holding  // counts of held entries
	pace     // limits of all sites together
	totals   // sums over all sites
	steering // changes during the run
	ending   // whether and how the run has ended
	leaving  // calls of Withdraw
}

// New returns a frontier for the entries of backlog. It fails if backlog is nil or returns an
// error, or if opts has a field that is not valid.
func New(backlog Backlog, opts Options) (*Frontier, error) {
	if backlog == nil {
		return nil, errors.New("frontier: there is no backlog: NewMemory() makes one")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	opts, opened := opts.withDefaults(), time.Now()
	opts.Requisites = opts.Requisites || opts.Revisits
	opts.Restarted = meetRestart(opts.Restarted, opened)
	f := &Frontier{
		opts: opts, backlog: backlog, opened: opened, unasked: unasked(opts.Restarted, opts.Delay), sites: map[Site]*site{},
		ending:  ending{over: make(chan struct{})},
		keeper:  keeper{rearm: make(chan struct{}, 1), follow: make(chan struct{}, 1)},
		holding: holding{idle: make(chan struct{}, 1)},
		queues:  newQueues(),
		commons: [kinds]commons{
			byAddress: newCommons(IPClock, opts.IPDelay, opts.PerIP),
			byDomain:  newCommons(DomainClock, opts.DomainDelay, 1),
			byHost:    newCommons(HostClock, max(opts.Delay, PublicFloor), 1),
		},
	}
	if opts.Shared != nil {
		f.opts.Shared = guarded{opts.Shared, f}
	}
	f.set(Limits{Pages: opts.Limit, Bytes: opts.MaxBytes, Rate: opts.Rate, Patience: opts.Patience, Open: opts.Term != nil}, opened)
	moved, err := f.recall()
	f.turnover()
	if err == nil {
		err = f.restore()
	}
	if err != nil {
		return f, err
	}
	// The last completion is empty. It settles after all earlier submissions, and the run cannot
	// end before it has settled.
	for _, c := range append(moved, Completion{}) {
		f.submitted()
		if err := backlog.Submit(c); err != nil {
			return f, err
		}
	}
	return f, nil
}

// maxAdd is the largest number of entries that Add puts into one Completion.
const maxAdd = 1000

// ErrNoURL is returned by Add and Turn.Done if an entry has no URL. The call then queues none of
// its entries.
var ErrNoURL = errors.New("frontier: an entry has no URL: ParseURL makes one")

func checkEntries(entries []Entry) error {
	for i := range entries {
		if entries[i].URL.IsZero() {
			return ErrNoURL
		}
	}
	return nil
}

// Add queues those entries that the backlog has not seen. It may be called while other goroutines
// call Next. While Add runs, the run ends only with ErrLimit, ErrStopped or an error of the
// backlog or of Options.Site. After the end of the run Add queues no entries and returns the same
// error as Next. If the run ends during a call with more than 1,000 entries, the first of these
// entries may have been queued. Add returns ErrNoURL if an entry has no URL, and the error of the
// backlog if the backlog fails.
func (f *Frontier) Add(entries ...Entry) error {
	if err := checkEntries(entries); err != nil {
		return err
	}
	for some := range slices.Chunk(entries, maxAdd) {
		f.mu.Lock()
		err := f.err
		if err == nil {
			f.submitted()
		}
		f.mu.Unlock()
		if err != nil {
			return err
		}
		if err := f.backlog.Submit(Completion{Links: some}); err != nil {
			f.mu.Lock()
			f.fail(err)
			f.mu.Unlock()
			return err
		}
		f.absorbGrown()
	}
	return nil
}

// Next waits until a site is due and returns the turn for its next entry. At the end of
// the run it returns ErrEnd, ErrUnasked, ErrPatience, ErrLimit, ErrStopped, or an error of
// the backlog or of Options.Site; later calls return the same error. If ctx ends first,
// Next returns the error of ctx, and may be called again.
func (f *Frontier) Next(ctx context.Context) (*Turn, error) {
	for {
		f.waitUnblocked(ctx)
		if err := ctx.Err(); err != nil {
			f.mu.Lock()
			f.kickLocked()
			f.mu.Unlock()
			return nil, err
		}
		f.mu.Lock()
		if !f.led {
			// If there is a leader (the goroutine that waits for the timer, see keeper), only the
			// leader receives growths of the backlog, so that they are absorbed in their order.
			select {
			case g := <-f.backlog.Grown():
				f.absorb(g)
			default:
			}
		}
		if s := f.takeUnsearched(); s != nil {
			f.kickLocked() // there may be more sites to search, or other work
			f.mu.Unlock()
			f.search(s)
			continue
		}
		s, wait, err := f.pick(f.now())
		lead := s == nil && err == nil && !f.led
		if lead {
			f.led = true
		}
		if err != nil || s != nil && f.more() {
			f.kickLocked()
		}
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if s != nil {
			t, err := f.hand(ctx, s)
			if t == nil && err == nil {
				continue
			}
			if t != nil && f.blocked() != nil { // requests may have been blocked while the backlog was read
				t.putBack()
				continue
			}
			return t, err
		}
		f.wait(ctx, lead, wait)
	}
}

// Settle waits until the backlog has settled all earlier submissions, or until ctx ends. After
// that the results of Stats and Sites are exact. Settle must not be called while a call of Next is
// waiting.
func (f *Frontier) Settle(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.pending > 0 && !f.broken && ctx.Err() == nil {
		f.mu.Unlock()
		var g Growth
		select {
		case g = <-f.backlog.Grown():
		case <-ctx.Done():
		}
		f.mu.Lock()
		f.absorb(g)
	}
}

// Stop ends the run: every call of Next returns ErrStopped. Turns that are out can still be
// finished.
func (f *Frontier) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail(ErrStopped)
}

// pick returns the first site that is due and may have a turn, and sets its place to placeOut. If
// no site may have a turn now, pick returns no site, and the time to wait before the next call of
// pick. The caller must hold f.mu.
func (f *Frontier) pick(now time.Time) (*site, time.Duration, error) {
	if f.err != nil {
		return nil, 0, f.err
	}
	if full, used := f.full(); full {
		if used && !f.limits.Open {
			f.fail(ErrLimit)
		}
		f.tellIdle()
		return nil, math.MaxInt64, f.err
	}
	f.ripen(now)
	for s := f.upNext(now); s != nil; s = f.upNext(now) {
		if d := f.throttle(now); d > 0 {
			return nil, d, nil
		}
		f.unqueue(s)
		if f.admit(s, now) {
			f.pay(now)
			f.begun(&f.out)
			f.notIdle()
			f.mayBePage(s)
			if !s.quick() {
				f.unsure++
			}
			return s, 0, nil
		}
		f.queue(s)
	}
	wait := time.Duration(math.MaxInt64)
	if len(f.waiting.sites) > 0 {
		wait = f.waiting.sites[0].due.Sub(now)
	}
	switch {
	case f.limits.Turns == 1 && len(f.unsureReady.sites) > 0:
		wait = min(wait, f.unsureAfter(now))
	case !f.still() || !f.impatient(wait):
	case f.held > 0:
		f.tellIdle()
	case !f.limits.Open:
		f.fail(f.ended())
	}
	return nil, wait, f.err
}

// admit reports whether s may have a turn now: all sites, addresses and names that its turn needs
// are free. If so, admit sets the place of s to placeOut. Otherwise admit parks s, or makes s due
// later.
func (f *Frontier) admit(s *site, now time.Time) bool {
	wants := s.work().wants
	if o := wants; o != nil {
		if o.place == placeOut {
			o.atWork().wanted = append(o.work().wanted, s)
			s.place = placeParked
			return false
		}
		if due, _ := o.ownDue(); due.After(now) {
			return false
		}
	}
	for i := range f.commons {
		own := f.part(s, i)
		admitted := f.commons[i].admit(s, &own, now)
		if s.promise(i, own.start); !admitted {
			return false
		}
	}
	s.place = placeOut
	if wants != nil && wants != s {
		f.take(wants)
	}
	return true
}

// hand returns a turn for s, a site that pick has returned. It returns no turn and no error if s
// has no entry, if the limits of s forbid a request, or if ctx has ended. hand reads the backlog
// without holding f.mu. No other goroutine can use the entries of s meanwhile, because the place
// of s is placeOut.
func (f *Frontier) hand(ctx context.Context, s *site) (*Turn, error) {
	t := &Turn{frontier: f, site: s, unsure: !s.quick(), began: f.now()}
	err := f.limit(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(err)
	}
	barred := err != nil || ctx.Err() != nil || f.barred(s, f.now()) || !f.has(s.name)
	// s.page was set when the site was picked. Pages that were allowed after that must wait for the
	// next pick.
	shut := !s.page || f.shut(s)
	if !barred && s.next(shut) < 0 {
		f.mu.Unlock()
		err = f.read(s, shut)
		f.mu.Lock()
	}
	t.adoptHeld()
	shut = shut || f.shut(s)
	i := max(s.next(shut), s.firstAhead(shut))
	if err != nil || barred || i < 0 {
		f.refund()
		f.release(t, f.now())
		f.kickLocked() // the leader (see keeper) may have computed how long to wait while the site was out
		return nil, err
	}
	w := s.atWork()
	t.entry = w.handOut(i)
	f.ahead--
	if !t.entry.Page() {
		f.isNoPage(s)
	}
	t.stamp()
	t.queued = s.due
	if w.first.IsZero() || w.asked != t.entry.ID {
		w.asked, w.first = t.entry.ID, f.now()
	}
	t.first = w.first
	return t, nil
}

// read reads entries of s from the backlog. The place of s must be placeOut. If shut is true, read
// reads only entries for which Entry.AfterPages holds, because the limit of pages is reached.
func (f *Frontier) read(s *site, shut bool) error {
	if shut {
		return f.readRequisites(s)
	}
	return f.readAhead(s)
}

// room returns the first part of all. Its length is the number of entries that one read of the
// backlog may fill. This keeps the memory for entries small. The caller must hold f.mu.
func (f *Frontier) room(all []Entry) []Entry {
	if f.ahead > mostAhead {
		return all[:1]
	}
	return all[:f.opts.ReadAhead]
}

// readAhead reads entries of s from the backlog. The place of s must be placeOut. If s has failed,
// entries without a failure come first.
func (f *Frontier) readAhead(s *site) error {
	now := f.now()
	f.mu.Lock()
	waiting, w := now, s.atWork()
	if s.resting() && s.more {
		waiting = time.Time{} // a zero time makes Read skip the entries that wait for their Due
	} else if !w.retry.After(now) {
		if w.kept.After(now) {
			waiting = w.kept
		}
		w.retry = time.Time{}
	}
	// more is set to false before the read, because a growth during the read may set it to true.
	s.more = false
	var room [maxAhead]Entry
	buf := f.room(room[:])
	f.mu.Unlock()
	n, err := f.backlog.Read(s.name, waiting, buf)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += n
	w.ahead = append(w.ahead, buf[:n]...)
	s.more = s.more || n == len(buf)
	if err != nil {
		f.fail(err)
	}
	return err
}

// adoptHeld gives t the right to a second site, if the site of t has waited for that site. Both
// sites are out already: admit has taken them together.
func (t *Turn) adoptHeld() {
	if w := t.site.work().wants; w != t.site {
		t.held = w
	}
	t.site.want(nil)
}

func (f *Frontier) handHop(o *site, now time.Time) *Turn {
	f.pay(now)
	f.begun(&f.hops)
	t := &Turn{frontier: f, site: o, hop: true}
	t.stamp()
	return t
}

// release ends all rights of t: to its sites, to commons and to the names that it has reserved. It
// queues the sites that waited for these. The caller must hold f.mu. release may unlock and lock
// f.mu before it frees anything.
func (f *Frontier) release(t *Turn, now time.Time) {
	t.submitLeftEnds()
	if t.hop {
		f.hops--
	} else {
		f.out--
		f.isNoPage(t.site)
		if t.unsure {
			f.unsure--
		}
	}
	if t.held != nil {
		f.free(t.held)
		t.held = nil
	}
	t.release(now)
	t.unbind(now)
	f.free(t.site)
}

// released returns when another process may use the host or site that t has reserved. For a host,
// this is the end of the rest after the request. Waits of only this site, such as for its visit
// time or its robots.txt, do not count: other sites of the host need not wait for them.
func (t *Turn) released() time.Time {
	if t.requested && t.bound[byHost] != "" {
		return t.rested
	}
	due, _ := t.site.ownDue()
	return due
}

func (f *Frontier) free(s *site) {
	s.place = placeIdle
	if wanted := s.work().wanted; wanted != nil {
		s.atWork().wanted = nil
		for _, w := range wanted {
			f.unpark(w)
		}
	}
	f.slow(s)
	f.queue(s)
	f.tellFreed()
}

// fail ends the run with err. If fail is called several times, the first error is kept.
func (f *Frontier) fail(err error) {
	if f.err == nil {
		f.err = err
		close(f.over)
	}
	f.kickLocked()
}

// maxAhead is the largest number of entries of one site that are read before they are needed. If
// more than mostAhead entries of all sites are in memory, each read reads one entry only.
const (
	maxAhead  = 8
	mostAhead = 16 << 10
)

func (f *Frontier) now() time.Time { return time.Now() }
