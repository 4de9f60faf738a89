package frontier

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Trouble says how a request failed, and whether the page or the site is the cause.
type Trouble uint8

// The troubles. Each uses up a try of the entry, which then waits for its next try.
// All except PageTrouble make the site rest, too; after the rest other entries come
// first.
const (
	NoTrouble      Trouble = iota
	PageTrouble            // a 5xx other than 503, or an incomplete body
	SiteTrouble            // 429 or 503: the site needs a rest
	ConnectTrouble         // no connection, or it broke before an answer
	SilenceTrouble         // a connection, but no answer in time
)

// MaxTries is the number of tries of an entry that fails by its own fault.
const MaxTries = 3

// maxRests is the number of tries of an entry whose last try ended with SiteTrouble
// or ConnectTrouble, which may be the fault of the site.
const maxRests = 6

// A Turn is the only right to talk to one site. While it is out, no other Turn of
// that site is. It makes at most one request, and exactly one call of Finish gives
// it back. A Turn belongs to one goroutine.
type Turn struct {
	frontier *Frontier
	site     *site
	entry    Entry
	due      time.Time     // Due of the latest clock for which the turn had to wait
	pause    Pause         // set by that clock
	queued   time.Time     // the end of the time for which the site was queued
	first    time.Time     // when the entry was handed out, the first time of several in a row
	held     *site         // a site whose right came with this turn, for Hop
	hop      bool          // made by Hop: has no entry
	unsure   bool          // the site was not quick: see reserve
	began    time.Time     // of a turn with an entry: when its site was picked
	bound    [kinds]string // names of the commons to which the turn is bound, by kind
	reserved []string      // in Options.Shared: the host or site, and its domain
	leased   time.Time     // when they were reserved or renewed
	received int64         // bytes of the answer that is being read
	finished bool
	end      Fate         // held by Finish, for Done; Undecided: nothing is held
	visit    visitOutcome // of the entry

	requested bool      // the Outcome had a Request
	rested    time.Time // the end of the rest after the request, without the clocks of robots.txt
}

// A Pause is the pause before the request of a turn.
type Pause struct {
	By    Clock // the latest clock, which set the pause; NoClock if there was none
	For   time.Duration
	Since time.Time // start of the pause; zero: the end of the site's last answer in this run
}

// An Outcome is the result of a turn, for Finish.
type Outcome struct {
	Request    *Request  // the request to the turn's site; nil moves no clock
	Trouble    Trouble   // of Request
	RetryAfter time.Time // by the site's Retry-After: no request before; at most a year from now
	Gap        *Gap      // set by the robots.txt in force; nil keeps the last one

	Again          bool      // the entry is undecided: hand it out again when the site is due
	ByGet          bool      // with Again: the server refuses HEAD for it; see Entry.ByGet
	Defer          time.Time // with Again: no request to the site before
	DeferBy        Clock     // that sets Defer; empty: RobotsClock
	RobotsFailures int       // with Again: attempts at robots.txt that failed in a row
	Gone           bool      // with Again: no request is possible: the name of the site does not exist, or it is not public

	Fate Fate // without Again: the end of the entry; with a Trouble, its end after the last try
	// Revisit is when the entry, if it ends and is not put aside, is due to be fetched again.
	// It needs Options.Revisits; it is at most ten years from now.
	Revisit time.Time
	Body    Place   // with Revisit: where the answer is archived with its body
	Changed bool    // with Revisit: the page differs from the one fetched last
	Links   []Entry // found on the page, in scope
	// Changes says when other pages were changed: entries that wait to be fetched again
	// may become due earlier. nil: no changes.
	Changes *Changes
	Hold    bool // with a Fate that ends the entry: leave its end to Turn.Done
}

// A Gap is the pause between two requests that a robots.txt sets; zero if it sets
// none.
type Gap struct {
	For time.Duration
	By  Clock
}

// errFinished is returned by the methods of a Turn after Finish.
var errFinished = errors.New("frontier: turn is already finished")

// errOutcome is returned by Finish for an Outcome with neither Again nor a Fate, so
// that the entry neither ends nor is handed out again. The turn is still out then.
var errOutcome = errors.New("frontier: the outcome has neither a Fate nor Again: set one of them")

// NotYet is the error of a turn that cannot make its request now. Finish it with
// Again and without a request; the frontier keeps what its site waits for.
type NotYet struct {
	By    Clock
	Until time.Time // zero if the right is in use by another turn
}

func (e *NotYet) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("frontier: not yet: %s is in use", e.By)
	}
	return fmt.Sprintf("frontier: not yet: %s until %s", e.By, e.Until.Format(time.RFC3339Nano))
}

// Entry returns the entry of the turn, or the zero Entry if Hop made the turn.
func (t *Turn) Entry() Entry { return t.entry }

// Site returns the site of the turn.
func (t *Turn) Site() Site { return t.site.name }

// Asked returns the pause before this turn's request. After Bind it includes the
// clocks that the site shares with others.
func (t *Turn) Asked() Pause { return t.pause }

// stamp sets the pause of t by the clocks of its site.
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

// wait sets the pause of t to p, which may count from another time than the last
// answer, if p ends later than the pause so far.
func (t *Turn) wait(p Pause) {
	if due := p.Since.Add(p.For); p.By != NoClock && due.After(t.due) {
		t.due, t.pause = due, p
	}
}

// Rested returns the end of the site's last response, in this or an earlier run, or
// the zero time if there was no request.
func (t *Turn) Rested() time.Time {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.site.lastAsked()
}

// Due returns the first time at which the request was possible by all known clocks.
func (t *Turn) Due() time.Time {
	if t.queued.After(t.due) {
		return t.queued
	}
	return t.due
}

