package account

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// MostAhead is the largest value of Explanation.Ahead.
const MostAhead = 100_000 // as of store.Records.Ahead

// An Explanation is all that a crawl knows of one URL, as facts without wording. Zero
// fields are unknown, or do not apply.
type Explanation struct {
	Asked  frontier.URL // the URL that is explained
	Known  bool         // the URL has entered the crawl: it is, or was, in the queue
	Listed              // what became of the URL; if it is not Known, only Code and Reason are set

	Found   []Step // path from the URL itself back to a seed
	Lost    string // why Found does not reach a seed; empty if it does
	Robots  *Rules // robots.txt of the site of the URL; nil if it was never requested
	Ahead   int    // with frontier.Queued and frontier.Waiting: number of entries of the site that come before the URL; MostAhead means MostAhead or more
	Site    SiteFacts
	Tries   []Try
	LeadsTo frontier.URL     // target of the redirect with which the URL answers
	SameAs  string           // the other URL under whose record the archive has the body; empty: the body is under the URL itself
	SameAt  time.Time        // time of the answer in the record of SameAs
	Gone    time.Time        // when the answer of SameAs, and so the body, was purged; zero if it was not
	Refusal Refusal          // why the settings of the last run exclude the URL, if it is not Known or has the code frontier.ScopeNarrowed
	Untold  []crawler.Change // settings that are not stored, because the program made their values, such as a scope that is a function

	// If the URL has not entered the crawl:

	Near     frontier.URL // a URL that has entered the crawl and differs only in scheme, www or the last slash; zero if there is none
	Links    []LinkFact   // the first links of pages to the URL
	HasLinks bool         // the crawl records links, so Links has all links up to the limit
}

// A Step is one URL on the path from a seed.
type Step struct {
	URL   string
	Hop   frontier.Hop // type of the link by which the URL was found; 0 for a seed
	Hops  string       // kinds of all links from the seed to here, one letter each
	Tag   string
	Depth int
}

// SiteFacts are facts about the site of a URL.
type SiteFacts struct {
	Known  bool
	Queued int // URLs
	Again  int // URLs that were fetched, and wait to be fetched again
	Spent  frontier.Spent
	Given  frontier.Fate // why the last run gave the site up; zero if it did not
}

// Explain returns all that is known of u: what Facts returns, its tries in crawl.log and, if u
// has not entered the crawl, the links to u in links.jsonl. Both files are read from their
// beginning.
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

// Facts returns what the state says of u. It leaves out Tries, LeadsTo, SameAs and Links, and
// takes the same time for crawls of any size.
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
	var k store.Kept
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
	if x.Code == frontier.ScopeNarrowed {
		if err := a.whatNarrowed(x); err != nil {
			return nil, err
		}
	}
	return x, a.trace(x)
}

// near returns a URL of the crawl that differs from u only in scheme, www or the last slash, or
// zero.
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

// trace sets x.Found, the path from the URL back to a seed, or x.Lost.
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

// at returns the time for which an entry with the fate f is explained: when it ended or, if it
// has not, now.
func (a *Account) at(f frontier.Fate) time.Time {
	if f.Time.IsZero() {
		return a.now
	}
	return f.Time
}
