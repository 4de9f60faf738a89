package report

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// Format identifies the JSON form of a Report. It changes if a name in the JSON or its meaning
// changes, but not if a name is added.
const Format = "permesso-report/3"

// A Report describes everything that a crawl has done. Times are in UTC, and lengths of time in
// seconds.
type Report struct {
	Format  string `json:"format"`
	Program string `json:"program"`

	Name    string    `json:"name"`              // base name of the crawl's directory
	Token   string    `json:"token,omitempty"`   // product token of the crawler; empty if the crawl is running
	Contact string    `json:"contact,omitempty"` // contact of the operator; empty if the crawl is running
	Running bool      `json:"running"`           // a process is running the crawl, so the queue could not be read
	Nodes   []Node    `json:"nodes,omitempty"`   // the nodes of a crawl on several machines
	Runs    int       `json:"runs"`
	Killed  int       `json:"killed"` // number of runs that were killed, as the first line of the next run says
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"` // First and Last are the earliest and the latest time of a line of the log

	Lines  int64   `json:"log_lines"`   // number of lines of crawl.log that were read
	Others int64   `json:"other_lines"` // number of lines of crawl.log that cannot be read
	Other  []Other `json:"others"`      // the first of the lines that cannot be read, at most mostOthers

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // number of requests for robots.txt
	Answers        int64 `json:"answers"`         // number of requests that were answered
	Pages          int64 `json:"pages"`           // number of answers with a 2xx status, and of 304 answers whose page is archived; without robots.txt, sitemaps and resources of pages
	NotModified    int64 `json:"pages_304"`       // number of 304 answers in Pages
	Bytes          int64 `json:"bytes"`           // size of all bodies as they were sent over the wire
	Again          int64 `json:"again,omitempty"` // number of URLs that wait to be fetched again; 0 if the crawl is running, because its queue is not known
	URLs           int64 `json:"urls"`            // number of different URLs in the log or the queue, without robots.txt files
	Sites          int64 `json:"sites"`
	Hosts          int64 `json:"hosts"` // number of different hosts of the sites

	NextAgain time.Time `json:"next_again,omitzero"` // when the first of the URLs in Again is due; zero: not known

	Polite Polite `json:"politeness"`

	Outcomes []Outcome        `json:"fates"`
	Status   []Count          `json:"status"` // number of answers by HTTP status
	Failures []Count          `json:"errors"` // number of failed requests by the stage that failed
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
	Repeated int64            `json:"repeated"` // number of pages that have the same body as an earlier page

	Near *Near `json:"near_duplicates,omitempty"` // nil unless Options.Near is set

	HasLinks bool `json:"has_links"` // links.jsonl exists

	// Since has the changes since another crawl: Options.Since, or the previous crawl. It is
	// nil if there is no other crawl, or if NotCompared says why it could not be compared.
	Since       *diff.Result `json:"since,omitempty"`
	NotCompared *NotCompared `json:"not_compared,omitempty"`
}

// A NotCompared says why a report does not compare this crawl with another one.
type NotCompared struct {
	Dir  string `json:"dir"` // directory of the crawl that was not compared
	Why  string `json:"reason"`
	Mend string `json:"mend"` // what the user can do to get a comparison
}

// A Table has the first rows of a list, and the number of all its rows.
type Table[T any] struct {
	All  int64 `json:"all"`
	Rows []T   `json:"list"`
}

// An Other is a line of the log that could not be read.
type Other struct {
	Line int64  `json:"line"`
	Why  string `json:"reason"`
}

// Polite says how a crawl has kept the pauses that its log says were required.
type Polite struct {
	Judged     int64          `json:"paced_requests"`       // number of requests that had to keep a pause
	Early      int64          `json:"early_requests"`       // number of paced requests that began too early
	Unknown    int64          `json:"unknown"`              // number of requests that cannot be judged, because a kill lost the lines that say when their pause began
	Least      float64        `json:"least_margin_seconds"` // seconds that the closest request waited beyond its pause; the closest is the request in paced_requests for which this is least
	LeastLine  int64          `json:"least_line"`           // line number of the closest request; 0 if paced_requests is 0
	LeastClock frontier.Clock `json:"least_clock,omitempty"`
	RetryAfter int64          `json:"retry_after_obeyed"` // number of requests that had to wait because of a Retry-After, and waited long enough
}

// Margin returns Least. But it returns 0 if Least is negative although no request was early,
// which happens because the log rounds times to microseconds.
func (p *Polite) Margin() float64 {
	if p.Early == 0 {
		return max(0, p.Least)
	}
	return p.Least
}

// An Outcome is the number of URLs with one frontier.Code. The code of a queued URL is from the
// queue, the code of any other URL from its last line in the log.
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

// A Series counts what happened in steps of equal length. Point i begins at Begin + i*Step.
type Series struct {
	Begin  time.Time `json:"begin,omitzero"`
	Step   float64   `json:"step_seconds"`
	Points []Point   `json:"points"`
}

