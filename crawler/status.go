package crawler

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// statusVersion is the version of the fields of Status. It changes if a field gets another meaning
// or is removed, but not if a field is added.
const statusVersion = 3

// The states of a crawl. Only ReadStatus returns the last four.
const (
	StateStarting State = "starting" // Run has not queued the seeds yet
	StateRunning  State = "running"
	StatePaused   State = "paused"   // Crawler.Pause was called
	StateStopping State = "stopping" // running visits are finished, and no new visit begins
	StateEnded    State = "ended"    // see Status.End
	StateKilled   State = "killed"   // the last run was killed
	StateNoRoom   State = "no room"  // the last run ended because the disk was full
	StateUnknown  State = "unknown"  // the last run ended, but the reason was not recorded

	// StateNotBegun is the state of a directory whose run ended before its first request. The next
	// run begins the crawl.
	StateNotBegun State = "not begun"
)

// A Status describes the current state of a crawl, for people and programs. The names of its JSON
// fields never change.
type Status struct {
	// Version of these fields; changes if a field gets another meaning or is removed.
	Version int       `json:"version"`
	Time    time.Time `json:"time"` // when the figures were read
	State   State     `json:"state"`
	End     End       `json:"end,omitempty"` // why the run ended (StateEnded) or is about to end (StateStopping)
	Dir     string    `json:"dir,omitempty"`
	Name    string    `json:"token"`          // product token
	Began   time.Time `json:"began,omitzero"` // start of the run
	Seconds float64   `json:"seconds"`        // from Began to Time

	Run   StatusRun   `json:"run"`
	Rate  StatusRate  `json:"rate"`
	Crawl StatusCrawl `json:"crawl"`
	Sites StatusSites `json:"sites"`
	// Number of queued URLs by the reason why they are not fetched, like Summary.Left.
	Left   map[frontier.Code]int `json:"left,omitempty"`
	Polite StatusPolite          `json:"politeness"`
	Memory StatusMemory          `json:"memory,omitzero"`
	Outage time.Time             `json:"outage_since,omitzero"` // like Stats.Outage

	Limits map[string]string `json:"limits,omitempty"` // the current limits by name, in the form of Setting.String
	Orders []Order           `json:"orders,omitempty"` // see Crawler.Orders
}

// A StatusRun holds the figures of a run so far. The fields have the meaning of those in Counts.
type StatusRun struct {
	Pages     int                 `json:"pages"`
	Fetched   int                 `json:"fetched"`
	Requests  int                 `json:"requests"`
	Robots    int                 `json:"robots_requests"`
	Bytes     int64               `json:"bytes"`
	Status    map[int]int         `json:"status,omitempty"`
	Errors    map[string]int      `json:"errors,omitempty"`
	Retries   int                 `json:"retries"`
	Handler   int                 `json:"handler_errors"`
	Rescanned int                 `json:"rescanned"`
	Changes   map[ChangeClass]int `json:"page_changes,omitempty"`
	Unread    int                 `json:"unread,omitempty"`

	SkippedLinks map[frontier.Code]int `json:"skipped_links,omitempty"`
	SkippedURLs  map[frontier.Code]int `json:"skipped_urls,omitempty"`
}

// A StatusCrawl is the progress of a crawl over all runs. It has no estimate of the end, because
// the links on queued pages are not known yet.
type StatusCrawl struct {
	// BudgetPages is the number of pages that count for limits. Each page counts once, even if it
	// is fetched again. A page whose owner refuses the purpose of the crawl in the answer counts,
	// too.
	BudgetPages int `json:"budget_pages"`

	Bytes  int64 `json:"bytes"` // bytes of bodies, counted on the wire
	Done   int   `json:"done"`  // URLs that were fetched or will not be fetched
	Queued int   `json:"queued"`
	Again  int   `json:"again,omitempty"` // URLs that were visited and wait to be fetched again (Options.Revisit)
	Known  int   `json:"entered"`         // the sum of Done, Queued and Again, which grows when links are found

	NextAgain time.Time `json:"next_again,omitzero"` // when the first URL counted in Again may be fetched; zero if unknown
}

// StatusPolite says how well the pauses between requests were kept. The fields have the meaning of
// those in frontier.Politeness.
type StatusPolite struct {
	Requests    int     `json:"paced_requests"` // requests that had to keep a pause
	Early       int     `json:"early_requests"`
	LeastMargin float64 `json:"least_margin_seconds"`
	RetryAfter  int     `json:"retry_after_obeyed"`
}

// A StatusMemory is the memory of the process, in bytes.
type StatusMemory struct {
	// Heap objects, including unreachable ones that the garbage collector has not freed yet.
	Heap  uint64 `json:"heap"`
	Total uint64 `json:"total"` // memory taken from the operating system and not given back
}

