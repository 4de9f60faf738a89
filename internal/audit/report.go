package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Report is what an audit has found. The names of its fields in JSON are never
// changed.
type Report struct {
	Log        string    `json:"log"`        // the file
	LogBytes   int64     `json:"log_bytes"`  // of it
	LogSHA256  string    `json:"log_sha256"` // of its bytes
	LogLines   int64     `json:"log_lines"`
	First      time.Time `json:"first,omitzero"` // the start of the first request
	Last       time.Time `json:"last,omitzero"`  // the end of the last
	Runs       int       `json:"runs"`
	Killed     int       `json:"killed"` // runs that did not end by themselves
	Token      string    `json:"token"`
	Contact    string    `json:"contact"`
	UserAgents []string  `json:"user_agents,omitempty"` // that WARC files name

	Requests       int64 `json:"requests"`
	RobotsRequests int64 `json:"robots_requests"` // of them for robots.txt
	UseRequests    int64 `json:"use_requests"`    // of them for tdmrep.json and licenses
	Refused        int64 `json:"refused"`         // URLs that were not asked for, as robots.txt forbids it
	Bytes          int64 `json:"bytes"`           // of answers, as they came over the wire
	Sites          int64 `json:"sites"`
	Redirected     int   `json:"robots_redirects"` // the most that were followed for one robots.txt

	Copies       int64  `json:"robots_copies"`
	CopiesSHA256 string `json:"robots_copies_sha256"` // see docs/reference/audit.md

	Checks   []Check    `json:"checks"`
	Margins  []Margin   `json:"margins"`
	Unproven []Unproven `json:"unproven"` // the first of them

	UnprovenLines int64       `json:"unproven_lines"`
	Violated      int64       `json:"violations"`
	Violations    []Violation `json:"list"` // the first of them

	Server *Beside `json:"server,omitempty"` // the log of a server, if there was one

	// What the log does not prove, in words, apart from lines.
	Remarks []string `json:"remarks"`
}

// A Margin says how close a clock was to being undercut.
type Margin struct {
	Clock    frontier.Clock `json:"clock"`
	Requests int64          `json:"requests"` // that had to wait for it
	Least    float64        `json:"least"`    // seconds that the closest one left beyond what was asked
	Line     int64          `json:"line"`     // of that one

	counted int64 // the last line that was
}

// An Unproven is a line of which nothing can be said.
type Unproven struct {
	Line int64  `json:"line"`
	Why  string `json:"why"`
}

// Clean reports whether nothing was violated.
func (r *Report) Clean() bool { return r.Violated == 0 }

// mostListed is how many violations, and lines that prove nothing, a report lists. All
// are counted.
const mostListed = 1000

// checked counts one thing that a rule was held against.
func (a *auditor) checked(code Code) { a.check(code).Checked++ }

// checkedAsk is checked for the rules about pauses that not all requests have; the
// common one is counted by request.
func (a *auditor) checkedAsk(code Code) {
	if code == RetryAfter || code == BackOff {
		a.checked(code)
	}
}

func (a *auditor) check(code Code) *Check {
	i := slices.IndexFunc(a.report.Checks, func(c Check) bool { return c.Code == code })
	return &a.report.Checks[i]
}

// violation counts and tells one.
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

// open notes a line of which something cannot be said.
func (a *auditor) open(line int64, why string) {
	a.report.UnprovenLines++
	if len(a.report.Unproven) < mostListed {
		a.report.Unproven = append(a.report.Unproven, Unproven{line, why})
	}
}

// unproven is open, for where a judgement would stand.
func (a *auditor) unproven(line int64, format string, args ...any) error {
	a.open(line, fmt.Sprintf(format, args...))
	return nil
}

// margin notes how much later than asked a request began.
func (a *auditor) margin(c frontier.Clock, r *request, left time.Duration) {
	m := a.margins[c]
	if m == nil {
		m = &Margin{Clock: c, Least: left.Seconds(), Line: r.line}
		a.margins[c] = m
	}
	if m.counted != r.line { // by its line it may have waited for what the rules say, too
		m.Requests, m.counted = m.Requests+1, r.line
	}
	if s := left.Seconds(); s < m.Least {
		m.Least, m.Line = s, r.line
	}
}
