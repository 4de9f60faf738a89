package frontier

import (
	"iter"
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
	Fate      Fate // why the site was given up, so that it gets no more requests; zero if it was not
}

// WaitsBy returns the clock that decides Waiting: AgainClock or RetryClock.
func (s *SiteState) WaitsBy() Clock { return waitsBy(s.Waiting, s.NextAgain) }

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
		if n.Err == nil {
			n.Err = old.Err
		}
	default:
	}
	g.c <- n
}
