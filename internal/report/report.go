package report

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// Format names the form of a Report in JSON. It changes if a name in the JSON or its meaning
// changes, but not if a name is added.
const Format = "permesso-report/3"

// A Report is what a crawl has done. Times are in UTC, and lengths of time in seconds.
type Report struct {
	Format  string `json:"format"`
	Program string `json:"program"`

	Name    string    `json:"name"`              // name of the directory
	Token   string    `json:"token,omitempty"`   // product token of the crawler; empty if the crawl is running
	Contact string    `json:"contact,omitempty"` // of its operator
	Running bool      `json:"running"`           // a process is running the crawl, so its queue is not known
	Runs    int       `json:"runs"`
	Killed  int       `json:"killed"` // runs that did not end by themselves, as the first line of the next run says
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"` // First and Last are the earliest and the latest time of a line

	Lines  int64   `json:"log_lines"`   // lines of crawl.log that were read
	Others int64   `json:"other_lines"` // other lines of crawl.log, which cannot be read
	Other  []Other `json:"others"`      // the first of these lines, up to mostOthers

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // requests for robots.txt
	Answers        int64 `json:"answers"`         // requests that were answered
	Pages          int64 `json:"pages"`           // answers with a 2xx status, and 304s whose page is archived; robots.txt, sitemaps and resources of pages are not counted
	NotModified    int64 `json:"pages_304"`       // 304s that are in Pages
	Bytes          int64 `json:"bytes"`           // of bodies, as they came over the wire
	Again          int64 `json:"again,omitempty"` // URLs that wait to be fetched again; 0 if the crawl is running, because its queue is not known
	URLs           int64 `json:"urls"`            // URLs that the log or the queue names, each once; robots.txt files are not counted
	Sites          int64 `json:"sites"`
	Hosts          int64 `json:"hosts"` // different hosts of these sites

	NextAgain time.Time `json:"next_again,omitzero"` // when the first URL of Again is due; zero if unknown

	Polite Polite `json:"politeness"`

	Outcomes []Outcome        `json:"fates"`
	Status   []Count          `json:"status"` // answers by HTTP status
	Failures []Count          `json:"errors"` // failed requests by stage
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
	Repeated int64            `json:"repeated"` // pages that have the body of another page

	Near *Near `json:"near_duplicates,omitempty"` // nil unless Options.Near is set

	HasLinks bool `json:"has_links"` // links.jsonl exists

	// Since is what has changed since another crawl: Options.Since, or the crawl before this
	// one. It is nil if there is no other crawl, or if NotCompared says why it was not compared.
	Since       *diff.Result `json:"since,omitempty"`
	NotCompared *NotCompared `json:"not_compared,omitempty"`
}

// A NotCompared says why a report does not compare this crawl with another one.
type NotCompared struct {
	Dir  string `json:"dir"` // of the crawl that was not compared
	Why  string `json:"reason"`
	Mend string `json:"mend"` // what to do about it
}

// A Table has the first rows of a list, and the number of all its rows.
type Table[T any] struct {
	All  int64 `json:"all"`
	Rows []T   `json:"list"`
}

// An Other is a line of the log that cannot be read.
type Other struct {
	Line int64  `json:"line"`
	Why  string `json:"reason"`
}

// Polite is how a crawl has kept the pauses that its log says were required.
type Polite struct {
	Judged     int64          `json:"paced_requests"`       // requests that had to keep a pause
	Early      int64          `json:"early_requests"`       // those of Judged that began too early
	Unknown    int64          `json:"unknown"`              // requests that cannot be judged: the lines that say when their pause began were lost in a kill
	Least      float64        `json:"least_margin_seconds"` // seconds that the closest request waited longer than its pause; the closest is the one of Judged for which this is least
	LeastLine  int64          `json:"least_line"`           // line number of the closest request; 0 if Judged is 0
	LeastClock frontier.Clock `json:"least_clock,omitempty"`
	RetryAfter int64          `json:"retry_after_obeyed"` // requests whose pause was required by a Retry-After, and that waited as long as it required
}

// Margin returns Least. But if Least is negative although no request is early, it returns 0:
// this happens because the times in the log are rounded to microseconds.
func (p *Polite) Margin() float64 {
	if p.Early == 0 {
		return max(0, p.Least)
	}
	return p.Least
}

// An Outcome is a frontier.Code and the number of URLs that have it. For a URL that is not
// queued, the code is that of its last line in the log.
type Outcome struct {
	Fate frontier.Code `json:"fate"`
	URLs int64         `json:"urls"`
}

// A Count is a name and how often it occurred.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"count"`
}

// A Type counts the answers of one media type. A 304 counts under the type of the archived
// page.
type Type struct {
	Name     string `json:"type"`
	Requests int64  `json:"requests"`
	Bytes    int64  `json:"bytes"`
}

// A Series counts what happened in steps of time. Point i begins at Begin + i*Step.
type Series struct {
	Begin  time.Time `json:"begin,omitzero"`
	Step   float64   `json:"step_seconds"`
	Points []Point   `json:"points"`
}