// First returns when the entry of the turn was first handed out in this run, since
// the last other entry of its site: later requests to the site were made for this
// entry. It is zero for a turn made by Hop.
func (t *Turn) First() time.Time { return t.first }

// Bind binds the turn to the address of its request. It must be called before the
// connection is made. At a public address the clocks of the address and of the host
// name apply, which other sites may share, and the site's delay is at least
// PublicFloor. The zero Addr is for an address that only a proxy knows: it has no
// clock. Bind returns a *NotYet if one of these clocks, that of the registrable
// domain or another crawl of Options.Shared does not permit the request yet.
func (t *Turn) Bind(addr netip.Addr, public bool) error {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return errFinished
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

// Pace sets, before the request of the turn, the gap of the robots.txt in force. If another
// crawl, or a killed run, has fetched that robots.txt, its gap may be longer than the one
// that was known when the turn was handed out. Then the site rests for the longer gap after
// its last answer, and also after a restart from a crash, because requests before that are
// not known. If the rest has not ended, Pace returns a *NotYet.
func (t *Turn) Pace(gap Gap) error {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return errFinished
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

// Hop returns a turn for another site, to which the turn's robots.txt redirects, if
// that site is free and due. Otherwise it returns a *NotYet, or ErrExcluded. It never
// waits: two sites that redirect to each other would wait for ever. The new turn has
// no entry, and needs its own Finish.
func (t *Turn) Hop(to Site) (*Turn, error) {
	f := t.frontier
	o, err := t.reach(to)
	if err != nil {
		return nil, err
	}
	err = f.limit(o) // o is out during the call
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if due, _ := o.ownDue(); err == nil && due.After(now) {
		t.site.want(o)
		err = &NotYet{SiteClock, due}
	}
	if err != nil {
		f.submitEnds(o) // Done leaves them to the turn that has the site
		f.free(o)
		f.kickLocked()
		return nil, err
	}
	return f.handHop(o, now), nil
}

// Forgo says that the turn needs no other site. If Hop has refused a site, the turn's site
// no longer waits for it. If a site came with the turn and was not passed to Hop, it is free
// for other turns.
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

// reach marks the site to as out and returns it, if it is free and due.
func (t *Turn) reach(to Site) (*site, error) {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return nil, errFinished
	}
	now := f.now()
	if f.sites[to] == nil {
		// The site has no queued entries; its clocks apply nevertheless.
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

// Received counts n more bytes of the answer that the turn is reading. It returns how
// many more bytes the budgets of the crawl and of the site permit, or math.MaxInt64 if
// there is no budget. The answers of all turns that are out count. Finish replaces the
// count by Request.Bytes. Received also renews the reservations of the turn in
// Options.Shared for another Options.Lease.
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

// Finish gives the turn back with its outcome. The clocks of the site move at once;
// Finish does not wait until they and the entry's fate are on disk. It returns the
// fate of the entry: Undecided if it will be handed out again, Waiting if it was
// queued for another try. With Hold, Done submits any other fate: until then the
// entry is held, and still queued in the backlog for a later process.
//
// Finish returns errFinished after the first call, errOutcome or ErrNoURL for an
// outcome that is not valid, or an error of the backlog.
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
	if fate.Code != Undecided && !fate.Waits() { // it is not handed out again
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

	// The site stays out during Submit, so that its completions are submitted in
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

// moveClocks moves the clocks of the site, adds the cost of the request to the sums, and
// returns the fate of the site if it is given up. It requires that mu is held.
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

// check returns an error if o is not a valid outcome of the turn. It requires that mu
// is held.
func (t *Turn) check(o *Outcome) error {
	switch {
	case t.finished:
		return errFinished
	case !t.hop && !o.Again && o.Trouble == NoTrouble && o.Fate.Code == Undecided:
		return errOutcome
	}
	return checkEntries(o.Links)
}

// decide returns the fate of the entry, or Undecided after putting it back in front. It
// requires that mu is held.
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
		if t.site.given() { // the fault of the site, not of the page
			t.entry.Tries = 0
		}
		due, _ := t.site.ownDue()
		most, rest := MaxTries, due.Sub(now)
		pause := retryDelay(t.entry.Tries, rest)
		if o.Trouble == SiteTrouble || o.Trouble == ConnectTrouble {
			most = maxRests
			if t.entry.Tries <= 1 { // wait only as long as the site rests
				pause = min(rest, maxRetryDelay)
			}
		}
		if t.entry.Tries < most {
			return Fate{Code: Waiting, Detail: o.Fate.Detail, Time: now, Until: now.Add(pause)}
		}
	}
	if fate.Code == Undecided { // the last try failed without a fate
		fate.Code = Failed
	}
	if t.frontier.opts.Revisits && !o.Revisit.IsZero() && !fate.Code.Aside() {
		fate.Until = now.Add(min(max(o.Revisit.Sub(now), 0), maxRevisit))
	}
	return fate
}

// retryDelay returns how long a page waits after a failed try: 15 s after the first
// and four times as long after each further one. It is at least twice the rest of the
// site after the failure, so that one page causes at most half of the waiting time.
func retryDelay(tries int, rest time.Duration) time.Duration {
	return min(max(15*time.Second<<(2*max(0, tries-1)), 2*rest), maxRetryDelay)
}

// maxRetryDelay is the longest delay of a retry. The site itself may wait longer.
const maxRetryDelay = 24 * time.Hour

// giveUp returns the fate of a site that is given up for this run, or the zero Fate.
// With Options.Revisits the site rests for deadRest instead.
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
