package frontier

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Trouble says whose fault it was that a request did not bring what was asked.
type Trouble uint8

// The troubles. Each uses up a try of the entry, which then waits by itself. All
// but PageTrouble make the site rest, too: after that other entries go first.
const (
	NoTrouble      Trouble = iota
	PageTrouble            // another 5xx, a body that stops or is cut
	SiteTrouble            // 429 or 503: the site asks for rest
	ConnectTrouble         // no connection, or it broke before an answer
	SilenceTrouble         // a connection, but no answer in time
)

// MaxTries is how often a page is asked for that fails by its own fault.
const MaxTries = 3

// MaxRests is how often an entry is asked for whose last try made its site ask
// for rest or broke the connection: that may have been the site's fault.
const MaxRests = 6

// A Turn is the sole right to talk to one site. While it is out no other Turn
// of that site is. It makes at most one request and is given back by exactly
// one call of Finish. A Turn belongs to one goroutine.
type Turn struct {
	frontier *Frontier
	site     *site
	entry    Entry
	due      time.Time     // of the latest clock that this turn had to wait for
	pause    Pause         // that it asked for
	queued   time.Time     // until then the site was queued
	first    time.Time     // the entry was handed out, the first time of those in a row
	held     *site         // a site whose right came with this turn, for Hop
	hop      bool          // made by Hop: has no entry
	unsure   bool          // the site was not quick: see reserve
	began    time.Time     // of a turn with an entry: its site was picked
	bound    [kinds]string // to what the site has in common with others, by kind
	reserved []string      // of Options.Shared: the host or site, and its domain
	leased   time.Time     // when that was reserved or renewed
	received int64         // bytes of the answer that is being read
	finished bool
	end      Fate         // that Finish has held and Done has not seen to; Undecided: there is none
	visit    visitOutcome // of the entry

	requested bool      // Finish was told of a request
	rested    time.Time // until when the site rests after it, whatever robots.txt says
}

// A Pause is what was asked of a turn before its request.
type Pause struct {
	By    Clock // the clock that asked, the latest; NoClock where nothing was asked
	For   time.Duration
	Since time.Time // from here on; zero: from the end of the site's last answer, in this run
}

// An Outcome is what a turn came to.
type Outcome struct {
	Request    *Request  // the one request that was made of the turn's site; nil moves no clock
	Trouble    Trouble   // of Request
	RetryAfter time.Time // the site asked not to be asked before; more than a year counts as a year
	Gap        *Gap      // that the robots.txt in force asks; nil leaves what is known

	Again          bool      // the entry is undecided: offer it again when the site is due
	ByGet          bool      // with Again: the server refuses HEAD for it; see Entry.ByGet
	Defer          time.Time // with Again: the site is not to be asked before
	DeferBy        Clock     // that says so; empty: RobotsClock
	RobotsFailures int       // with Again: attempts at robots.txt that failed in a row
	Gone           bool      // with Again: the site cannot be asked: its name does not exist, or it is not public

	Fate Fate // otherwise: how the entry ends; with a Trouble, after the last try
	// Revisit is until when the entry waits to be fetched again, where it ends and is not put
	// aside. It needs Options.Revisits; more than ten years count as ten.
	Revisit time.Time
	Body    Place   // with Revisit: where that is archived with its body
	Changed bool    // with Revisit: what was fetched is not what it was the last time
	Links   []Entry // found on the page, in scope
	// Changes are what the page says of when others were changed: those that wait to be
	// fetched again may be due sooner by it. nil: nothing.
	Changes *Changes
	Hold    bool // with a Fate that ends the entry: that is left to Turn.Done, and all else is done now
}

// A Gap is the pause between two requests that a robots.txt asks; zero where it asks
// none.
type Gap struct {
	For time.Duration
	By  Clock
}

// ErrFinished is returned by methods of a Turn that was given back.
var ErrFinished = errors.New("frontier: turn is already finished")

// ErrOutcome is returned by Finish for an Outcome that says neither how the entry
// ends nor that it is to be offered again. The turn is still out then.
var ErrOutcome = errors.New("frontier: the outcome has neither a Fate nor Again: what becomes of the entry?")

// NotYet says that a right cannot be had at once. The turn makes no request
// then and ends with Again; the frontier remembers what it waits for.
type NotYet struct {
	By    Clock
	Until time.Time // zero where it is in use
}