// A Point is what happened in one step.
type Point struct {
	Requests int64    `json:"requests"`
	Pages    int64    `json:"pages"`
	Bytes    int64    `json:"bytes"`
	Answers  [6]int64 `json:"answers"` // requests by the first digit of the status; index 0 is for those without an answer
	Refused  int64    `json:"refused"` // URLs that were not requested because of robots.txt, use, opt-out or scope
	Found    int64    `json:"found"`   // URLs that were found, at the time when the page that led to them was fetched
	Ended    int64    `json:"ended"`   // URLs that are not queued, at the time of their last line
}

// A Delay is a group of requests that have the same clock, and about the same pause and actual
// delay. Asked, Kept and Line are those of the closest request, which is the one that was
// closest to being early.
type Delay struct {
	Clock    frontier.Clock `json:"clock"`
	Asked    float64        `json:"asked_seconds"` // of the closest request, as Kept
	Kept     float64        `json:"kept_seconds"`
	Line     int64          `json:"line"` // of the closest request
	Requests int64          `json:"requests"`
	Early    int64          `json:"early_requests"`
}

// A Rate says how long sites took to answer at a certain rate of requests. It counts the
// requests that began between Every/1.78 and Every seconds after the previous request to the
// same site. The factor is 1.78, because there are four rates for each power of ten.
type Rate struct {
	Every    float64 `json:"every_seconds"`
	Requests int64   `json:"requests"`
	Median   float64 `json:"median_seconds"` // time to the first byte; accurate to 1/12, like Ninety
	Ninety   float64 `json:"p90_seconds"`    // nine of ten answers were no slower
}

// A SiteRow has the figures of the requests to one site.
type SiteRow struct {
	Site     frontier.Site  `json:"site"`
	Requests int64          `json:"requests"`
	Pages    int64          `json:"pages"`
	Bytes    int64          `json:"bytes"`
	Asked    float64        `json:"asked_seconds"` // the longest pause that was required between two requests, by Clock
	Clock    frontier.Clock `json:"clock,omitempty"`
	Median   float64        `json:"median_seconds"` // time to the first byte; 0 if there was no answer
	Robots   string         `json:"robots"`         // result of the last request for robots.txt
}

// Rules are what robots.txt and owners decided at one site.
type Rules struct {
	Site    frontier.Site `json:"site"`
	Asked   int64         `json:"asked"`   // requests, without those for robots.txt
	Refused int64         `json:"refused"` // URLs that a rule forbids
	Use     int64         `json:"use"`     // URLs and pages whose owner refuses the purpose
	OptOut  int64         `json:"optout"`
}

// A Trouble counts the requests to one site that went wrong, by Classes.
type Trouble struct {
	Site    frontier.Site `json:"site"`
	All     int64         `json:"all"`
	Classes []Count       `json:"classes"`
}

// A Left is what is queued at a site.
type Left struct {
	Site    frontier.Site `json:"site"`
	Queued  int64         `json:"queued"`
	Fate    frontier.Code `json:"fate"`
	Reason  string        `json:"reason,omitempty"`
	Seconds float64       `json:"seconds"` // the least time until all of it is requested; 0 if it will not be
}

// A Failure is a URL whose last try failed.
type Failure struct {
	URL    string   `json:"url"`
	Status int      `json:"status"`
	Error  string   `json:"error,omitempty"`
	Tries  int64    `json:"tries"`
	Via    string   `json:"via,omitempty"`   // the page on which it was found first
	Linked int64    `json:"linked"`          // number of pages that link to it or embed it, if links are kept
	From   []string `json:"from,omitempty"`  // the first of those pages
	Title  string   `json:"title,omitempty"` // of the page that came with the error
}

// A Redirect is a URL that leads elsewhere.
type Redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	To     string `json:"to,omitempty"` // from pages.jsonl
	Linked int64  `json:"linked"`
}

// A Linked is a URL, with the number of pages that have a link to it that readers can follow.
type Linked struct {
	URL   string        `json:"url"`
	Pages int64         `json:"linked"`
	Fate  frontier.Code `json:"fate,omitempty"` // empty if the URL never entered the crawl
	Title string        `json:"title,omitempty"`
}

// A Request is a request that was answered.
type Request struct {
	URL     string  `json:"url"`
	Line    int64   `json:"line"`
	Status  int     `json:"status"`
	Seconds float64 `json:"took_seconds"`
	Bytes   int64   `json:"bytes"`
	Type    string  `json:"type,omitempty"`
	Title   string  `json:"title,omitempty"`
}

// A Duplicate is a body that several pages have.
type Duplicate struct {
	Digest string   `json:"digest"`
	Pages  int64    `json:"pages"`
	Bytes  int64    `json:"bytes"` // length of the body over the wire; 0 if it was never sent
	URLs   []string `json:"urls"`  // the first URLs with that body
	Title  string   `json:"title,omitempty"`
}

// The maximum numbers of rows and of other items.
const (
	mostOthers  = 10
	mostSites   = 50
	mostBars    = 15
	mostErrors  = 200
	mostRows    = 25
	mostExample = 3
	mostNames   = 1000 // different types, statuses and stages; the others are counted together
)
