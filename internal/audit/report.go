package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Report is the result of an audit. The names of its fields in JSON never change.
type Report struct {
	Log        string    `json:"log"`        // name of the file
	LogBytes   int64     `json:"log_bytes"`  // length of the log
	LogSHA256  string    `json:"log_sha256"` // of the log
	LogLines   int64     `json:"log_lines"`
	First      time.Time `json:"first,omitzero"` // start of the first request
	Last       time.Time `json:"last,omitzero"`  // end of the last request
	Runs       int       `json:"runs"`
	Killed     int       `json:"killed"` // runs that did not end by themselves
	Token      string    `json:"token"`
	Contact    string    `json:"contact"`
	UserAgents []string  `json:"user_agents_archived,omitempty"` // in the WARC files

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // requests for robots.txt
	UseRequests    int64 `json:"use_requests"`    // requests for tdmrep.json and licenses
	Refused        int64 `json:"refused"`         // URLs that were not requested since robots.txt forbids them
	Bytes          int64 `json:"bytes"`           // of answers, as they came over the wire
	Sites          int64 `json:"sites"`
	Redirected     int   `json:"robots_redirects"` // the most redirects that were followed for one robots.txt

	Copies       int64  `json:"robots_copies"`
	CopiesSHA256 string `json:"robots_copies_sha256"` // see docs/reference/audit.md

	Checks   []Check    `json:"checks"`
	Margins  []Margin   `json:"margins"`
	Unproven []Unproven `json:"unproven"` // the first mostListed

	UnprovenLines int64       `json:"unproven_lines"`
	Violated      int64       `json:"violations"`
	Violations    []Violation `json:"list"` // the first mostListed

	Server *Beside `json:"server,omitempty"` // comparison with the log of a server, if there was one

	// Remarks are sentences about what the log does not prove, apart from single lines.
	Remarks []string `json:"remarks"`
}

// A Margin is about the requests that had to wait for one clock. It says how close they came to
// being too early.
type Margin struct {
	Clock    frontier.Clock `json:"clock"`
	Requests int64          `json:"requests"`             // requests that had to wait for the clock
	Least    float64        `json:"least_margin_seconds"` // seconds that the closest request waited beyond its pause
	Line     int64          `json:"line"`                 // line of the closest request

	counted int64 // the last line that was counted
}

// An Unproven is a line that proves nothing about its request.
type Unproven struct {
	Line int64  `json:"line"`
	Why  string `json:"reason"`
}

// Clean reports whether nothing was violated.
func (r *Report) Clean() bool { return r.Violated == 0 }

// mostListed is how many violations a report lists at most, and how many lines that prove
// nothing. All are counted.
const mostListed = 1000

// checked counts one check of a rule.
func (a *auditor) checked(code Code) { a.check(code).Checked++ }

// checkedAsk is like checked, for pause rules that apply to some requests only. TooEarly
// applies to all, and is counted with the requests.
func (a *auditor) checkedAsk(code Code) {
	if code == RetryAfter || code == BackOff {
		a.checked(code)
	}
}

func (a *auditor) check(code Code) *Check {
	i := slices.IndexFunc(a.report.Checks, func(c Check) bool { return c.Code == code })
	return &a.report.Checks[i]
}

// violation counts and reports a violation.
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

// open notes a line about which something is unknown.
func (a *auditor) open(line int64, why string) {
	a.report.UnprovenLines++
	if len(a.report.Unproven) < mostListed {
		a.report.Unproven = append(a.report.Unproven, Unproven{line, why})
	}
}

// unproven is like open, with a format. It returns nil, so that it can be called in the
// same places as violation.
func (a *auditor) unproven(line int64, format string, args ...any) error {
	a.open(line, fmt.Sprintf(format, args...))
	return nil
}

// margin notes how much later than required a request began.
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