func (e *NotYet) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("frontier: not yet: %s is in use", e.By)
	}
	return fmt.Sprintf("frontier: not yet: %s until %s", e.By, e.Until.Format(time.RFC3339Nano))
}

// Entry is the entry the turn is for. A turn made by Hop has none.
func (t *Turn) Entry() Entry { return t.entry }

// Site is the site the turn is the right to.
func (t *Turn) Site() Site { return t.site.name }

// Asked is the pause that was asked before this turn's request. What the site
// has in common with others counts once Bind has returned.
func (t *Turn) Asked() Pause { return t.pause }

// stamp notes what the clocks of the site ask of t.
func (t *Turn) stamp() {
	c := t.site.clocks()
	p := Pause{By: c.By, Since: t.site.since()}
	from := p.Since
	switch {
	case c.By == RestartClock:
		p.Since = t.frontier.opts.Restarted
		from = p.Since
	case from.IsZero():
		from = c.Ended
	}
	if p.For = c.Due.Sub(from); from.IsZero() || p.For <= 0 {
		p = Pause{}
	}
	t.due, t.pause = c.Due, p
}

// wait notes a pause that counts from another time than the last answer, if it
// is the one that ends last.
func (t *Turn) wait(p Pause) {
	if due := p.Since.Add(p.For); p.By != NoClock && due.After(t.due) {
		t.due, t.pause = due, p
	}
}

// Rested is since when nothing was asked of the site: the end of its last
// response, in an earlier run, too; zero where it was never asked.
func (t *Turn) Rested() time.Time {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.site.lastAsked()
}

// Due is when the site could be asked by all that was known of it.
func (t *Turn) Due() time.Time {
	if t.queued.After(t.due) {
		return t.queued
	}
	return t.due
}

// First is when the entry of the turn was handed out for the first time in this
// run, if no other one of its site was since: what was asked of the site later
// was asked for this entry. It is zero for a turn made by Hop.
func (t *Turn) First() time.Time { return t.first }

// Bind binds the turn to the one address that it will talk to, before any byte
// is sent, connecting included. At a public address the clock of the address
// counts, which others may share, and that of the host name, and the site's
// delay has a floor. The zero Addr is an address that only a proxy knows: there is
// no clock of it. The error is a *NotYet if one of these clocks, the registrable
// domain or another crawl of Options.Shared does not let the turn go on yet.
func (t *Turn) Bind(addr netip.Addr, public bool) error {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return ErrFinished
	}
	now := f.now()
	f.served(t.site, addr, public)
	for i := range f.commons {
		own := f.part(t.site, i)
		err := f.commons[i].may(&own, now)
		if t.site.promise(i, own.start); err != nil {
			return err
		}
	}
	if err := t.reserve(addr, public, now); err != nil {
		return err
	}
	t.bind(now)
	return nil
}

// Pace says, before the request of the turn, what the robots.txt in force asks. A copy that
// another crawl has fetched, or a run that was killed, may ask for more than was known when
// the turn was handed out: the site rests that long from its last answer, and from an
// unclean start, whose requests are not known. The error is a *NotYet until then.
func (t *Turn) Pace(gap Gap) error {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return ErrFinished
	}
	c := t.site.clocks()
	if gap.For <= c.Gap {
		return nil
	}
	c.Gap, c.GapBy = gap.For, gap.By
	t.site.setClocks(c)
	f.restAnew(t.site)
	if due, by := t.site.ownDue(); due.After(f.now()) {
		return &NotYet{by, due}
	}
	return nil
}

// Hop takes the right to another site, to which the turn's robots.txt
// redirects, if that site is free and due, and never waits: two sites that
// redirect to each other would wait for ever. The error is a *NotYet
// otherwise, or ErrExcluded. The new turn has no entry; it is finished by its own Finish.
func (t *Turn) Hop(to Site) (*Turn, error) {
	f := t.frontier
	o, err := t.reach(to)
	if err != nil {
		return nil, err
	}
	err = f.limit(o) // o is out meanwhile
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if due, _ := o.ownDue(); err == nil && due.After(now) {
		t.site.want(o)
		err = &NotYet{SiteClock, due}
	}
	if err != nil {
		f.submitEnds(o) // Done has left them to whoever has the site
		f.free(o)
		f.kickLocked()
		return nil, err
	}
	return f.handHop(o, now), nil
}

