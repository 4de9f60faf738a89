package crawler

import (
	"cmp"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// StatusSites are the sites of a crawl: how many there are in each state, and a few sites as
// examples.
type StatusSites struct {
	Known    int `json:"known"`        // number of sites that got a request, or have queued URLs
	Left     int `json:"left"`         // sites with URLs to fetch, or to fetch again. The fields Busy to Excluded count some of these sites:
	Busy     int `json:"busy"`         // sites with a running request
	Due      int `json:"due"`          // sites that may get a request now
	Waiting  int `json:"waiting"`      // sites that wait for a time
	Parked   int `json:"parked"`       // sites that wait until another site has answered
	GivenUp  int `json:"given_up"`     // sites that get no more requests in this run, because they or their robots.txt did not answer
	Spent    int `json:"budget_spent"` // sites whose budget is used up
	Excluded int `json:"excluded"`     // by Crawler.Exclude

	Clocks map[frontier.Clock]StatusClock `json:"clocks,omitempty"` // the sites counted in Waiting, by the clock that they wait for

	Next    *StatusSite `json:"next,omitempty"`    // of the sites counted in Waiting, the one that may get a request first
	Last    *StatusSite `json:"last,omitempty"`    // of the sites counted in Waiting, the one that may get a request last
	Slowest *StatusSite `json:"slowest,omitempty"` // the site with the longest pause, of those with queued URLs
	Longest *StatusSite `json:"longest,omitempty"` // the site whose queued URLs take longest to fetch; its Seconds is the time that they take if robots.txt allows all of them, with the pause of the site between two; URLs to fetch again are not included
	Asking  *StatusSite `json:"asking,omitempty"`  // the site of the running visit that began first; its Seconds is the age of that visit

	// At most five sites of each kind, for a list of the sites that matter now.
	AskingSites  []StatusSite `json:"asking_sites,omitempty"`   // of the running visits that began first, the first of them first; Seconds is the age of the visit
	WaitingSites []StatusSite `json:"waiting_sites,omitempty"`  // of the sites counted in Waiting, those that may get a request last, the last one first
	GivenUpSites []StatusSite `json:"given_up_sites,omitempty"` // of the sites counted in GivenUp, those with the most queued URLs; Given and Detail say why
	LongestFirst []StatusSite `json:"longest_first,omitempty"`  // the sites whose queued URLs take longest to fetch, at most 15, the longest first; Seconds as in Longest
}

// mostSites is the most sites in each list of StatusSites.
const mostSites = 5

// A StatusClock describes the sites that wait for the same frontier.Clock.
type StatusClock struct {
	Sites  int       `json:"sites"`
	Queued int       `json:"queued"`
	Again  int       `json:"again,omitempty"`
	First  time.Time `json:"first"` // when the first of these sites may get a request
	Last   time.Time `json:"last"`
}

// A StatusSite is one site.
type StatusSite struct {
	Site    frontier.Site  `json:"site"`
	Queued  int            `json:"queued,omitempty"`
	Again   int            `json:"again,omitempty"`         // number of URLs to fetch again
	Due     time.Time      `json:"due,omitzero"`            // when it may get its next request
	By      frontier.Clock `json:"clock,omitempty"`         // the clock that it waits for
	Pause   float64        `json:"delay_seconds,omitempty"` // between two requests, in seconds
	Seconds float64        `json:"seconds,omitempty"`       // see StatusSites.Longest, Asking and AskingSites
	Given   frontier.Code  `json:"given_up,omitempty"`      // why it was given up in this run, see StatusSites.GivenUpSites
	Detail  string         `json:"detail,omitempty"`        // the fact that decided Given, such as a failed connection
}

// add counts a site. Sites may be added in any order.
func (s *StatusSites) add(st frontier.SiteStatus, now time.Time) {
	if st.Out {
		s.Busy++
	}
	if st.Left() == 0 {
		return
	}
	s.Left++
	switch {
	case st.Excluded != "":
		s.Excluded++
		return
	case st.Given.Code != frontier.Undecided:
		s.GivenUp++
		one := StatusSite{Site: st.Site, Queued: st.Queued, Again: st.Again, Given: st.Given.Code, Detail: st.Given.Detail}
		s.GivenUpSites = one.keepAmong(s.GivenUpSites, func(a, b *StatusSite) int { return b.Queued - a.Queued })
		return
	case st.Over:
		s.Spent++
		return
	}
	one := StatusSite{Site: st.Site, Queued: st.Queued, Again: st.Again, Due: st.Due, By: st.By, Pause: st.Gap.Seconds()}
	switch wait := st.Due.Sub(now); {
	case st.Out:
	case st.Parked:
		s.Parked++
	case wait <= 0:
		s.Due++
	default:
		s.wait(one)
	}
	one.keepIf(&s.Slowest, func(was *StatusSite) bool { return one.Pause > was.Pause })
	if st.Queued == 0 {
		return
	}
	one.Seconds = max(0, st.Due.Sub(now).Seconds()) + float64(st.Queued-1)*one.Pause
	one.keepIf(&s.Longest, func(was *StatusSite) bool { return one.Seconds > was.Seconds })
	s.LongestFirst = one.insert(s.LongestFirst)
}

// mostLongest is the maximum number of sites in StatusSites.LongestFirst.
const mostLongest = 15

// insert adds s to sites, which are sorted by Seconds, the largest first. If there are more than
// mostLongest sites then, it leaves out the last one. Sites with the same Seconds are sorted by
// name, so that the result does not depend on the order of the calls.
func (s StatusSite) insert(sites []StatusSite) []StatusSite {
	order := func(a, b StatusSite) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Site, b.Site))
	}
	if n := len(sites); n == mostLongest && order(s, sites[n-1]) > 0 {
		return sites
	}
	at, _ := slices.BinarySearchFunc(sites, s, order)
	sites = slices.Insert(sites, at, s)
	return sites[:min(len(sites), mostLongest)]
}

// wait counts a site that must not get a request yet.
func (s *StatusSites) wait(one StatusSite) {
	s.Waiting++
	c, known := s.Clocks[one.By]
	c.Sites++
	c.Queued += one.Queued
	c.Again += one.Again
	if !known || one.Due.Before(c.First) {
		c.First = one.Due
	}
	if one.Due.After(c.Last) {
		c.Last = one.Due
	}
	if s.Clocks == nil {
		s.Clocks = map[frontier.Clock]StatusClock{}
	}
	s.Clocks[one.By] = c
	one.keepIf(&s.Next, func(was *StatusSite) bool { return one.Due.Before(was.Due) })
	one.keepIf(&s.Last, func(was *StatusSite) bool { return one.Due.After(was.Due) })
	s.WaitingSites = one.keepAmong(s.WaitingSites, func(a, b *StatusSite) int { return b.Due.Compare(a.Due) })
}

// keepAmong returns the list with s in its place, cut to mostSites. The order decides between two
// sites; the site's name, if the order does not.
func (s StatusSite) keepAmong(list []StatusSite, order func(a, b *StatusSite) int) []StatusSite {
	at, _ := slices.BinarySearchFunc(list, &s, func(one StatusSite, of *StatusSite) int {
		return cmp.Or(order(&one, of), cmp.Compare(one.Site, of.Site))
	})
	if at == mostSites {
		return list
	}
	list = slices.Insert(list, at, s)
	return list[:min(len(list), mostSites)]
}

// keepIf replaces *kept by a pointer to a copy of s, if *kept is nil or better(*kept) is true.
func (s StatusSite) keepIf(kept **StatusSite, better func(*StatusSite) bool) {
	if *kept == nil || better(*kept) {
		*kept = &s
	}
}