// Status returns the current status. It may be called at any time and from any goroutine. It reads
// the sites that have URLs to fetch, a few hundred at a time. The crawl continues meanwhile, so the
// figures of different sites may be from different moments.
func (c *Crawler) Status() Status {
	s := Status{Version: statusVersion, Time: time.Now(), Dir: c.opts.Dir, Name: c.opts.Identity.Token, State: StateStarting}
	s.Limits, s.Orders = c.limitTexts(c.Limits()), c.Orders()
	if !c.running() {
		return s
	}
	c.mu.Lock()
	s.End, s.Began = c.end, c.began
	switch {
	case !c.endedAt.IsZero():
		s.State = StateEnded
		s.Time = c.endedAt
	case c.stop:
		s.State = StateStopping
	case c.paused:
		s.State = StatePaused
	case c.seeded:
		s.State = StateRunning
	}
	c.mu.Unlock()
	s.Seconds = s.Time.Sub(s.Began).Seconds()
	counts, front := c.visits.Counts(), c.frontier.Stats()
	s.count(counts)
	s.Rate = c.visits.counts.rate()
	s.Crawl = StatusCrawl{
		BudgetPages: front.Spent.Pages, Bytes: front.Spent.Bytes, Done: front.Done, Queued: front.Entries, Again: front.Again,
		Known: front.Done + front.Entries + front.Again,
	}
	p := front.Polite
	s.Polite = StatusPolite{p.Requests, p.Early, p.LeastMargin.Seconds(), p.RetryAfter}
	s.Memory, s.Outage = memory(), c.outage()
	s.Sites.Known = front.Sites
	s.Left = map[frontier.Code]int{}
	for st := range c.frontier.Sites() {
		s.Sites.add(st, s.Time)
		s.Crawl.NextAgain = earlier(s.Crawl.NextAgain, nextAgain(st))
		if st.Queued > 0 {
			s.Left[c.held(st).Code] += st.Queued
		}
	}
	if site, since, ok := c.visits.oldest(); ok {
		s.Sites.Asking = &StatusSite{Site: site, Seconds: s.Time.Sub(since).Seconds()}
	}
	for _, one := range c.visits.slots.running(mostSites) {
		s.Sites.AskingSites = append(s.Sites.AskingSites, StatusSite{Site: one.site, Seconds: s.Time.Sub(one.since).Seconds()})
	}
	return s
}

// nextAgain returns the earliest time at which a URL of the site will be fetched again, or zero if
// none will be: the site is excluded, or was given up.
func nextAgain(st frontier.SiteStatus) time.Time {
	if st.Excluded != "" || st.Given.Code != frontier.Undecided {
		return time.Time{}
	}
	return st.NextAgain
}

// earlier returns the earlier of two times. If one of them is zero, it returns the other.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (s *Status) count(n Counts) {
	s.Run = StatusRun{
		n.Pages, n.Fetched, n.Requests, n.Robots, n.Bytes, n.Status, n.Errors, n.Retries, n.Handler, n.Rescanned, n.Changes, n.Unread, n.SkippedLinks, n.SkippedURLs,
	}
}

// memory reads the memory figures from the runtime's metrics, which does not stop the program.
func memory() StatusMemory {
	of := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(of)
	return StatusMemory{of[0].Value.Uint64(), of[1].Value.Uint64() - of[2].Value.Uint64()}
}

// StatusSites describes the sites of a crawl: the number of sites in each state, and a few sites as
// examples.
type StatusSites struct {
	Known int `json:"known"` // number of sites that got a request or have queued URLs
	// Sites with URLs to fetch or to fetch again; each of the fields from Busy to Excluded counts
	// some of them.
	Left    int `json:"left"`
	Busy    int `json:"busy"`    // sites with a running request
	Due     int `json:"due"`     // sites that may get a request now
	Waiting int `json:"waiting"` // sites that must wait until some time
	Parked  int `json:"parked"`  // sites that wait until another site has answered
	// Sites that get no more requests in this run, because they or their robots.txt did not answer.
	GivenUp  int `json:"given_up"`
	Spent    int `json:"budget_spent"` // sites whose budget is used up
	Excluded int `json:"excluded"`     // sites that Crawler.Exclude has excluded

	Clocks map[frontier.Clock]StatusClock `json:"clocks,omitempty"` // the sites counted in Waiting, by the clock for which they wait

	// The site with the earliest next request, among those counted in Waiting.
	Next    *StatusSite `json:"next,omitempty"`
	Last    *StatusSite `json:"last,omitempty"`    // the site with the latest next request, among those counted in Waiting
	Slowest *StatusSite `json:"slowest,omitempty"` // the site with the longest pause, among those with queued URLs
	// The site whose queued URLs take longest to fetch. Seconds is the time that they take with the
	// pause of the site, if robots.txt allows all of them; URLs to fetch again are not included.
	Longest *StatusSite `json:"longest,omitempty"`
	// The site of the visit that has been running longest; Seconds is the age of that visit.
	Asking *StatusSite `json:"asking,omitempty"`

	// Each of the lists below has at most five sites, except LongestFirst.

	// Sites of the running visits, in the order in which the visits began; Seconds is the age of
	// the visit.
	AskingSites []StatusSite `json:"asking_sites,omitempty"`
	// Sites counted in Waiting, sorted by descending time of the next request.
	WaitingSites []StatusSite `json:"waiting_sites,omitempty"`
	// Sites counted in GivenUp, sorted by descending number of queued URLs; Given and Detail give
	// the reason.
	GivenUpSites []StatusSite `json:"given_up_sites,omitempty"`
	// The sites whose queued URLs take longest to fetch, at most 15, the longest first. Seconds is
	// that time, as in Longest.
	LongestFirst []StatusSite `json:"longest_first,omitempty"`
}