// Forgo says that the turn goes on without the right to another site: its site does not
// wait for one that Hop has refused, and one that came with the turn, and that Hop was not
// asked for, is free for others.
func (t *Turn) Forgo() {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return
	}
	t.site.want(nil)
	if o := t.held; o != nil {
		f.submitEnds(o)
		t.held = nil
		f.free(o)
		f.kickLocked()
	}
}

// reach takes the site to, if it can be had now.
func (t *Turn) reach(to Site) (*site, error) {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return nil, ErrFinished
	}
	now := f.now()
	if f.sites[to] == nil {
		// It has nothing queued; its clocks count all the same.
		st, err := f.backlog.State(to)
		if err != nil {
			return nil, err
		}
		f.learn(st)
	}
	if t.held != nil && t.held.name == to && f.exclusion(to) == "" {
		o := t.held
		t.held = nil
		return o, nil
	}
	o := f.site(to)
	due, _ := o.ownDue()
	switch {
	case f.exclusion(to) != "":
		return nil, ErrExcluded
	case o.place == placeOut:
		t.site.want(o)
		return nil, &NotYet{By: SiteClock}
	case due.After(now):
		t.site.want(o)
		return nil, &NotYet{SiteClock, due}
	}
	f.take(o)
	return o, nil
}

// Received counts n more bytes of the answer that the turn is reading, and returns how
// many more may come until a budget of bytes is spent, of the crawl or of the site:
// math.MaxInt64 if there is none. The answers to all turns that are out count. Finish
// replaces what was counted by Request.Bytes. What the turn has reserved of Options.Shared
// stays so for another Options.Lease.
func (t *Turn) Received(n int64) (left int64) {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return 0
	}
	t.received += n
	f.reading += n
	t.renew(f.now())
	left = math.MaxInt64
	if most := f.limits.Bytes; most > 0 {
		left = most - f.spent.Bytes - f.reading
	}
	if most := f.most(t.site).Bytes; most > 0 {
		left = min(left, most-t.site.spent().Bytes-t.received)
	}
	return max(left, 0)
}

// Finish gives the turn back and says what it came to. The clocks of the site
// move at once; that they and the entry's fate are safe on disk is not waited
// for. It returns what became of the entry: Undecided where it is to be
// offered again, Waiting where it was queued for another try. With Hold any other
// fate is one that Done is to give it: until then the entry is in hand, and queued
// for whoever opens the backlog after this process.
func (t *Turn) Finish(o Outcome) (Fate, error) {
	f := t.frontier
	f.mu.Lock()
	if err := t.check(&o); err != nil {
		f.mu.Unlock()
		return Fate{}, err
	}
	t.finished = true
	f.reading -= t.received
	s, now := t.site, f.now()
	o.RetryAfter, o.Defer = live(o.RetryAfter, now), live(o.Defer, now)
	f.account(t, o)
	given := t.moveClocks(&o, now)
	fate := Fate{}
	if !t.hop {
		s.give(given)
		fate = t.decide(o, now)
		f.visited(t, fate.Code != Undecided, now)
	}
	if fate.Code != Undecided && !fate.Waits() { // it does not come again
		w := s.atWork()
		w.asked, w.first = 0, time.Time{}
	}
	ended, held := fate, o.Hold && fate.Code != Undecided && fate.Code != Waiting
	t.visit = visitOutcome{o.Changed, o.Body}
	switch {
	case held:
		t.hold(fate)
		ended = Fate{}
	case fate.counts(t.entry):
		s.spend(Spent{Pages: 1})
		f.spent.Pages++
	}
	f.turnover()
	if ended.Ends() {
		f.done++
	}
	c := Completion{
		Site: s.name, Clocks: s.clocks(), Spent: s.spent(), Given: s.fate(), Common: t.keptCommon(now),
		Entry: t.entry.after(ended, t.visit), Fate: ended, Held: held, Links: o.Links, Changes: o.Changes,
	}
	news := o.Request != nil || fate.Code != Undecided || given.Code != Undecided || !o.Defer.IsZero() ||
		len(o.Links) > 0 || o.Changes != nil
	if news {
		f.submitted()
	}
	f.mu.Unlock()

	// The site stays out meanwhile, so that its completions are submitted in
	// the order of its turns.
	var err error
	if news {
		err = f.backlog.Submit(c)
	}

	f.mu.Lock()
	if err != nil {
		f.fail(err)
	}
	f.release(t, now)
	f.kickLocked()
	f.mu.Unlock()
	return fate, err
}

