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

// The troubles. A request that fails with any of them uses up a try of the entry, and the entry
// waits for its next try. After any trouble except PageTrouble the site rests, too. After this
// rest, entries of the site that have not failed come first.
const (
	NoTrouble      Trouble = iota
	PageTrouble            // a 5xx status other than 503, or an incomplete body
	SiteTrouble            // 429 or 503: the site needs a rest
	ConnectTrouble         // no connection, or the connection broke before the answer
	SilenceTrouble         // a connection was made, but no answer came before the time limit
)

// MaxTries is the largest number of tries of an entry. If the last failure may be caused by the
// site (429, 503, or no connection), the largest number is 6 instead.
const MaxTries = 3

// maxRests replaces MaxTries if the last try of an entry ended with SiteTrouble or ConnectTrouble,
// because the site may have caused these.
const maxRests = 6

// A Turn is the right to make one request to a site. Next or Hop returns it, and Finish ends it.
// In between the turn is out, and no other Turn of its site is. Finish must be called exactly
// once, even without a request. A Turn belongs to one goroutine.
type Turn struct {
	frontier *Frontier
	site     *site
	entry    Entry
	due      time.Time     // the latest time until which the turn had to wait for a clock
	pause    Pause         // the pause that set due
	queued   time.Time     // when the site was due, as computed when the site was queued
	first    time.Time     // when the entry was first handed out, if several turns in a row were for this entry
	held     *site         // a second site that is out for this turn, so that Hop can return a turn for it; or nil
	hop      bool          // the turn was made by Hop, so it has no entry
	unsure   bool          // the site was not quick when the turn was handed out: see reserve
	began    time.Time     // when the site was picked; zero for a turn made by Hop
	bound    [kinds]string // names of the commons (address, domain, host) that the turn uses, by kind
	reserved []string      // names that are reserved in Options.Shared: the host or site, and its domain
	leased   time.Time     // when the names in reserved were last reserved or renewed
	received int64         // bytes that were received of the answer so far
	finished bool
	end      Fate         // the fate with which Done will end the entry; Undecided: Done has nothing to do
	visit    visitOutcome // data for Entry.Visits that Finish or Done adds

	requested bool      // the turn made a request (Outcome.Request)
	rested    time.Time // end of the rest after the request, not counting Outcome.Defer
}

// A Pause is the time that a turn had to wait before its request.
type Pause struct {
	By    Clock // the clock that ended last, and so set the pause; NoClock if there was no pause
	For   time.Duration
	Since time.Time // start of the pause; zero: the end of the site's last answer in this run
}

// An Outcome is the result of a turn. The caller of Next gives it to Finish.
type Outcome struct {
	Request *Request // the request to the turn's site; nil: no request was made, so no clock moves
	Trouble Trouble  // how Request failed; NoTrouble: it did not
	// RetryAfter is the time that the Retry-After field of the answer names. No request is made
	// before it. It is at most a year from now.
	RetryAfter time.Time
	Gap        *Gap // the pause that the current robots.txt sets; nil: the site keeps its last Gap

	Again          bool      // the entry has not ended, and must be handed out again when the site is due
	ByGet          bool      // with Again: the server refuses HEAD for the entry, so use GET; see Entry.ByGet
	Defer          time.Time // with Again: no request to the site before this time
	DeferBy        Clock     // with Again: the clock that Defer belongs to; empty: RobotsClock
	RobotsFailures int       // with Again: number of failed attempts in a row to fetch robots.txt
	Gone           bool      // with Again: no request is possible: the site's name does not exist, or its address is not public

	// Fate is the fate with which the entry ends. It is not used with Again. With a Trouble, it is
	// used only after the last try of the entry.
	Fate Fate
	// Revisit is when the ended entry becomes due to be fetched again. A time more than ten years
	// from now counts as ten years from now. Revisit is ignored without Options.Revisits, or if Code.Aside reports true for the
	// code of the fate.
	Revisit time.Time
	Body    Place   // with Revisit: where the archive has the answer with its body
	Changed bool    // with Revisit: the page differs from the last fetch
	Links   []Entry // entries found on the page; the caller has left out those outside the scope of the crawl
	// Changes lists when other pages changed. Entries that wait to be fetched again may become due
	// earlier because of it. nil means no changes.
	Changes *Changes
	Hold    bool // an entry that would end is held until Turn.Done is called
}