// mostSites is the maximum number of sites in each list of StatusSites except LongestFirst.
const mostSites = 5

// A StatusClock describes the sites that wait for the same frontier.Clock.
type StatusClock struct {
	Sites  int       `json:"sites"`
	Queued int       `json:"queued"`
	Again  int       `json:"again,omitempty"`
	First  time.Time `json:"first"` // when the first of these sites may get a request
	Last   time.Time `json:"last"`
}

// A StatusSite describes one site.
type StatusSite struct {
	Site    frontier.Site  `json:"site"`
	Queued  int            `json:"queued,omitempty"`
	Again   int            `json:"again,omitempty"`         // number of URLs to fetch again
	Due     time.Time      `json:"due,omitzero"`            // when the site may get its next request
	By      frontier.Clock `json:"clock,omitempty"`         // the clock for which the site waits
	Pause   float64        `json:"delay_seconds,omitempty"` // pause between two requests
	Seconds float64        `json:"seconds,omitempty"`       // see StatusSites.Longest, Asking and AskingSites
	Given   frontier.Code  `json:"given_up,omitempty"`      // why the site was given up in this run, see StatusSites.GivenUpSites
	Detail  string         `json:"detail,omitempty"`        // the failure that led to Given, such as a failed connection
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
		s.addWaiting(one)
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

// insert adds s to sites, which are sorted by descending Seconds. If there are more than
// mostLongest sites, it removes the last one. Sites with equal Seconds are sorted by name, so that
// the result does not depend on the order of the calls.
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

// addWaiting counts a site that must not get a request yet.
func (s *StatusSites) addWaiting(one StatusSite) {
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

// keepAmong inserts s into the sorted list, and cuts the list to mostSites elements. Sites that are
// equal in the given order are sorted by name.
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

// keepIf sets *kept to a copy of s if *kept is nil or better(*kept) is true.
func (s StatusSite) keepIf(kept **StatusSite, better func(*StatusSite) bool) {
	if *kept == nil || better(*kept) {
		*kept = &s
	}
}

// Stats returns the current figures. It may be called at any time and from any goroutine. Before
// Run it returns zero figures.
func (c *Crawler) Stats() Stats {
	if !c.running() {
		return Stats{}
	}
	return Stats{Counts: c.visits.Counts(), Frontier: c.frontier.Stats(), Outage: c.outage()}
}

// outage returns Stats.Outage.
func (c *Crawler) outage() time.Time {
	if c.db == nil {
		return time.Time{}
	}
	if cluster := c.db.Cluster(); cluster != nil {
		return cluster.Outage()
	}
	return time.Time{}
}

// Summary returns the result of the run. Call it after Run has returned, or after Idle has returned
// true.
func (c *Crawler) Summary() Summary {
	if c.idle != nil && !c.running() {
		return *c.idle
	}
	s := Summary{Stats: c.Stats()}
	s.Sites = s.Frontier.Sites
	c.mu.Lock()
	s.End = c.end
	c.mu.Unlock()
	if !c.running() {
		return s
	}
	s.Repeats, s.Traps = c.visits.repeats.list(), []Trap{}
	for _, t := range c.visits.traps.List() {
		s.Traps = append(s.Traps, Trap(t))
	}
	s.Waiting = c.unfinished()
	for _, st := range s.Waiting {
		s.NextAgain = earlier(s.NextAgain, nextAgain(st))
		if st.Queued == 0 {
			continue
		}
		if s.Left == nil {
			s.Left = map[frontier.Code]int{}
		}
		s.Left[c.held(st).Code] += st.Queued
	}
	slices.SortFunc(s.Waiting, func(a, b frontier.SiteStatus) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Site, b.Site))
	})
	return s
}

// Oldest returns the site and the start of the visit that has been running longest, for progress
// output. A site that does not answer, or a handler that does not return, shows up here. ok is
// false if no visit is running.
func (c *Crawler) Oldest() (site frontier.Site, since time.Time, ok bool) {
	if !c.running() {
		return "", time.Time{}, false
	}
	return c.visits.oldest()
}

// Longest returns the site with the latest next request, among the sites with queued URLs. Progress
// output can show it as the site that the run waits for, with the reason and the time. The result
// is false if no site waits.
func (c *Crawler) Longest(now time.Time) (frontier.SiteStatus, bool) {
	if !c.running() {
		return frontier.SiteStatus{}, false
	}
	return c.frontier.Longest(now)
}