// moveClocks moves the clocks of the site, adds up what the request has cost, and says
// whether the site is given up. It requires that mu is held.
func (t *Turn) moveClocks(o *Outcome, now time.Time) (given Fate) {
	f, s := t.frontier, t.site
	c := s.clocks()
	if o.Gap != nil {
		c.Gap, c.GapBy = o.Gap.For, o.Gap.By
		if o.Request == nil && !c.Ended.IsZero() { // the robots.txt came from another site
			c.raise(c.Ended.Add(o.Gap.For), o.Gap.By)
		}
	}
	if o.Request != nil {
		c.move(s.name, *o.Request, o.Trouble, o.RetryAfter, f.delay(s))
		s.begun().earlier, t.requested, t.rested = false, true, c.Due
		cost := Spent{Bytes: o.Request.Bytes, Time: o.Request.Ended.Sub(o.Request.Started)}
		s.spend(cost)
		f.spent.add(cost)
	}
	by := o.DeferBy
	if by == NoClock {
		by = RobotsClock
	}
	c.raise(o.Defer, by)
	given = f.giveUp(&c, *o, now)
	s.setClocks(c)
	return given
}

// check refuses an outcome that cannot be one. It requires that mu is held.
func (t *Turn) check(o *Outcome) error {
	switch {
	case t.finished:
		return ErrFinished
	case !t.hop && !o.Again && o.Trouble == NoTrouble && o.Fate.Code == Undecided:
		return ErrOutcome
	}
	return checkEntries(o.Links)
}

// decide says what becomes of the entry. It requires that mu is held.
func (t *Turn) decide(o Outcome, now time.Time) Fate {
	if o.Again {
		t.entry.ByGet = t.entry.ByGet || o.ByGet
		w := t.site.atWork()
		w.ahead = append([]Entry{t.entry}, w.ahead...)
		t.frontier.ahead++
		return Fate{}
	}
	fate := o.Fate
	fate.Time = now
	if o.Trouble != NoTrouble {
		t.entry.Tries++
		if t.site.given() { // which is its own fault
			t.entry.Tries = 0
		}
		due, _ := t.site.ownDue()
		most, rest := MaxTries, due.Sub(now)
		pause := retryDelay(t.entry.Tries, rest)
		if o.Trouble == SiteTrouble || o.Trouble == ConnectTrouble {
			most = MaxRests
			if t.entry.Tries <= 1 { // the site says when
				pause = min(rest, maxRetryDelay)
			}
		}
		if t.entry.Tries < most {
			return Fate{Code: Waiting, Detail: o.Fate.Detail, Time: now, Until: now.Add(pause)}
		}
	}
	if fate.Code == Undecided { // as all tries were
		fate.Code = Failed
	}
	if t.frontier.opts.Revisits && !o.Revisit.IsZero() && !fate.Code.Aside() {
		fate.Until = now.Add(min(max(o.Revisit.Sub(now), 0), maxRevisit))
	}
	return fate
}

// retryDelay is 15 s after the first failed try of a page and four times as
// long after each further one; at least twice the rest that it brought its
// site, so that what is spent waiting for one page is no more than half.
func retryDelay(tries int, rest time.Duration) time.Duration {
	return min(max(15*time.Second<<(2*max(0, tries-1)), 2*rest), maxRetryDelay)
}

// maxRetryDelay is the longest that a page waits by itself. Its site may wait
// for longer.
const maxRetryDelay = 24 * time.Hour

// giveUp says why a site is not asked any more in this run; the zero Fate if
// it still is. In a crawl that fetches again it rests instead.
func (f *Frontier) giveUp(c *Clocks, o Outcome, now time.Time) (given Fate) {
	switch {
	case o.Gone || o.Request != nil && c.Refusals >= maxRefusals:
		given = Fate{Code: SiteDead, Detail: o.Fate.Detail, Time: now}
	case o.RobotsFailures >= maxRobotsFails:
		given = Fate{Code: RobotsUnreachable, Detail: o.Fate.Detail, Time: now}
	}
	if given.Code != Undecided && f.opts.Revisits {
		c.Refusals = 0
		c.raise(now.Add(deadRest), FailuresClock)
		return Fate{}
	}
	return given
}
