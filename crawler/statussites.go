package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// StatusSites are the sites of a crawl: how many there are of each kind, and a few by name.
type StatusSites struct {
	Known    int `json:"known"` // that got a request, or will
	Left     int `json:"left"`  // with something queued, or to be fetched again; of these:
	Busy     int `json:"busy"`  // have a request now
	Due      int `json:"due"`   // may get a request at once
	Waiting  int `json:"waiting"`
	Parked   int `json:"parked"` // until another site has answered
	GivenUp  int `json:"given_up"`
	Spent    int `json:"budget_spent"`
	Excluded int `json:"excluded"`

	Clocks map[frontier.Clock]StatusClock `json:"clocks,omitempty"` // what the waiting sites wait for

	Next    *StatusSite `json:"next,omitempty"`    // of the waiting ones, the first that is due
	Last    *StatusSite `json:"last,omitempty"`    // of the waiting ones, the last that is due
	Slowest *StatusSite `json:"slowest,omitempty"` // with something queued, and the longest pause
	Longest *StatusSite `json:"longest,omitempty"` // with the longest time for its queue at its pause, in Seconds, without what waits to be fetched again, if all of it is allowed
	Asking  *StatusSite `json:"asking,omitempty"`  // whose current request is the oldest: Seconds ago
}

// A StatusClock is a clock that some sites wait for.
type StatusClock struct {
	Sites  int       `json:"sites"`
	Queued int       `json:"queued"`
	Again  int       `json:"again,omitempty"`
	First  time.Time `json:"first"` // when the first of them is due
	Last   time.Time `json:"last"`
}

// A StatusSite is one site.
type StatusSite struct {
	Site    frontier.Site  `json:"site"`
	Queued  int            `json:"queued,omitempty"`
	Again   int            `json:"again,omitempty"` // to be fetched again
	Due     time.Time      `json:"due,omitzero"`
	By      frontier.Clock `json:"clock,omitempty"`         // the clock that it waits for
	Pause   float64        `json:"delay_seconds,omitempty"` // between two requests, in seconds
	Seconds float64        `json:"seconds,omitempty"`
}

// add counts a site; the order of calls does not matter.
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
}

// wait counts a site that waits for a clock.
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
}

// keepIf replaces a site by one that is better.
func (one StatusSite) keepIf(to **StatusSite, better func(was *StatusSite) bool) {
	if was := *to; was == nil || better(was) {
		*to = &one
	}
}
