package account

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// MostAhead is the largest value of Explanation.Ahead.
const MostAhead = 100_000 // the same as the limit of store.Records.Ahead

// An Explanation has everything that a crawl knows about one URL. A zero field is not known, or
// does not apply.
type Explanation struct {
	Asked  frontier.URL // the URL that is explained
	Known  bool         // the URL was ever queued
	Listed              // code of the URL; if Known is false, only Code and Reason are set

	Found   []Step // how the URL was found: the steps from the URL back to a seed
	Lost    string // why the steps in Found end before a seed; empty: Found ends with a seed
	Robots  *Rules // what the site's robots.txt decides about the URL; nil: robots.txt was never requested
	Ahead   int    // if Code is frontier.Queued or frontier.Waiting: number of entries of the site that come first; MostAhead means at least MostAhead
	Site    SiteFacts
	Tries   []Try
	LeadsTo frontier.URL     // target, if the answer of the URL is a redirect
	Target  *Explanation     // what the state says about LeadsTo; nil: LeadsTo is zero
	Astray  string           // why LeadsTo is zero, although the answer is a redirect
	SameAs  string           // URL of another record that has the body; empty: the URL's own record has it
	SameAt  time.Time        // time of the answer in that record
	Gone    time.Time        // when the answer of SameAs was purged, and so the body; zero: it was not
	Refusal Refusal          // why the settings of the last run exclude the URL; set if Known is false, or if Code is frontier.ScopeNarrowed
	Untold  []crawler.Change // settings that are not stored, because their values have no text form, such as a scope that is a function

	Held   Listed // what Account.Held returns for the site; it also stops requests for URLs that were fetched before
	Over   bool   // Account.Over: what was not fetched stays so
	OptOut string // if a later run would fetch the URL, or fetch it again: why the opt-out list forbids that by now; "" if it does not

	// The next fields are set only if Known is false.

	Near     frontier.URL // a queued URL that differs only in scheme, www or the last slash; zero: no URL does
	Links    []LinkFact   // links of pages to the URL, at most maxLinkFacts
	HasLinks bool         // the crawl has links.jsonl, so Links is complete up to that limit
}

// A Step is one URL on the path from an explained URL to a seed.
type Step struct {
	URL   string
	Hop   frontier.Hop // type of the link by which the URL was found; 0: the URL is a seed
	Hops  string       // types of all links from the seed to this URL, one letter each
	Tag   string
	Depth int
}

// SiteFacts has facts about the site of an explained URL.
type SiteFacts struct {
	Known  bool
	Queued int // number of queued URLs
	Again  int // number of URLs that were fetched and wait to be fetched again
	Spent  frontier.Spent
	Given  frontier.Fate // why the last run gave up the site; zero: it did not
}

// Explain returns everything that is known about u: the result of Facts, the requests for u in
// crawl.log and, if u was never queued, the links to u in links.jsonl. It reads both files from
// the beginning.
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
		return x, a.addTarget(x)
	}
	return x, a.addLinks(x)
}

// Facts returns what the state says about u. It leaves out Tries, LeadsTo, Target, SameAs and
// Links. It takes the same time for crawls of any size.
func (a *Account) Facts(u frontier.URL) (*Explanation, error) {
	x := &Explanation{Asked: u, Over: a.Over}
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
	requested := u
	if x.Known {
		requested = k.URL
	}
	if x.Robots, err = a.rules(requested, k.Fate); err != nil {
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
	x.Held = held.listed()
	if a.OptOut != nil && !a.Over && (k.Fate.Again() || !k.Fate.Ends()) {
		x.OptOut = a.OptOut(k.URL)
	}
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

// near returns a queued URL that differs from u only in scheme, www or the last slash. It
// returns the zero URL if no URL does.
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

// trace sets x.Found to the path from the URL back to a seed. If there is no such path, it sets
// x.Lost.
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

// at returns the time for which an entry with the fate f is explained: the time at which it
// ended, or now if it has not ended.
func (a *Account) at(f frontier.Fate) time.Time {
	if f.Time.IsZero() {
		return a.now
	}
	return f.Time
}
