package account

import (
	"iter"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// An Account reports what happened to the URLs of a crawl, from its records and the settings of
// its last run. It changes nothing. Its methods must not be called concurrently.
type Account struct {
	// OptOut returns why a URL must not be requested, as Options.OptOut does. If it is nil,
	// all URLs may be requested.
	OptOut func(frontier.URL) string
	// Quit is called at intervals by the methods that read for long: List, Refused and Explain.
	// An error of Quit ends the method, which returns it. Quit may block, for example to leave
	// the disk to others for a while. nil: not called.
	Quit func() error

	// Over is set for a snapshot of a series that no run continues.
	Over bool

	from     *store.Records
	dir      string
	now      time.Time
	stored   Stored
	own      kept.Sites
	excluded kept.Exclusions
	pauses   kept.Pauses
	asked    bool // a run has begun, so stored is set
	full     bool // a limit of pages or bytes for the whole crawl is reached
	paged    bool // the limit of pages is reached, and the limit of bytes is not
}

// New returns an Account of the crawl in from: the Records of a store.Reader, or of the
// store.DB of a running crawl. now is the time that decides which URLs have to wait.
func New(from *store.Records, now time.Time) (*Account, error) {
	a := &Account{from: from, dir: from.Dir(), now: now}
	var err error
	if a.stored, a.asked, err = ReadStored(from); err != nil {
		return nil, err
	}
	o := &a.stored.Options
	if a.own, err = kept.ReadSites(from, a.stored.usual()); err != nil {
		return nil, err
	}
	orders, err := kept.Orders(a.dir, from)
	if err != nil {
		return nil, err
	}
	a.excluded, a.pauses = kept.ExclusionsOf(orders), kept.PausesOf(orders)
	if o.Limit > 0 || o.MaxBytes > 0 {
		var spent frontier.Spent
		for st, err := range from.Sites() {
			if err != nil {
				return nil, err
			}
			spent.Pages += st.Spent.Pages
			spent.Bytes += st.Spent.Bytes
		}
		bytes := o.MaxBytes > 0 && spent.Bytes >= o.MaxBytes
		a.full = o.Limit > 0 && spent.Pages >= o.Limit || bytes
		a.paged = a.full && !bytes
	}
	return a, nil
}

// Site returns the settings of a site at the time of its last request. If the site has no
// settings of its own, these are the settings of the last run.
func (a *Account) Site(site frontier.Site) (kept.Site, error) { return a.own.Of(site) }

// Delay returns the least pause between two requests to a site: that of its settings, or a longer
// one that an order requires.
func (a *Account) Delay(site frontier.Site) (time.Duration, error) {
	settings, err := a.Site(site)
	return max(settings.Delay, a.pauses.Of(site)), err
}

// OwnSites iterates over the sites that have settings of their own, in byte order.
func (a *Account) OwnSites() iter.Seq2[frontier.Site, error] { return a.own.Sites() }

// Stored returns the options of the last run. ok is false if no run has begun.
func (a *Account) Stored() (s Stored, ok bool) { return a.stored, a.asked }

// Sites iterates over the sites that have URLs in the crawl, in byte order.
func (a *Account) Sites() iter.Seq2[frontier.Site, error] { return a.from.Names() }

// quit returns the error of Quit, if it is set.
func (a *Account) quit() error {
	if a.Quit == nil {
		return nil
	}
	return a.Quit()
}

// A Listed is a URL of a crawl and its code.
type Listed struct {
	store.Kept
	Code   frontier.Code
	Reason string         // reason for the code, such as a rule with its line, a status or an error; may be empty
	Order  string         // if Code is frontier.Excluded: the site or host of the order that excludes the site
	Clock  frontier.Clock // if Code is frontier.Waiting: the clock for which the URL waits
	Until  time.Time      // if Code is frontier.Waiting: when the URL may be requested
	Again  time.Time      // when the URL will be fetched again (Options.Revisit); zero: it will not, or was not fetched yet
	Purged time.Time      // if Code is frontier.OptedOut: when the stored answers of the URL were purged; zero: they were not
}

// List iterates over the URLs of a site that were ever queued, in the order in which they were
// found. It holds about a thousand of them in memory.
func (a *Account) List(site frontier.Site) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		st, err := a.from.State(site)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		settings, err := a.Site(site)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		held, shown := a.heldBy(&st, &settings, false), a.heldBy(&st, &settings, true)
		n := 0
		for k, err := range a.from.Entries(site) {
			if n++; n%1000 == 1 && err == nil {
				err = a.quit()
			}
			if err != nil {
				yield(Listed{}, err)
				return
			}
			by := &held
			if a.shows(k.Entry) {
				by = &shown
			}
			if !yield(listed(k, by), nil) {
				return
			}
		}
	}
}

