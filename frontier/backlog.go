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

// A Backlog keeps the entries of a crawl, which are its URLs, each Entry.Key at most once. It
// also keeps the clocks of the sites: the times before which no request is made. The frontier
// decides when an entry is requested; the backlog only stores. Its methods are safe for
// concurrent use.
//
// No method reports whether a link was new. So a backlog may store the links of a Submit first,
// and find out later which of them are new. It then counts this Submit in Growth.Settled only
// after it has found this out.
type Backlog interface {
	// Sites iterates over the states of all sites that the backlog knows. A pair with an error
	// ends the iteration. Sites is called once, before the other methods, and none of them is
	// called before the iteration has ended.
	Sites() iter.Seq2[SiteState, error]

	// Common iterates over the clocks that several sites share. A pair with an error ends the
	// iteration. Common is called once, after Sites and before the other methods, and none of
	// them is called before the iteration has ended.
	Common() iter.Seq2[CommonClock, error]

	// State returns the state of one site, the same that Sites yields. For an unknown site all
	// fields except the name are zero.
	State(Site) (SiteState, error)

	// Read fills entries with the next entries of site and returns their number. First come the
	// entries with a Due that is not after now. Then come entries without a Due, by rank and
	// then by age. Entries that are due later are not read. Read returns an entry a second time
	// only if a Completion has queued the entry again after the first time.
	Read(site Site, now time.Time, entries []Entry) (int, error)

	// ReadRequisites is like Read, but returns only entries that may be requested after the
	// limit of pages is reached (Entry.AfterPages). Of these, entries without a Due must also
	// have RequisiteRank. waiting is the earliest Due of the entries that may be requested
	// after the limit and were not returned, or the zero time if there is no such Due.
	// ReadRequisites may search all entries with RequisiteRank, and all entries with a Due.
	ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error)

	// Submit stores c. It does not wait until c is on disk, but if too many earlier completions
	// are not on disk, it may wait until they are. Submit copies what it needs of c.Links and
	// c.Common. The completions of one site take effect in the order of the calls.
	Submit(c Completion) error

	// Grown returns the channel on which the backlog reports the sites that have entries to
	// read, and how many calls of Submit have settled. A Submit has settled when all its
	// changes have an effect on the results of Read.
	Grown() <-chan Growth
}

// A SiteState is the state of one site in a backlog.
type SiteState struct {
	Site    Site
	Clocks  Clocks
	Known   int       // entries ever added, including ended ones
	Queued  int       // entries that have not ended, except those that Again counts
	Again   int       // entries that had ended, and wait to be fetched again (Entry.Again)
	Ready   bool      // Read would return an entry that need not wait, because it has no Due
	Head    uint8     // if Ready: the rank of the first entry without a Due, which may also be one that was read and has not ended
	Waiting time.Time // earliest Due of the entries that wait for their Due; zero if none do
	// NextAgain is the earliest Due of the entries counted by Again that were not read, or zero
	// if there are none. NextAgain may also be zero if many entries that wait for another try
	// are due earlier, so that a backlog need not search all of these.
	NextAgain time.Time
	Spent     Spent
	Fate      Fate  // why the site was given up, so that it gets no more requests; zero if it was not
	Term      *Term // the term in which the backlog has found this state; nil without Options.Term
}

// Left returns the number of entries that have not ended, in Queued and in Again.
func (s *SiteState) Left() int { return s.Queued + s.Again }

