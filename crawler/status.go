package crawler

import (
	"runtime/metrics"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// statusVersion is the version of Status. It changes if a field gets another meaning or is
// removed, but not if a field is added.
const statusVersion = 3

// A State is the state of a crawl.
type State string

// The states of a crawl. The last four are only returned by ReadStatus.
const (
	StateStarting State = "starting" // Run has not queued the seeds yet
	StateRunning  State = "running"
	StatePaused   State = "paused"   // Crawler.Pause was called
	StateStopping State = "stopping" // running visits are finished, no new one begins
	StateEnded    State = "ended"    // see Status.End
	StateKilled   State = "killed"   // the last run did not end by itself
	StateNoRoom   State = "no room"  // the last run ended because the disk was full
	StateUnknown  State = "unknown"  // the last run ended, but it was not recorded how

	// StateNotBegun is the state of a directory whose run ended before its first request:
	// the next run begins the crawl.
	StateNotBegun State = "not begun"
)

// A Status describes a crawl at a moment, for people and programs. As JSON its fields are
// never renamed.
type Status struct {
	Version int       `json:"version"` // of these fields; it changes if a field gets another meaning or is removed
	Time    time.Time `json:"time"`    // when the figures below were read
	State   State     `json:"state"`
	End     End       `json:"end,omitempty"` // why the run ended (StateEnded) or is about to end (StateStopping)
	Dir     string    `json:"dir,omitempty"`
	Name    string    `json:"token"`          // product token
	Began   time.Time `json:"began,omitzero"` // start of the run
	Seconds float64   `json:"seconds"`        // from Began to Time

	Run    StatusRun             `json:"run"`
	Rate   StatusRate            `json:"rate"`
	Crawl  StatusCrawl           `json:"crawl"`
	Sites  StatusSites           `json:"sites"`
	Left   map[frontier.Code]int `json:"left,omitempty"` // number of queued URLs, by the reason why they are not fetched, as in Summary
	Polite StatusPolite          `json:"politeness"`
	Memory StatusMemory          `json:"memory,omitzero"`

	Limits map[string]string `json:"limits,omitempty"` // the limits that apply now, by name, as texts of Setting.String
	Orders []Order           `json:"orders,omitempty"` // as returned by Crawler.Orders
}

// A StatusRun has the figures of a run so far. They are those of Counts.
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

// A StatusRate is the current rate of a run per second, over the last seconds.
type StatusRate struct {
	Seconds  float64 `json:"seconds"` // length of the period: at most 30 seconds
	Pages    float64 `json:"pages"`
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
}

// A StatusCrawl is the progress of a crawl over all runs. There is no estimate of its end,
// because the links on the pages that are still queued are not known yet.
type StatusCrawl struct {
	// BudgetPages is the number of pages that count for limits. Each page counts once, even if
	// it is fetched again. A page also counts if its owner refuses the purpose of the crawl in
	// the answer.
	BudgetPages int `json:"budget_pages"`

	Bytes  int64 `json:"bytes"` // bytes of bodies, as they came over the wire
	Done   int   `json:"done"`  // URLs that were fetched, or will not be
	Queued int   `json:"queued"`
	Again  int   `json:"again,omitempty"` // URLs that ended, and wait to be fetched again (Options.Revisit)
	Known  int   `json:"entered"`         // the sum of Done, Queued and Again; it grows as links are found

	NextAgain time.Time `json:"next_again,omitzero"` // when the first URL of Again may be fetched; zero if no time is known
}

// StatusPolite says how well the pauses between requests were kept. Its figures are those of
// frontier.Politeness.
type StatusPolite struct {
	Requests    int     `json:"paced_requests"` // requests that had to keep a pause
	Early       int     `json:"early_requests"`
	LeastMargin float64 `json:"least_margin_seconds"`
	RetryAfter  int     `json:"retry_after_obeyed"`
}

// A StatusMemory is the memory of the process, in bytes.
type StatusMemory struct {
	Heap  uint64 `json:"heap"`  // heap objects, including unreachable ones that the garbage collector has not freed yet
	Total uint64 `json:"total"` // memory taken from the operating system and not given back
}

// Status returns the current status. It may be called at any time, from any goroutine. It reads
// the sites that have URLs to fetch, a few hundred at a time. The crawl continues meanwhile, so
// the figures of different sites may be of different moments.
func (c *Crawler) Status() Status {
	s := Status{Version: statusVersion, Time: time.Now(), Dir: c.opts.Dir, Name: c.opts.Identity.Token, State: StateStarting}
	s.Limits, s.Orders = c.limitTexts(c.Limits()), c.Orders()
	if !c.running() {
		return s
	}
	c.mu.Lock()
	s.End, s.Began = c.end, c.began
	switch {
	case !c.over.IsZero():
		s.State = StateEnded
		s.Time = c.over
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
	s.Memory = memory()
	s.Sites.Known = front.Sites
	s.Left = map[frontier.Code]int{}
	for st := range c.frontier.Sites() {
		s.Sites.add(st, s.Time)
		s.Crawl.NextAgain = earlier(s.Crawl.NextAgain, st.NextAgain)
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

// memory reads the runtime's metrics, without stopping the world.
func memory() StatusMemory {
	of := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(of)
	return StatusMemory{of[0].Value.Uint64(), of[1].Value.Uint64() - of[2].Value.Uint64()}
}
