package frontier

import (
	"sync"
	"time"
)

// A Backlog keeps the entries of a crawl, each Entry.Key at most once, and the clocks
// of its sites. The frontier decides on time; the backlog only stores. Its methods are
// safe for concurrent use.
//
// No method reports whether a link was new. So a backlog may store the links of a Submit
// first, and find out later which of them are new, if it counts the Submit in
// Growth.Settled only after that.
type Backlog interface {
	// Sites calls f for every known site. If f returns an error, Sites stops and returns
	// this error. Sites is called once, before the other methods.
	Sites(f func(SiteState) error) error

	// Common calls f for every clock that several sites share. If f returns an error,
	// Common stops and returns this error. Common is called once, after Sites and before
	// the other methods.
	Common(f func(CommonClock) error) error

	// State returns the state of one site, as Sites passes it to f. For an unknown
	// site all fields except the name are zero.
	State(Site) (SiteState, error)

	// Read fills entries with the next entries of site and returns their number. Entries
	// with a Due that is not after now come first. Then come entries without a Due, by
	// rank and then by age. Entries that are due later are not read. Read returns an entry
	// a second time only if a Completion in between has queued the entry again.
	Read(site Site, now time.Time, entries []Entry) (int, error)

	// ReadRequisites is like Read, but returns only entries that may be requested after
	// the limit of pages (Entry.AfterPages). Entries without a Due must also have
	// RequisiteRank. waiting is the earliest Due of the entries of this kind that were not
	// returned, or the zero time if there is no such Due. ReadRequisites may search all
	// entries with RequisiteRank, and all entries with a Due.
	ReadRequisites(site Site, now time.Time, entries []Entry) (n int, waiting time.Time, err error)

	// Submit stores c. It does not wait until c is on disk, but if too many earlier
	// completions are not on disk, it may wait for these. It copies what it needs of
	// c.Links and c.Common. The completions of one site take effect in the order of the
	// calls.
	Submit(c Completion) error

	// Grown returns the channel of growths: the sites that have entries to read, and
	// how many Submits have settled. A Submit has settled when Read returns the results
	// that follow from all its changes.
	Grown() <-chan Growth
}

// A SiteState is the state of one site in a backlog.
type SiteState struct {
	Site    Site
	Clocks  Clocks
	Known   int       // entries ever added, including ended ones
	Queued  int       // entries that have not ended, except those of Again
	Again   int       // entries that had ended, and wait to be fetched again (Entry.Again)
	Ready   bool      // Read would return an entry that need not wait
	Head    uint8     // if Ready: the rank of the first such entry, or of one that is out
	Waiting time.Time // earliest Due of the entries that wait; zero if none do
	// NextAgain is the earliest Due of the entries of Again that were not read, or zero if
	// there are none. It may also be zero if many entries that wait for another try are due
	// earlier, so that a backlog need not search all of these.
	NextAgain time.Time
	Spent     Spent
	Fate      Fate // why the site was given up; zero if it was not
}

// WaitsBy returns the clock of Waiting.
func (s *SiteState) WaitsBy() Clock { return waitsBy(s.Waiting, s.NextAgain) }

// Left returns the number of entries that have not ended: Queued and Again.
func (s *SiteState) Left() int { return s.Queued + s.Again }

// Spent is the cost of a site, or of a crawl, so far. Budgets limit it.
type Spent struct {
	Pages int           // entries that ended with a page, except requisites
	Bytes int64         // of answers, as transferred
	Time  time.Duration // of requests, from their start to the end of the answer
}

// A CommonClock is the time before which no request is made to the sites that share
// an address or a registrable domain.
type CommonClock struct {
	Name string
	Due  time.Time
}

// A Completion is the change that a turn, or Add, makes to a backlog.
type Completion struct {
	Site   Site   // zero if only links are added
	Clocks Clocks // of Site
	Spent  Spent  // by Site, in all
	Given  Fate   // why Site is given up; zero if it is not
	Common []CommonClock
	Entry  Entry   // with an ID: the entry that has Fate
	Fate   Fate    // Undecided: Entry has not ended; Waiting, or with an Until: Entry is queued again, and due at Until
	Held   bool    // with Undecided: Entry is held from now on; with another Fate: it was held, and ends now
	Links  []Entry // entries to queue, if they are new
	// Changes give an earlier Due to entries of any site that wait to be fetched again
	// (Changes.Due). Entries that were read and have not ended are not changed. Entries of
	// completions that have not settled may be left unchanged.
	Changes *Changes
}

// A Growth reports new entries and settled Submits of a backlog.
type Growth struct {
	Sites   []SiteState
	Settled int
	Err     error // the backlog has failed and cannot continue
}

// Growths is a channel of Growth for implementations of Backlog. Growths that were not
// received yet are merged, so that Put never blocks. Only one goroutine may call Put.
// The zero value is empty.
type Growths struct {
	once sync.Once
	c    chan Growth
}

func (g *Growths) init() { g.once.Do(func() { g.c = make(chan Growth, 1) }) }

// C returns the channel of growths.
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
