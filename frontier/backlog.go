package frontier

import (
	"sync"
	"time"
)

// A Backlog keeps the entries of a crawl, each Entry.Key once for ever, and the
// clocks of its sites. The frontier decides when; the backlog only remembers.
// Its methods are safe for concurrent use.
//
// Nothing here says whether a link was new: a backlog may take note first and
// compare later, as long as Growth tells when that has happened.
type Backlog interface {
	// Sites calls f for every site it knows, until f returns an error: that is
	// returned. It is called once, before everything else.
	Sites(f func(SiteState) error) error

	// Common calls f for every clock that is common to several sites, as Sites
	// does, once, before everything but that.
	Common(f func(CommonClock) error) error

	// State is what it knows of one site: as Sites would say it, with only
	// the name for a site that it does not know.
	State(Site) (SiteState, error)

	// Read fills entries with the next ones of site, by rank and then by
	// age, those first whose Due has come by now; the others stay. It never
	// returns an entry twice, unless a Completion in between said Waiting.
	Read(site Site, now time.Time, entries []Entry) (int, error)

	// ReadRequisites is as Read, of entries alone that may be asked for after the pages
	// (Entry.AfterPages), and of those that are Ready of such alone with RequisiteRank.
	// It also says when the first of those that wait, and that it has not returned, is
	// due; zero if none does. It may look at all entries with that rank, and at all that
	// wait.
	ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error)

	// Submit takes note of c. It does not wait until c is safe, only, at some
	// bound, until enough of the earlier ones are. It keeps copies of what it
	// needs of c.Links and c.Common. What is submitted for one
	// site takes effect in the order of the calls.
	Submit(c Completion) error

	// Grown tells of sites that have entries to read, and how many Submits
	// have settled: have had all their effect on what Read returns.
	Grown() <-chan Growth
}

// A SiteState is what a backlog knows of one site.
type SiteState struct {
	Site    Site
	Clocks  Clocks
	Known   int       // entries that it ever took in, ended ones included
	Queued  int       // entries that have not ended, but for those of Again
	Again   int       // entries that had ended, and wait to be fetched again (Entry.Again)
	Ready   bool      // Read would return one that need not wait
	Head    uint8     // if Ready: the rank of the first of them, or of one that is out
	Waiting time.Time // earliest Due of those that wait; zero if none does
	// NextAgain is the earliest Due of those of Again that were not read; zero if there is
	// none. A backlog need not look for it behind many that wait for another try.
	NextAgain time.Time
	Spent     Spent
	Fate      Fate // why the site was given up; zero if it was not
}

// WaitsBy is the clock of Waiting.
func (s *SiteState) WaitsBy() Clock { return waitsBy(s.Waiting, s.NextAgain) }

// Left is how many entries have not ended: Queued, and Again.
func (s *SiteState) Left() int { return s.Queued + s.Again }

// Spent is what a site, or a crawl, has cost so far: what budgets are about.
type Spent struct {
	Pages int           // entries that ended with a page, but for what pages are shown with
	Bytes int64         // of answers, as they came over the wire
	Time  time.Duration // of requests, from their start to the end of the answer
}

// A CommonClock is the time before which no site is to be asked that shares
// what Name says: an address or a registrable domain.
type CommonClock struct {
	Name string
	Due  time.Time
}

// A Completion is what a turn, or Add, has to tell the backlog.
type Completion struct {
	Site   Site   // zero where only links are added
	Clocks Clocks // of Site
	Spent  Spent  // by Site, in all
	Given  Fate   // why Site is given up; zero if it is not
	Common []CommonClock
	Entry  Entry   // with an ID: the entry that Fate is about
	Fate   Fate    // Undecided: Entry stays out; Waiting, or with an Until: queued again, until then
	Held   bool    // Entry is done with but for its end: with Undecided from now on, otherwise since an earlier Completion
	Links  []Entry // to be queued, if they were never seen
	// Changes bring entries forward, of any site, that wait to be fetched again (Changes.Due).
	// Those that were read and have not ended are left as they are; what was submitted
	// before and has not settled need not count.
	Changes *Changes
}

// A Growth is news from the backlog.
type Growth struct {
	Sites   []SiteState
	Settled int
	Err     error // the backlog cannot go on
}

// Growths is a mailbox of Growth for implementations of Backlog: news that
// were not fetched yet are merged, so that Put never blocks. There is one
// putter. The zero value is empty.
type Growths struct {
	once sync.Once
	c    chan Growth
}

func (g *Growths) init() { g.once.Do(func() { g.c = make(chan Growth, 1) }) }

// C is the channel on which the news are read.
func (g *Growths) C() <-chan Growth {
	g.init()
	return g.c
}

// Put adds news.
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
