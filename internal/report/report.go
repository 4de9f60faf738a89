package report

import (
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// Format names the form of a Report in JSON. It changes where a name changes, or its
// meaning; names may be added.
const Format = "permesso-report/2"

// A Report is what a crawl has done. Times are UTC; lengths of time are seconds.
type Report struct {
	Format  string `json:"format"`
	Program string `json:"program"`

	Name    string    `json:"name"`              // of the directory
	Token   string    `json:"token,omitempty"`   // who crawls; not known of a crawl that runs
	Contact string    `json:"contact,omitempty"` // of who runs it
	Running bool      `json:"running"`           // a process holds the crawl: its queue is not known
	Runs    int       `json:"runs"`
	Killed  int       `json:"killed"` // runs that did not end by themselves, as the next one says
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"` // of the first and last line

	Lines  int64   `json:"lines"`       // of the log
	Others int64   `json:"other_lines"` // of it, that are none of a crawl
	Other  []Other `json:"others"`      // the first of them

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // of them for robots.txt
	Answers        int64 `json:"answers"`         // requests that were answered
	Pages          int64 `json:"pages"`           // answers with a 2xx status, and 304s for which a page stands that is archived; but for robots.txt, sitemaps and what pages are shown with
	NotModified    int64 `json:"pages_304"`       // of Pages, those 304s
	Bytes          int64 `json:"bytes"`           // of bodies, as they came over the wire
	Again          int64 `json:"again,omitempty"` // URLs that wait to be fetched again; not known of a crawl that runs
	URLs           int64 `json:"urls"`            // that the log or the queue names, each once; robots.txt is none
	Sites          int64 `json:"sites"`
	Hosts          int64 `json:"hosts"` // names

	NextAgain time.Time `json:"next_again,omitzero"` // when the first of those of Again is due; zero if none is known

	Polite Polite `json:"politeness"`

	Outcomes []Outcome        `json:"outcomes"`
	Status   []Count          `json:"status"` // answers by HTTP status
	Failures []Count          `json:"errors"` // requests that failed, by stage
	Types    []Type           `json:"types"`
	Series   Series           `json:"series"`
	Delays   []Delay          `json:"delays"`
	Rates    []Rate           `json:"rates"`
	SiteRows Table[SiteRow]   `json:"site_rows"`
	Rules    Table[Rules]     `json:"rules"`
	Troubles Table[Trouble]   `json:"troubles"`
	Left     Table[Left]      `json:"left"`
	Errors   Table[Failure]   `json:"broken"`
	Redirect Table[Redirect]  `json:"redirects"`
	Linked   Table[Linked]    `json:"most_linked"`
	Slowest  Table[Request]   `json:"slowest"`
	Largest  Table[Request]   `json:"largest"`
	Same     Table[Duplicate] `json:"duplicates"`
	Repeated int64            `json:"repeated"` // pages that have the body of another one

	HasLinks bool `json:"has_links"` // links.jsonl is there

	// Since is what has changed since another crawl: one that was asked for, or the one that
	// this knows as the one before it; nil where there is neither, or NotCompared says why
	// it is not told.
	Since       *diff.Result `json:"since,omitempty"`
	NotCompared *NotCompared `json:"not_compared,omitempty"`
}

// A NotCompared says why it is not told what has changed since a crawl.
type NotCompared struct {
	Dir  string `json:"dir"` // of that crawl
	Why  string `json:"why"`
	Mend string `json:"mend"` // how it would be told
}

// A Table is the first rows of something, and how many there are.
type Table[T any] struct {
	All  int64 `json:"all"`
	Rows []T   `json:"rows"`
}

// An Other is a line of the log that is none of a crawl.
type Other struct {
	Line int64  `json:"line"`
	Why  string `json:"why"`
}

// Polite is how a crawl has kept the pauses that its log says were asked.
type Polite struct {
	Judged     int64          `json:"judged"`       // requests that had to keep one
	Early      int64          `json:"early"`        // of them, that began earlier
	Unknown    int64          `json:"unknown"`      // of which a kill has taken what the pause counts from
	Least      float64        `json:"least_margin"` // seconds that the closest one left beyond what was asked
	LeastLine  int64          `json:"least_line"`   // of that one; 0 where none was judged
	LeastClock frontier.Clock `json:"least_clock,omitempty"`
	RetryAfter int64          `json:"retry_after"` // requests that waited for a Retry-After, as long as it said
}

// Margin is Least, but none where the log, which tells microseconds, has a little less
// than none of a request that is not early.
func (p *Polite) Margin() float64 {
	if p.Early == 0 {
		return max(0, p.Least)
	}
	return p.Least
}

// An Outcome is what became of URLs: a crawler.Standing, and how many there are. What is
// not left in the queue is judged by its last line in the log.
type Outcome struct {
	Standing crawler.Standing `json:"standing"`
	URLs     int64            `json:"urls"`
}

// A Count is how often something was.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// A Type is what came of one media type, that of a 304 the one of the page that stands for
// it.
type Type struct {
	Name     string `json:"type"`
	Requests int64  `json:"requests"`
	Bytes    int64  `json:"bytes"`
}

// A Series is what happened in steps of time. Point i is from Begin + i*Step on.
type Series struct {
	Begin  time.Time `json:"begin,omitzero"`
	Step   float64   `json:"step"`
	Points []Point   `json:"points"`
}

// A Point is what happened in one step.
type Point struct {
	Requests int64    `json:"requests"`
	Pages    int64    `json:"pages"`
	Bytes    int64    `json:"bytes"`
	Answers  [6]int64 `json:"answers"` // by the first digit of the status; 0: none came
	Refused  int64    `json:"refused"` // URLs that were not asked for: robots.txt, use, opt-out, scope
	Found    int64    `json:"found"`   // URLs, when the page that they were found on was there
	Ended    int64    `json:"ended"`   // URLs, by their last line; none that is queued
}

// A Delay is a group of requests that were asked for about the same pause by one clock,
// and kept about the same: in which the closest to being early is told.
type Delay struct {
	Clock    frontier.Clock `json:"clock"`
	Asked    float64        `json:"asked"` // of the closest, as Kept
	Kept     float64        `json:"kept"`
	Line     int64          `json:"line"` // of the closest
	Requests int64          `json:"requests"`
	Early    int64          `json:"early"`
}

// A Rate is how long sites took to answer where they were asked that often: once in
// Every seconds or less, down to the Every of the row before.
type Rate struct {
	Every    float64 `json:"every"`
	Requests int64   `json:"requests"`
	Median   float64 `json:"median"` // to the first byte; within a twelfth, as all of these
	Ninety   float64 `json:"p90"`    // nine of ten were no slower
}

// A SiteRow is what was asked of one site.
type SiteRow struct {
	Site     frontier.Site  `json:"site"`
	Requests int64          `json:"requests"`
	Pages    int64          `json:"pages"`
	Bytes    int64          `json:"bytes"`
	Asked    float64        `json:"asked"` // the longest pause that was asked for between any two requests
	Clock    frontier.Clock `json:"clock,omitempty"`
	Median   float64        `json:"median"` // to the first byte; 0 where nothing was answered
	Robots   string         `json:"robots"` // what the last robots.txt request came to
}

// Rules are what robots.txt and owners decided at one site.
type Rules struct {
	Site    frontier.Site `json:"site"`
	Asked   int64         `json:"asked"`   // requests, but for robots.txt
	Refused int64         `json:"refused"` // URLs that a rule forbids
	Use     int64         `json:"use"`     // URLs and pages whose owner refuses the purpose
	OptOut  int64         `json:"optout"`
}

// A Trouble is what went wrong at one site, by Classes.
type Trouble struct {
	Site    frontier.Site `json:"site"`
	All     int64         `json:"all"`
	Classes []Count       `json:"classes"`
}

// A Left is what is queued at a site.
type Left struct {
	Site     frontier.Site    `json:"site"`
	Queued   int64            `json:"queued"`
	Standing crawler.Standing `json:"standing"`
	Reason   string           `json:"reason,omitempty"`
	Seconds  float64          `json:"seconds"` // that it takes at least; 0 for what will not be asked
}

// A Failure is a URL whose last try was no success.
type Failure struct {
	URL    string   `json:"url"`
	Status int      `json:"status"`
	Error  string   `json:"error,omitempty"`
	Tries  int64    `json:"tries"`
	Via    string   `json:"via,omitempty"`   // the page it was found on
	Linked int64    `json:"linked"`          // pages that name it, where links are kept: by a link, or as what they are shown with
	From   []string `json:"from,omitempty"`  // the first of them
	Title  string   `json:"title,omitempty"` // of the page that came with the error
}

// A Redirect is a URL that leads elsewhere.
type Redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	To     string `json:"to,omitempty"` // as pages.jsonl has it
	Linked int64  `json:"linked"`
}

// A Linked is a URL, and how many pages have a link to it that readers follow.
type Linked struct {
	URL    string           `json:"url"`
	Pages  int64            `json:"pages"`
	Stands crawler.Standing `json:"standing,omitempty"` // none: it never entered the crawl
	Title  string           `json:"title,omitempty"`
}

// A Request is one that was answered.
type Request struct {
	URL     string  `json:"url"`
	Line    int64   `json:"line"`
	Status  int     `json:"status"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Type    string  `json:"type,omitempty"`
	Title   string  `json:"title,omitempty"`
}

// A Duplicate is a body that several pages have.
type Duplicate struct {
	Digest string   `json:"digest"`
	Pages  int64    `json:"pages"`
	Bytes  int64    `json:"bytes"` // of one, over the wire; 0 where none was sent
	URLs   []string `json:"urls"`  // the first of them
	Title  string   `json:"title,omitempty"`
}

// How many rows tables have.
const (
	mostOthers  = 10
	mostSites   = 50
	mostBars    = 15
	mostErrors  = 200
	mostRows    = 25
	mostExample = 3
	mostNames   = 1000 // different types, statuses and stages; the others are counted together
)
