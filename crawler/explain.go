package crawler

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// How a URL stands that has not entered the crawl.
const (
	StandsOut     Standing = "out"     // the settings of the last run keep links to it out; Reason says which
	StandsUnknown Standing = "unknown" // nothing that is kept says why it has not
)

// MostAhead is how many entries are counted that come before one.
const MostAhead = storage.MostAhead

// An Explanation is all that a crawl knows of one URL. It is made of facts alone: who
// renders it finds the words. Zero fields are unknown, or do not apply.
type Explanation struct {
	Asked  frontier.URL // what was asked about
	Known  bool         // it has entered the crawl
	Listed              // of what has; of what has not, Standing and Reason alone

	Found   []Step // how it was found: from the URL itself back to a seed
	Lost    string // why Found does not reach a seed; empty if it does
	Robots  *Rules // of its site; nil where robots.txt was never asked for
	Ahead   int    // of StandsQueued and StandsWaiting: entries of its site that come first; MostAhead stands for that many or more
	Site    SiteFacts
	Tries   []Try
	LeadsTo frontier.URL // where its answer redirects to
	SameAs  string       // the URL with whose answer its body was archived, which is the same; empty: with its own
	SameAt  time.Time    // when that was answered
	Gone    time.Time    // when the answer of SameAs was purged, and the body with it; zero if it was not
	Refusal Refusal      // of StandsOut and StandsScope: what keeps it out, by the last settings
	Untold  []Change     // settings that cannot be known from the directory

	// Of a URL that has not entered the crawl:

	Near     frontier.URL // one that has, and differs in scheme, www or the last slash; zero if none has
	Links    []LinkFact   // that pages have to it, the first ones
	HasLinks bool         // the crawl keeps links, so that Links are those that there were
}

// A Step is one URL on the way from a seed.
type Step struct {
	URL   string
	Hop   frontier.Hop // by which it was found on the next of the steps; 0 for a seed
	Hops  string       // path from the seed
	Tag   string
	Depth int
}

// SiteFacts are what is held against a site as a whole.
type SiteFacts struct {
	Known  bool
	Queued int // URLs
	Again  int // URLs that had ended, and wait to be fetched again
	Spent  frontier.Spent
	Given  frontier.Fate // why it was given up in the last run; zero if it was not
}

// Explain says all that is known of u: its Facts, its tries by crawl.log, and of what
// has not entered the crawl the links to it by links.jsonl. Both files are read from
// their beginning.
func (a *Account) Explain(u frontier.URL) (*Explanation, error) {
	x, err := a.Facts(u)
	if err != nil {
		return nil, err
	}
	if x.Tries, err = a.tries(x); err != nil {
		return nil, err
	}
	if x.Known {
		a.addAnswer(x)
		return x, nil
	}
	return x, a.addLinks(x)
}

// Facts are what the state alone says of u: Tries, LeadsTo, SameAs and Links are left out. They
// are there at once, however large the crawl is.
func (a *Account) Facts(u frontier.URL) (*Explanation, error) {
	x := &Explanation{Asked: u}
	st, err := a.from.State(u.Site())
	if err != nil {
		return nil, err
	}
	x.Site = SiteFacts{
		Known:  st.Left() > 0 || !st.Clocks.Ended.IsZero() || st.Spent != frontier.Spent{},
		Queued: st.Queued, Again: st.Again, Spent: st.Spent, Given: st.Fate,
	}
	var k storage.Kept
	if k, x.Known, err = a.from.Entry(u); err != nil {
		return nil, err
	}
	if x.Robots, err = a.rules(u, k.Fate); err != nil {
		return nil, err
	}
	if !x.Known {
		if x.Near, err = a.near(u); err != nil {
			return nil, err
		}
		return x, a.guess(x)
	}
	settings, err := a.Site(u.Site())
	if err != nil {
		return nil, err
	}
	held := a.heldBy(&st, &settings, a.shows(k.Entry))
	x.Listed = listed(k, &held)
	if k.Fate.Code == frontier.Undecided && k.Number > 0 {
		if x.Ahead, err = a.from.Ahead(k); err != nil {
			return nil, err
		}
	}
	if x.Standing == StandsScope {
		if err := a.whatNarrowed(x); err != nil {
			return nil, err
		}
	}
	return x, a.trace(x)
}

// near is a URL of the crawl that somebody may take for u; zero if there is none.
func (a *Account) near(u frontier.URL) (near frontier.URL, err error) {
	scheme, rest, _ := strings.Cut(u.String(), "://")
	bare, www := strings.CutPrefix(rest, "www.")
	if !www {
		bare = "www." + rest
	}
	other := map[string]string{"https": "http", "http": "https"}[scheme]
	for _, text := range []string{
		other + "://" + rest, scheme + "://" + bare, other + "://" + bare, u.String() + "/", strings.TrimSuffix(u.String(), "/"),
	} {
		v, err := frontier.ParseURL(text)
		if err != nil || v == u {
			continue
		}
		if _, ok, err := a.from.Entry(v); ok || err != nil {
			return v, err
		}
	}
	return near, nil
}

// trace goes back from an entry to the seed that it was found from.
func (a *Account) trace(x *Explanation) error {
	e := x.Entry
	for {
		step := Step{URL: e.URL.String(), Hops: e.Hops, Tag: e.Tag, Depth: e.Depth}
		if e.Hops != "" {
			step.Hop = frontier.Hop(e.Hops[len(e.Hops)-1])
		}
		x.Found = append(x.Found, step)
		if e.Hops == "" {
			return nil
		}
		via, err := frontier.ParseURL(e.Via)
		if err != nil {
			x.Lost = "the page that it was found on is not kept"
			return nil
		}
		before, ok, err := a.from.Entry(via)
		switch {
		case err != nil:
			return err
		case !ok && via.Target() == "/robots.txt":
			x.Found = append(x.Found, Step{URL: e.Via, Hop: frontier.HopPrerequisite, Hops: e.Hops[:len(e.Hops)-1], Tag: e.Tag})
			x.Lost = "robots.txt belongs to the first page of its site"
			return nil
		case !ok || len(before.Hops) >= len(e.Hops):
			x.Lost = "of " + e.Via + " it is not kept how it was found"
			return nil
		}
		e = before.Entry
	}
}

// at is when what is asked about an entry was judged: at its end, or now.
func (a *Account) at(f frontier.Fate) time.Time {
	if f.Time.IsZero() {
		return a.now
	}
	return f.Time
}
