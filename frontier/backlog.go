package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// A Backlog keeps the entries of a crawl. An entry is a URL to request; each Entry.Key is kept at
// most once. A Backlog also keeps the clocks of each site: the times before which no request is
// made. The frontier decides when an entry is requested; the backlog only stores. All methods are
// safe for concurrent use.
//
// No method reports whether a link was new. So a backlog may store the links of a Submit first,
// and find out later which of them are new. The Submit then counts in Growth.Settled only after
// the backlog knows which links are new.
type Backlog interface {
	// Sites iterates over the states of all sites that the backlog knows. A pair with an error
	// ends the iteration. The frontier calls Sites once, before all other methods, and calls no
	// other method until the iteration has ended.
	Sites() iter.Seq2[SiteState, error]

	// Common iterates over the clocks that several sites share. A pair with an error ends the
	// iteration. The frontier calls Common once, after Sites, and calls no other method until the
	// iteration has ended.
	Common() iter.Seq2[CommonClock, error]

	// State returns the state of one site, the same state that Sites yields. If the backlog does
	// not know the site, all fields except Site are zero.
	State(Site) (SiteState, error)

	// Read fills entries with the next entries of site and returns their number. First come the
	// entries whose Due is at or before now. Then come entries without a Due, by rank and then by
	// age. Read skips entries that are due later. Read returns an entry a second time only if a
	// Completion has queued the entry again after the first time.
	//
	// A backlog with another clock may find during Read that the entries are due later than it has
	// reported in SiteState.Waiting. Then it must report the new state in a Growth. Otherwise the
	// frontier does not ask for these entries again.
	Read(site Site, now time.Time, entries []Entry) (int, error)

	// ReadRequisites is like Read, but returns only entries that may be requested after the limit
	// of pages is reached (Entry.AfterPages). Of the entries without a Due it returns only those
	// with RequisiteRank. The result waiting is the earliest Due of the entries that may be
	// requested after the limit and were not returned. It is zero if no such entry has a Due.
	// ReadRequisites may search all entries with RequisiteRank, and all entries with a Due.
	ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error)

	// Submit stores c. It normally returns before c is on disk. If too many earlier completions
	// are not on disk yet, Submit may wait until they are. Submit copies the parts of c.Links and
	// c.Common that it keeps. The completions of one site take effect in the order of the calls.
	Submit(c Completion) error

	// Grown returns a channel. On it the backlog reports the sites that have entries to read, and
	// how many calls of Submit have settled. A Submit has settled when Read returns results that
	// include all its changes.
	Grown() <-chan Growth
}

// A SiteState is the state of one site in a backlog.
type SiteState struct {
	Site    Site
	Clocks  Clocks
	Known   int       // entries ever added, including ended ones
	Queued  int       // entries that have not ended, except those that Again counts
	Again   int       // entries that had ended, and wait to be fetched again (Entry.Again)
	Ready   bool      // there is an entry without a Due, which Read returns at any time
	Head    uint8     // rank of the first entry without a Due, valid if Ready; this entry may have been read already
	Waiting time.Time // earliest Due of the entries that wait for their Due; zero if none do
	// NextAgain is the earliest Due of the entries that Again counts and that were not read. It is
	// zero if there are none. It may also be zero if many retries are due earlier: a backlog need
	// not search all of them.
	NextAgain time.Time
	Spent     Spent
	Fate      Fate  // why the site was given up; it gets no more requests. Zero: it was not given up
	Term      *Term // the term in which the backlog read this state; nil without Options.Term
}

// Left returns the number of entries that have not ended, in Queued and in Again.
func (s *SiteState) Left() int { return s.Queued + s.Again }

// Spent is the cost of a site, or of a crawl, so far. Budgets limit it.
type Spent struct {
	Pages int           // entries that ended with a page, except requisites (Entry.Requisite)
	Bytes int64         // size of all answers in bytes, as transferred (before decoding)
	Time  time.Duration // total duration of the requests, each from its start to the end of the answer
}

// A CommonClock is the time before which no request is made to any site of a group: all sites
// that have the same address, or the same registrable domain.
type CommonClock struct {
	Name string
	Due  time.Time
}

// A Completion is the change that a turn (see Turn), or Frontier.Add, makes to a backlog.
type Completion struct {
	Site   Site   // zero if only links are added
	Clocks Clocks // clocks of Site after this turn
	Spent  Spent  // the cost of Site in all turns so far
	Given  Fate   // why Site is given up; zero if it is not
	Common []CommonClock
	Entry  Entry // the entry whose result is Fate; none if its ID is zero
	// Fate is the result for Entry. If its Code is Undecided, Entry has not ended. If its Code is
	// Waiting, or if its Until is set, Entry is queued again and due at Until.
	Fate Fate
	// Held says that the entry ends by a call of Turn.Done. If Fate is Undecided, this completion
	// begins the hold, and a later one ends the entry. With any other Fate, this completion ends
	// an entry that was held until now.
	Held  bool
	Links []Entry // entries to queue, if they are new
	// Changes gives an earlier Due to entries of any site that wait to be fetched again
	// (Changes.Due). It does not change entries that were read and have not ended. It may miss
	// entries whose completion has not settled yet (see Grown).
	Changes *Changes
}

