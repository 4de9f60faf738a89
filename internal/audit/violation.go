package audit

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Code names a rule that was broken. Codes are never renamed.
type Code string

// The codes of violations.
const (
	Disallowed  Code = "disallowed"   // robots.txt forbids the URL
	NoRobots    Code = "no-robots"    // no robots.txt was known that allows the request
	StaleRobots Code = "stale-robots" // the copy of robots.txt was too old, or was not the last one
	TooEarly    Code = "gap"          // a pause was too short
	RetryAfter  Code = "retry-after"  // the site had named a later time in Retry-After
	BackOff     Code = "back-off"     // the site had asked for a rest, or had not answered
	Concurrent  Code = "concurrent"   // more requests at once than allowed
	VisitTime   Code = "visit-time"   // the request was outside of the hours that robots.txt names
	Redirects   Code = "redirects"    // too many redirects of a robots.txt were followed
	Identity    Code = "identity"     // the requests have several User-Agents
	Evidence    Code = "evidence"     // the log, the state and the copies of robots.txt contradict each other
)

// Codes returns all codes in the order of reports, with their rules.
func Codes() []Check {
	return []Check{
		{Code: NoRobots, Rule: "each request had a robots.txt that was fetched before it"},
		{Code: StaleRobots, Rule: "no request used a copy that was too old, or not the last"},
		{Code: Disallowed, Rule: "robots.txt allowed each URL, by the copy in force"},
		{Code: VisitTime, Rule: "no request came outside of the hours of a Visit-time"},
		{Code: TooEarly, Rule: "each pause was as long as the longest that was required"},
		{Code: RetryAfter, Rule: "no request came before the time of a Retry-After"},
		{Code: BackOff, Rule: "no request came too soon after 429, 503 or a failed connection"},
		{Code: Concurrent, Rule: "at most one request at once to a site or host, two to an address"},
		{Code: Redirects, Rule: "no robots.txt was followed over more than 10 redirects"},
		{Code: Identity, Rule: "all WARC files name the identity of the crawl"},
		{Code: Evidence, Rule: "the log is unchanged, and has what the state knows"},
	}
}

// A Check counts the checks and the violations of one rule.
type Check struct {
	Code       Code   `json:"code"`
	Rule       string `json:"rule"`
	Checked    int64  `json:"checked"` // how many requests or other things were checked
	Violations int64  `json:"violations"`
}

// A Violation is one rule that one request has broken.
type Violation struct {
	Code  Code      `json:"code"`
	Lines []int64   `json:"lines,omitempty"` // line numbers in the log: the request, and the line from which its pause counts
	URL   string    `json:"url,omitempty"`
	Time  time.Time `json:"time,omitzero"` // the start of the request
	Rule  string    `json:"rule"`          // the broken rule, in its own words
	Text  string    `json:"text"`          // what happened, in one sentence
	Pause *Pause    `json:"pause,omitempty"`
}

// A Pause has the required and the actual length of a pause, in seconds.
type Pause struct {
	Clock frontier.Clock `json:"clock"`
	Asked float64        `json:"asked_seconds"`
	Kept  float64        `json:"kept_seconds"`
}

func (v *Violation) String() string {
	var b strings.Builder
	if len(v.Lines) > 0 {
		fmt.Fprintf(&b, "%d: ", v.Lines[0])
	}
	fmt.Fprintf(&b, "%s: ", v.Code)
	if v.URL != "" {
		b.WriteString(v.URL + " ")
	}
	b.WriteString(v.Text)
	if v.Rule != "" {
		fmt.Fprintf(&b, " (%s)", v.Rule)
	}
	return b.String()
}

// A LineError is a line of a log that cannot be read.
type LineError struct {
	File string
	Line int64
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %s: nothing can be said of a log with foreign or broken lines", e.File, e.Line, e.cause())
}

// cause returns what is wrong with the line, as text without line breaks.
func (e *LineError) cause() string {
	first, _, _ := strings.Cut(e.Err.Error(), "\n") // leave out the other lines of the error, which list further fields
	return first
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// lineError returns err as a *LineError with the number of a line.
func lineError(file string, line int64, err error) error {
	var known *LineError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &LineError{file, line, err}
}