// A Gap is the pause between two requests that a robots.txt sets. The zero Gap stands for no
// pause.
type Gap struct {
	For time.Duration
	By  Clock
}

// errFinished is returned by the methods of a Turn after Finish has ended it.
var errFinished = errors.New("frontier: turn is already finished")

// errOutcome is returned by Finish for an Outcome that has neither Again nor a Fate. Such an
// Outcome would neither end the entry nor hand it out again. The turn stays out.
var errOutcome = errors.New("frontier: the outcome has neither a Fate nor Again: set one of them")

// NotYet is the error of Bind, Pace and Hop if the turn must not make its request now. Call Finish
// for this turn with Again and without a request. The frontier knows the reason for the wait, and
// hands the entry out again when the site is due.
type NotYet struct {
	By    Clock     // the clock that forbids the request; NoClock: Options.Blocked forbids it
	Until time.Time // when the clock permits the request; zero if the turn must wait for the end of another turn
}

func (e *NotYet) Error() string {
	if e.By == NoClock {
		return "frontier: not yet: requests are blocked (Options.Blocked)"
	}
	if e.Until.IsZero() {
		return fmt.Sprintf("frontier: not yet: %s is in use", e.By)
	}
	return fmt.Sprintf("frontier: not yet: %s until %s", e.By, e.Until.Format(time.RFC3339Nano))
}

// Entry returns the entry of the turn. It is the zero Entry if Hop returned the turn.
func (t *Turn) Entry() Entry { return t.entry }

// Site returns the site of the turn.
func (t *Turn) Site() Site { return t.site.name }

// Asked returns the pause before this turn's request. After Bind it includes the clocks that the
// site shares with others.
func (t *Turn) Asked() Pause { return t.pause }

// stamp sets t.due and t.pause by the clocks of the turn's site.
func (t *Turn) stamp() {
	c := t.site.clocks()
	p := Pause{By: c.By, Since: t.site.since()}
	from := p.Since
	switch {
	case c.By == RestartClock:
		p.Since = t.frontier.opts.Restarted
		if rest := t.site.unknownUntil(); rest.After(p.Since) {
			p.Since = rest
		}
		from = p.Since
	case from.IsZero():
		from = c.Ended
	}
	if p.For = c.Due.Sub(from); from.IsZero() || p.For <= 0 {
		p = Pause{}
	}
	t.due, t.pause = c.Due, p
}

// wait sets t.pause to p if p ends later than t.pause.
func (t *Turn) wait(p Pause) {
	if due := p.Since.Add(p.For); p.By != NoClock && due.After(t.due) {
		t.due, t.pause = due, p
	}
}

// Rested returns the end of the site's last response, even if it came in an earlier run. It
// returns the zero time if there was no request.
func (t *Turn) Rested() time.Time {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.site.lastAsked()
}

// Due returns the earliest time at which all known clocks permit the request of t.
func (t *Turn) Due() time.Time {
	if t.queued.After(t.due) {
		return t.queued
	}
	return t.due
}

// First returns when the entry of the turn was first handed out in this run. Since this time all
// requests to the site were for this entry: if another entry of the site is handed out in between,
// First starts again. For a turn that Hop has returned, First returns the zero time.
func (t *Turn) First() time.Time { return t.first }

