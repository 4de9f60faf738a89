package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Report is the result of an audit. The names of its fields in JSON never change.
type Report struct {
	Log        string    `json:"log"`        // file name of the log
	LogBytes   int64     `json:"log_bytes"`  // length of the log, in bytes
	LogSHA256  string    `json:"log_sha256"` // SHA-256 of the log, in hexadecimal
	LogLines   int64     `json:"log_lines"`
	First      time.Time `json:"first,omitzero"` // start of the first request
	Last       time.Time `json:"last,omitzero"`  // end of the last request
	Runs       int       `json:"runs"`
	Killed     int       `json:"killed"` // number of runs that were killed
	Token      string    `json:"token"`
	Contact    string    `json:"contact"`
	UserAgents []string  `json:"user_agents_archived,omitempty"` // User-Agents in the WARC files

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // number of requests for robots.txt
	UseRequests    int64 `json:"use_requests"`    // number of requests for tdmrep.json files and license documents
	Refused        int64 `json:"refused"`         // number of URLs that were not requested because robots.txt forbids them
	Bytes          int64 `json:"bytes"`           // size of all answers as they were sent over the wire
	Sites          int64 `json:"sites"`
	Redirected     int   `json:"robots_redirects"` // largest number of redirects that were followed for one robots.txt

	Copies       int64  `json:"robots_copies"`
	CopiesSHA256 string `json:"robots_copies_sha256"` // digest of all stored copies of robots.txt; see docs/reference/audit.md

	Checks   []Check    `json:"checks"`
	Margins  []Margin   `json:"margins"`
	Unproven []Unproven `json:"unproven"` // lines that prove nothing, at most mostListed

	UnprovenLines int64       `json:"unproven_lines"`
	Violated      int64       `json:"violations"`
	Violations    []Violation `json:"list"` // violations, at most mostListed

	Server *Beside `json:"server,omitempty"` // comparison with the log of a server; nil: there was no such log

	// Remarks are sentences about facts that the log does not prove. They are not about single
	// lines.
	Remarks []string `json:"remarks"`
}

// A Margin says how close requests came to being too early for one clock.
type Margin struct {
	Clock    frontier.Clock `json:"clock"`
	Requests int64          `json:"requests"`             // number of requests that had to wait for the clock
	Least    float64        `json:"least_margin_seconds"` // seconds that the closest request waited beyond its pause; negative: it was too early
	Line     int64          `json:"line"`                 // line number of the closest request

	counted int64 // number of the last line that was counted in Requests
}

// An Unproven is a line from which nothing can be concluded about its request.
type Unproven struct {
	Line int64  `json:"line"`
	Why  string `json:"reason"`
}

// Clean reports whether there is no violation.
func (r *Report) Clean() bool { return r.Violated == 0 }

// mostListed is how many violations, and how many lines that prove nothing, a report lists. All
// are counted.
const mostListed = 1000

// checked counts one check of the rule with this code.
func (a *auditor) checked(code Code) { a.check(code).Checked++ }

// checkedAsk is like checked, for rules about pauses that apply to some requests only. It
// ignores TooEarly, which applies to all requests and is counted with them.
func (a *auditor) checkedAsk(code Code) {
	if code == RetryAfter || code == BackOff {
		a.checked(code)
	}
}

func (a *auditor) check(code Code) *Check {
	i := slices.IndexFunc(a.report.Checks, func(c Check) bool { return c.Code == code })
	return &a.report.Checks[i]
}

// violation counts a violation, lists it, and calls Options.Violation.
func (a *auditor) violation(v *Violation) error {
	a.check(v.Code).Violations++
	a.report.Violated++
	if len(a.report.Violations) < mostListed {
		a.report.Violations = append(a.report.Violations, *v)
	}
	if a.Violation == nil {
		return nil
	}
	return a.Violation(v)
}

// open adds a line to the lines that prove nothing. why is the reason.
func (a *auditor) open(line int64, why string) {
	a.report.UnprovenLines++
	if len(a.report.Unproven) < mostListed {
		a.report.Unproven = append(a.report.Unproven, Unproven{line, why})
	}
}

// unproven is like open, with a format. It always returns nil, so that callers can use it like
// violation.
func (a *auditor) unproven(line int64, format string, args ...any) error {
	a.open(line, fmt.Sprintf(format, args...))
	return nil
}

// margin updates the margin of a clock. left is how much later than required the request began.
func (a *auditor) margin(c frontier.Clock, r *request, left time.Duration) {
	m := a.margins[c]
	if m == nil {
		m = &Margin{Clock: c, Least: left.Seconds(), Line: r.line}
		a.margins[c] = m
	}
	if m.counted != r.line { // count a line once, even if it names the same pause as the rules
		m.Requests, m.counted = m.Requests+1, r.line
	}
	if s := left.Seconds(); s < m.Least {
		m.Least, m.Line = s, r.line
	}
}