// Spent is the cost of a site, or of a crawl, so far. Budgets limit it.
type Spent struct {
	Pages int           // entries that ended with a page, except requisites (Entry.Requisite)
	Bytes int64         // of answers, as transferred
	Time  time.Duration // of requests, from their start to the end of the answer
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
	Clocks Clocks // of Site
	Spent  Spent  // the cost of Site in all turns so far
	Given  Fate   // why Site is given up; zero if it is not
	Common []CommonClock
	Entry  Entry // the entry that gets Fate; no entry if its ID is zero
	// The fate of Entry. If its Code is Undecided, Entry has not ended. If its Code is Waiting,
	// or it has an Until, Entry is queued again, and due at Until.
	Fate Fate
	// Held has two meanings. If Fate is Undecided, Entry is held from now on, and ends later
	// (see Turn.Done). If there is another Fate, Entry was held until now, and ends with this
	// Fate.
	Held  bool
	Links []Entry // entries to queue, if they are new
	// Changes give an earlier Due to entries of any site that wait to be fetched again
	// (Changes.Due). Entries that were read and have not ended are not changed. Entries of
	// completions that have not settled (see Grown) may be left unchanged.
	Changes *Changes
}

// A Growth reports what has changed in a backlog: sites with new entries, and settled Submits.
type Growth struct {
	Sites   []SiteState // with new entries
	Settled int         // number of calls of Submit that have settled since the last Growth
	Err     error       // the backlog has failed and cannot continue
	// With Options.Term: the numbers of the terms that begin with this growth, and the clocks
	// that their sites share. See Term.
	Terms  []uint64
	Common []CommonClock
	Number uint64 // the number of the growth, if the backlog counts them: see Rest.Grown
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

// Put sends n, merged with a growth that was not received yet.
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

// The names from here to the end of the file are for those who share a backlog between several
// frontiers, for example on several machines. A crawl on one machine uses none of them.

// A Term is a period in which one frontier has a group of sites, for example all sites of
// some registrable domains. Only this frontier makes requests to them. Options.Term returns the
// number of the current term.
//
// A group of sites changes hands in these steps:
//
//   - Options.Term of the old frontier returns 0 for these sites from now on. Then Withdraw is
//     called. After it has returned, all changes are submitted, and the backlog stores them. Now
//     another frontier may have the sites.
//   - The backlog of the new frontier reads the states of these sites, with a Term that has a new
//     Number. Then Options.Term returns this Number, and one Growth brings the Number, the states
//     and the clocks that the sites share. The group must have all sites of a host or domain. A
//     site without entries may be left out if it is due now and had no request since Rest.
//   - No entry counts as read at the beginning of a term: Read returns all entries again that
//     have not ended.
//
// A state is ignored if its Term.Number is not the current one, or if no Growth has brought this
// Number yet. So a backlog need not take back growths that were not received.
type Term struct {
	Number uint64 // not 0, and different for each term in the life of a frontier
	// Rest is the time until which a frontier that did not give the sites back may send
	// requests to them. Each site rests its full pause, counted from Rest. Later terms of the
	// sites have the same Rest, or a later one, because the sites may be given back before the
	// pause is over. Zero: the sites were always given back, so only their clocks count.
	Rest time.Time
}

// Withdraw removes the sites from memory for which Options.Term returns 0. It returns nil when
// no turn has one of these sites, no entry of them is held, and all that the turns have changed
// was submitted. Sites that only wait are removed at once. If ctx ends first, Withdraw returns
// its error; the call can be repeated. The sites stay away until a Growth brings them in another
// term. It must not be called by a goroutine that has a turn, or an entry that is held.
func (f *Frontier) Withdraw(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	busy := f.withdraw()
	for len(busy) > 0 {
		freed := f.freed()
		f.mu.Unlock()
		var err error
		select {
		case <-freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.mu.Lock()
		if err != nil {
			return err
		}
		busy = slices.DeleteFunc(busy, f.evict)
	}
	return nil
}

// End ends the run with one of the errors that Next returns when nothing is left: ErrEnd,
// ErrUnasked, ErrPatience or ErrLimit. It is for a crawl on several frontiers: no frontier
// alone can know that the crawl has ended: see Rest. End returns an error and changes nothing if
// err is another error, or if something is under way in this frontier: a turn, a held entry or
// a Submit that has not settled. With ErrLimit these do not matter. After the end of the run End
// returns the same error as Next.
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