// Bind tells the frontier the address of the turn's request. Call it before the connection is
// made. public says whether addr is a public address.
//
// At a public address the site also waits for the clocks of the address and of the host name,
// which other sites may share, and its delay is at least PublicFloor. If only a proxy knows the
// address, use the zero Addr, which has no clock.
//
// Bind returns a *NotYet if one of these clocks, the clock of the registrable domain, or another
// crawl of Options.Shared does not permit the request yet, or if Options.Blocked forbids it.
func (t *Turn) Bind(addr netip.Addr, public bool) error {
	f := t.frontier
	if f.blocked() != nil {
		return &NotYet{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return errFinished
	}
	f.served(t.site, addr, public)
	if err := t.may(f.now()); err != nil {
		return err
	}
	if err := t.reserve(addr, public); err != nil {
		return err
	}
	t.bind(f.now())
	return nil
}

// may returns nil if the commons of t's site (its address, domain and host name) permit a request
// now, or else a *NotYet. The caller must hold f.mu.
func (t *Turn) may(now time.Time) error {
	f := t.frontier
	for i := range f.commons {
		own := f.part(t.site, i)
		err := f.commons[i].may(&own, now)
		if t.site.promise(i, own.start); err != nil {
			return err
		}
	}
	return nil
}

// Pace sets the gap: the pause between two requests that the current robots.txt sets. Call it
// before the request of the turn. The gap may be longer than the one that was known when the turn
// was handed out, because another crawl or a killed run has fetched the robots.txt. The site then
// rests for the longer gap after its last answer. It also rests for this gap after a restart from
// a crash, because the last requests before the crash are not known. If this rest has not ended,
// Pace returns a *NotYet. A gap that is not longer changes nothing.
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

// Hop returns a turn for another site, to which the robots.txt of the turn's site redirects. The
// new turn has no entry, and needs its own Finish. Hop never waits: two sites that redirect to
// each other would wait for each other for ever.
//
// If the other site already has a turn, or is not due, Hop returns a *NotYet. If the other site is
// excluded, Hop returns ErrExcluded.
//
// If another frontier owns the other site (see Options.Term), Hop returns a *NotYet, too. Before
// that it calls the method Want(from, to Site) of Options.Shared, if there is one, so that the
// backlog can bring both sites together. Want must be quick, because a lock is held.
func (t *Turn) Hop(to Site) (*Turn, error) {
	f := t.frontier
	o, err := t.reach(to)
	if err != nil {
		return nil, err
	}
	err = f.limit(o) // no other goroutine has o, because its place is placeOut
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if due, _ := o.ownDue(); err == nil && due.After(now) {
		t.site.want(o)
		err = &NotYet{SiteClock, due}
	}
	if err != nil {
		f.submitEnds(o) // submits the ends that Done could not submit while the site was out
		f.free(o)
		f.kickLocked()
		return nil, err
	}
	return f.handHop(o, now), nil
}

// Forgo says that the turn needs no site except its own. If an earlier Hop returned a *NotYet, the
// turn's site stops waiting for the site of that Hop. If that site was kept free for this turn and
// is not used, other turns may have it.
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

// reach returns the site to and sets its place to placeOut, if that site has no turn and is due.
// Otherwise it returns a *NotYet, ErrExcluded, errFinished or an error of the backlog.
func (t *Turn) reach(to Site) (*site, error) {
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.finished {
		return nil, errFinished
	}
	now := f.now()
	if f.sites[to] == nil {
		// The site has no queued entries, so it is not in memory. Its clocks are in the backlog.
		st, err := f.backlog.State(to)
		if err != nil {
			return nil, err
		}
		if f.current(to, st.Term) {
			f.learn(st)
		}
	}
	if f.sites[to] == nil || !f.has(to) { // another frontier owns the site
		if g, is := f.opts.Shared.(guarded); is {
			if w, is := g.Shared.(interface{ Want(from, to Site) }); is {
				w.Want(t.site.name, to)
			}
		}
		return nil, f.refuse(t.site, Taken{Lease: true}, now)
	}
	if f.opts.Term != nil && t.site.work().machine != (refused{}) {
		t.site.atWork().machine = refused{}
	}
	if t.held != nil && t.held.name == to && !f.isExcluded(to) {
		o := t.held
		t.held = nil
		return o, nil
	}
	o := f.site(to)
	due, _ := o.ownDue()
	switch {
	case f.isExcluded(to):
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

// Received counts n more bytes of the answer that the turn is reading. It returns how many more
// bytes the budgets of the crawl and of the site permit, or math.MaxInt64 if there is no budget.
// Bytes that other turns have received so far also count for the budget of the crawl. Finish
// replaces the count by Request.Bytes. Received also renews the reservations of the turn in
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

// plausible returns r, or a corrected copy that ends now if the end in r is before its start or
// before the turn. So a Request without times does not shorten the next pause. r may be nil.
func (t *Turn) plausible(r *Request, now time.Time) *Request {
	if r == nil || !r.Ended.IsZero() && !r.Ended.Before(r.Started) && !r.Ended.Before(t.began) {
		return r
	}
	whole := *r
	whole.Ended = now
	return &whole
}

// Finish ends the turn with its outcome. The clocks of the site move at once. Finish does not wait
// until the clocks and the entry's fate are on disk. It returns the fate of the entry, or
// Undecided if the entry will be handed out again, or Waiting if it was queued for another try.
// With Outcome.Hold, Finish does not submit any other fate; Done submits it. Until Done is called
// the entry is held: it stays queued in the backlog, even if the process ends.
//
// Finish returns ErrNoURL if a link has no URL. It returns an error if the outcome has neither
// Again nor a Trouble nor a Fate, or if the turn is already finished. In these cases nothing
// changes. Any other error comes from the backlog: the turn has ended, and so has the run.
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
	o.Request = t.plausible(o.Request, now)
	f.account(t, o)
	given := t.moveClocks(&o, now)
	fate := Fate{}
	if !t.hop {
		s.give(given)
		fate = t.decide(o, now)
		f.visited(t, fate.Code != Undecided, now)
	}
	if fate.Code != Undecided && !fate.Waits() { // the entry has ended for good
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

	// The place of the site stays placeOut during Submit. So the completions of the site are
	// submitted in the order of its turns.
	var err error
	if news {
		err = f.backlog.Submit(c)
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(err)
	}
	f.release(t, now)
	f.kickLocked()
	return fate, err
}

// moveClocks updates the clocks of the site and adds the cost of the request to the sums. If the
// site is given up, it returns the fate of the site. The caller must hold f.mu.
func (t *Turn) moveClocks(o *Outcome, now time.Time) (given Fate) {
	f, s := t.frontier, t.site
	c := s.clocks()
	if o.Gap != nil {
		c.Gap, c.GapBy = o.Gap.For, o.Gap.By
		if o.Request == nil && !c.Ended.IsZero() { // this site got no request, because its robots.txt came from another site
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

// check returns an error if o is not a valid outcome of the turn. The caller must hold mu.
func (t *Turn) check(o *Outcome) error {
	switch {
	case t.finished:
		return errFinished
	case !t.hop && !o.Again && o.Trouble == NoTrouble && o.Fate.Code == Undecided:
		return errOutcome
	}
	return checkEntries(o.Links)
}

// decide returns the fate of the entry. With o.Again the fate is Undecided, and decide puts the
// entry back as the first one of its site. The caller must hold mu.
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
		if t.site.given() { // the site caused the failure, not the page
			t.entry.Tries = 0
		}
		due, _ := t.site.ownDue()
		most, rest := MaxTries, due.Sub(now)
		pause := retryDelay(t.entry.Tries, rest)
		if o.Trouble == SiteTrouble || o.Trouble == ConnectTrouble {
			most = maxRests
			if t.entry.Tries <= 1 { // after a first failure the entry waits only as long as the site rests
				pause = min(rest, maxRetryDelay)
			}
		}
		if t.entry.Tries < most {
			return Fate{Code: Waiting, Detail: o.Fate.Detail, Time: now, Until: now.Add(pause)}
		}
	}
	if fate.Code == Undecided { // the last try failed, and the caller gave no fate
		fate.Code = Failed
	}
	if t.frontier.opts.Revisits && !o.Revisit.IsZero() && !fate.Code.Aside() {
		fate.Until = now.Add(min(max(o.Revisit.Sub(now), 0), maxRevisit))
	}
	return fate
}

// retryDelay returns how long a page waits after a failed try: 15 s after the first try, and four
// times as long after each further try, up to maxRetryDelay. The delay is at least twice the rest
// of the site after the failure. So a single page causes at most half of the site's waiting time.
func retryDelay(tries int, rest time.Duration) time.Duration {
	return min(max(15*time.Second<<(2*max(0, tries-1)), 2*rest), maxRetryDelay)
}

// maxRetryDelay is the longest delay before a retry of a page. The site may have to wait longer.
const maxRetryDelay = 24 * time.Hour

// giveUp decides whether the site is given up for this run. It returns the fate of the site, or
// the zero Fate if the site is not given up. With Options.Revisits no site is given up; the site
// rests for Options.DeadRest instead.
func (f *Frontier) giveUp(c *Clocks, o Outcome, now time.Time) (given Fate) {
	switch {
	case o.Gone || o.Request != nil && c.Refusals >= maxRefusals:
		given = Fate{Code: SiteDead, Detail: o.Fate.Detail, Time: now}
	case o.RobotsFailures >= maxRobotsFails:
		given = Fate{Code: RobotsUnreachable, Detail: o.Fate.Detail, Time: now}
	}
	if given.Code != Undecided && f.opts.Revisits {
		c.Refusals = 0
		c.raise(now.Add(f.opts.DeadRest), FailuresClock)
		return Fate{}
	}
	return given
}