// A Point has the counts of one step of time.
type Point struct {
	Requests int64    `json:"requests"`
	Pages    int64    `json:"pages"`
	Bytes    int64    `json:"bytes"`
	Answers  [6]int64 `json:"answers"` // number of requests by the first digit of their status; index 0: requests without an answer
	Refused  int64    `json:"refused"` // number of URLs that were not requested because of robots.txt, use, opt-out or scope
	Found    int64    `json:"found"`   // number of URLs that were found, at the time when the page that led to them was fetched
	Ended    int64    `json:"ended"`   // number of URLs that are not queued any more, at the time of their last line
}

// A Delay is a group of requests with the same clock, and with about the same required and
// actual pause. Asked, Kept and Line are those of the closest request, the one that came
// closest to being early.
type Delay struct {
	Clock    frontier.Clock `json:"clock"`
	Asked    float64        `json:"asked_seconds"` // pause that was required of the closest request, in seconds
	Kept     float64        `json:"kept_seconds"`
	Line     int64          `json:"line"` // line number of the closest request
	Requests int64          `json:"requests"`
	Early    int64          `json:"early_requests"`
}

// A Rate says how long sites took to answer at a certain rate of requests. It counts the
// requests that began between Every/1.78 and Every seconds after the previous request to the
// same site. The factor is 1.78, the fourth root of ten, because there are four rates for each
// power of ten.
type Rate struct {
	Every    float64 `json:"every_seconds"`
	Requests int64   `json:"requests"`
	Median   float64 `json:"median_seconds"` // median time to the first byte; accurate to 1/12
	Ninety   float64 `json:"p90_seconds"`    // time to the first byte that nine of ten answers did not exceed; accurate to 1/12
}

// A SiteRow has the numbers of the requests to one site.
type SiteRow struct {
	Site     frontier.Site  `json:"site"`
	Requests int64          `json:"requests"`
	Pages    int64          `json:"pages"`
	Bytes    int64          `json:"bytes"`
	Asked    float64        `json:"asked_seconds"` // the longest pause that was required between two requests; Clock says why
	Clock    frontier.Clock `json:"clock,omitempty"`
	Median   float64        `json:"median_seconds"` // median time to the first byte; 0: there was no answer
	Robots   string         `json:"robots"`         // result of the last request for robots.txt, in words
}

// Rules counts what robots.txt and owners have decided at one site.
type Rules struct {
	Site    frontier.Site `json:"site"`
	Asked   int64         `json:"asked"`   // number of requests, without those for robots.txt
	Refused int64         `json:"refused"` // number of URLs that a rule forbids
	Use     int64         `json:"use"`     // number of URLs and pages whose owner refuses the purpose of the crawl
	OptOut  int64         `json:"optout"`
}

// A Trouble counts the requests to one site that went wrong, by Classes.
type Trouble struct {
	Site    frontier.Site `json:"site"`
	All     int64         `json:"all"`
	Classes []Count       `json:"classes"`
}

// A Left is the queue of one site.
type Left struct {
	Site    frontier.Site `json:"site"`
	Queued  int64         `json:"queued"`
	Fate    frontier.Code `json:"fate"`
	Reason  string        `json:"reason,omitempty"`
	Seconds float64       `json:"seconds"` // least time until all of it is requested; 0 if it never will be
}

// A Failure is a URL whose last request failed.
type Failure struct {
	URL    string   `json:"url"`
	Status int      `json:"status"`
	Error  string   `json:"error,omitempty"`
	Tries  int64    `json:"tries"`
	Via    string   `json:"via,omitempty"`   // page on which the URL was found first
	Linked int64    `json:"linked"`          // number of pages that link to the URL or embed it, if the crawl has links.jsonl
	From   []string `json:"from,omitempty"`  // some of the pages that link to the URL or embed it
	Title  string   `json:"title,omitempty"` // title of the page that the server sent with the error
}

// A Redirect is a URL whose answer was a redirect.
type Redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	To     string `json:"to,omitempty"` // target of the redirect, from pages.jsonl
	Linked int64  `json:"linked"`
}

// A Linked is a URL and the number of pages with a link to it that readers can follow.
type Linked struct {
	URL   string        `json:"url"`
	Pages int64         `json:"linked"`
	Fate  frontier.Code `json:"fate,omitempty"` // empty if the crawl never queued the URL
	Title string        `json:"title,omitempty"`
}

// A Request is one request that was answered.
type Request struct {
	URL     string  `json:"url"`
	Line    int64   `json:"line"`
	Status  int     `json:"status"`
	Seconds float64 `json:"took_seconds"`
	Bytes   int64   `json:"bytes"`
	Type    string  `json:"type,omitempty"`
	Title   string  `json:"title,omitempty"`
}

// A Duplicate is a body that several pages have in common.
type Duplicate struct {
	Digest string   `json:"digest"`
	Pages  int64    `json:"pages"`
	Bytes  int64    `json:"bytes"` // length of the body over the wire; 0: it was never sent
	URLs   []string `json:"urls"`  // some of the URLs with this body
	Title  string   `json:"title,omitempty"`
}

// The largest numbers of rows of tables, and of other items.
const (
	mostOthers  = 10
	mostSites   = 50
	mostBars    = 15
	mostErrors  = 200
	mostRows    = 25
	mostExample = 3
	mostNames   = 1000 // different types, statuses and stages; all others are counted together
)