// A Growth reports what has changed in a backlog: sites with new entries, and settled Submits.
type Growth struct {
	Sites   []SiteState // states of the sites that have new entries, or another Waiting
	Settled int         // number of calls of Submit that have settled since the last Growth
	Err     error       // if not nil, the backlog has failed and cannot continue
	// Terms and Common are used only with Options.Term. Terms holds the numbers of the terms that
	// begin with this growth. Common holds the clocks that the sites of these terms share. See
	// Term.
	Terms  []uint64
	Common []CommonClock
	Number uint64 // number of this growth; 0 if the backlog does not number growths. See Rest.Grown
}

// Growths is a channel of Growth, for implementations of Backlog. Put adds a Growth and never
// blocks: growths that were not received yet are merged into one. Only one goroutine may call
// Put. The zero value is empty.
type Growths struct {
	once sync.Once
	c    chan Growth
}

func (g *Growths) init() { g.once.Do(func() { g.c = make(chan Growth, 1) }) }

// C returns the channel from which a frontier receives the growths.
func (g *Growths) C() <-chan Growth {
	g.init()
	return g.c
}

// Put sends n. If an earlier growth was not received yet, Put merges n into it.
func (g *Growths) Put(n Growth) {
	g.init()
	select {
	case old := <-g.c:
		n.Settled += old.Settled
		n.Sites = append(old.Sites, n.Sites...)
		n.Terms = append(old.Terms, n.Terms...)
		n.Common = append(old.Common, n.Common...)
		n.Number = max(n.Number, old.Number)
		if n.Err == nil {
			n.Err = old.Err
		}
	default:
	}
	g.c <- n
}

// The names from here to the end of the file are for backlogs that several frontiers share, for
// example on several machines. A crawl on one machine uses none of them.

// A Term is a period in which one frontier owns a group of sites, for example all sites of some
// registrable domains. Only this frontier makes requests to them. Options.Term returns the number
// of the current term.
//
// A group of sites changes its owner in these steps:
//
//   - Options.Term of the old frontier begins to return 0 for these sites. Then Withdraw is
//     called on the old frontier. When Withdraw returns, all changes are submitted, and the
//     backlog stores them. Now another frontier may own the sites.
//   - The backlog of the new frontier reads the states of these sites. Their Term has a new
//     Number. Then Options.Term returns this Number, and one Growth brings the Number, the states
//     and the clocks that the sites share. The group must include all sites of a host or domain.
//     A site without entries may be left out if it is due now and had no request since Rest.
//   - At the beginning of a term, no entry counts as read. Read returns again all entries that
//     have not ended.
//
// The frontier ignores a state if its Term.Number is not the current one, or if no Growth has
// brought this Number yet. So a backlog need not take back growths that were not received.
type Term struct {
	Number uint64 // not 0; each term of a frontier has a different number
	// Rest is the latest time at which an earlier owner may have sent requests to the sites
	// without giving the sites back. Each site rests its full pause, counted from Rest. Later
	// terms of the sites have the same Rest, or a later one, because the sites may be given back
	// before the pause is over. Zero: every earlier owner gave the sites back, so only their
	// clocks count.
	Rest time.Time
}

// Withdraw removes from memory all sites for which Options.Term returns 0. It returns when no
// turn has one of these sites, no entry of them is held, and all changes by their turns were
// submitted. Sites that only wait are removed at once. If ctx ends first, Withdraw returns the
// error of ctx and the sites that are not removed yet, and may be called again. A removed site
// returns only when a Growth brings it in another term. A goroutine that has a turn or a held entry
// must not call Withdraw.
func (f *Frontier) Withdraw(ctx context.Context) (busy []Site, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sites := f.withdraw()
	for len(sites) > 0 {
		freed := f.freed()
		f.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.mu.Lock()
		if sites = slices.DeleteFunc(sites, f.evict); err != nil {
			for _, s := range sites {
				busy = append(busy, s.name)
			}
			return busy, err
		}
	}
	return nil, nil
}

// End ends the run with one of the errors that Next returns when nothing is left: ErrEnd,
// ErrUnasked, ErrPatience or ErrLimit. It is for a crawl on several frontiers, because no frontier
// alone knows when the crawl has ended (see Rest). If err is another error, End returns an error
// and changes nothing. The same happens if a turn, a held entry or an unsettled Submit of this
// frontier is left, unless err is ErrLimit. After the end of the run, End returns the same error
// as Next.
func (f *Frontier) End(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := errors.Is(err, ErrLimit)
	switch {
	case f.err != nil:
		return f.err
	case !limit && !errors.Is(err, ErrEnd):
		return fmt.Errorf("frontier: End wants ErrEnd, ErrUnasked, ErrPatience or ErrLimit, not %v", err)
	case !limit && (!f.still() || f.held > 0):
		return fmt.Errorf("frontier: End(%v) while %d turns are out, %d entries are held, and %d submits have not settled", err, f.out, f.held, f.pending)
	}
	f.fail(err)
	return nil
}