// Held returns the code that the queued pages of a site have: the site or the crawl is stopped,
// or the site waits.
func (a *Account) Held(st *frontier.SiteState) (Listed, error) {
	settings, err := a.Site(st.Site)
	if err != nil {
		return Listed{}, err
	}
	h := a.heldBy(st, &settings, false)
	return h.listed(), nil
}

// A held says why the queued entries of a site are not requested now. The zero value means that
// they can be. It does not apply to entries that have to wait longer than the site.
type held struct {
	code   frontier.Code
	reason string
	order  string
	clock  frontier.Clock
	until  time.Time // earliest time at which the site may be requested
	now    time.Time
}

// listed returns h in the fields of a Listed that say why a URL waits.
func (h *held) listed() Listed {
	return Listed{Code: h.code, Reason: h.reason, Order: h.order, Clock: h.clock, Until: h.until}
}

// shows reports whether e is a requisite of a page, such as an image or a script. Limits of
// pages do not apply to requisites.
func (a *Account) shows(e frontier.Entry) bool { return a.stored.Options.Requisites && e.Requisite() }

// heldBy returns why the queued entries of a site are not requested now. A reason that stops
// the site comes first, then a reason that stops the crawl, then the time for which the site
// waits. If shown is set, the entries are requisites of pages, to which limits of pages do not
// apply.
func (a *Account) heldBy(st *frontier.SiteState, settings *kept.Site, shown bool) held {
	h := held{code: frontier.Queued, now: a.now}
	cost := st.Spent
	if shown {
		cost.Pages = 0
	}
	spent := settings.Over(cost)
	of, excluded := a.excluded.Of(st.Site)
	switch {
	case excluded != "":
		h.code, h.reason, h.order = frontier.Excluded, excluded, of
	case st.Fate.Code == frontier.RobotsUnreachable:
		h.code, h.reason = frontier.RobotsUnreachable, st.Fate.Detail
	case st.Fate.Code != frontier.Undecided:
		h.code, h.reason = frontier.SiteDead, st.Fate.Detail
	case spent != "":
		h.code, h.reason = frontier.BudgetSpent, spent
	case a.full && !(shown && a.paged):
		h.code = frontier.LimitReached
	case st.Clocks.Due.After(a.now):
		h.code, h.until, h.clock = frontier.Waiting, st.Clocks.Due, st.Clocks.By
	}
	return h
}

// CodeOf returns the code of an entry with the fate f. For an entry that was not fetched yet it
// returns frontier.Queued; Account.List says more about such an entry.
func CodeOf(f frontier.Fate) frontier.Code {
	if f.Code == frontier.Undecided || f.Code == frontier.Waiting {
		return frontier.Queued
	}
	return f.Code
}

// listed returns an entry with its code. by says why the queued entries of its site are not
// requested now.
func listed(k store.Kept, by *held) Listed {
	l := Listed{Kept: k, Reason: k.Fate.Detail}
	if k.Fate.Again() {
		l.Again = k.Fate.Until
	}
	switch l.Code = CodeOf(k.Fate); l.Code {
	case frontier.Fetched:
		l.Reason = "status " + strconv.Itoa(k.Fate.Status)
	case frontier.OptedOut:
		if why, ok := store.PurgedFate(k.Fate); ok {
			l.Reason, l.Purged = why, k.Fate.Time
		}
	case frontier.Queued:
		l.Code, l.Reason, l.Order, l.Until, l.Clock = by.code, by.reason, by.order, by.until, by.clock
		waits := by.code == frontier.Queued || by.code == frontier.Waiting
		if k.Fate.Until.After(by.now) && k.Fate.Until.After(l.Until) && waits {
			l.Code, l.Until, l.Clock = frontier.Waiting, k.Fate.Until, frontier.RetryClock
		}
	}
	return l
}
