package audit

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

// A Visitor is the crawler of another operator, whose requests are in the log of a server. Its
// fields say which lines are its own, and which rules they are checked against.
type Visitor struct {
	Agent  string        // name of the crawler; lines count if their User-Agent has it as a word; "": all lines count
	Host   string        // lines count if they name this host or no host; "": all lines count
	Robots *robots.File  // the robots.txt of Host that was in force; it is not checked if Robots is nil or Host is empty
	Token  string        // product token for which rules of Robots apply; "": Agent
	Delay  time.Duration // the required pause between two requests to a host; 0: the pause in Robots
}

// A Visited is the result of an audit of a Visitor. The names of its fields in JSON never
// change.
type Visited struct {
	Log      string    `json:"log"`
	Agent    string    `json:"agent"`
	Host     string    `json:"host,omitempty"` // copied from Visitor.Host
	Lines    int64     `json:"lines"`
	Unread   int64     `json:"unreadable_lines"` // number of lines in another form; Lines includes them
	Requests int64     `json:"requests"`         // number of requests of the visitor
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`

	Names     []Count `json:"names"`     // User-Agents of the visitor, the most frequent first
	Addresses []Count `json:"addresses"` // IP addresses of the visitor, the most frequent first
	Hosts     []Host  `json:"hosts"`

	Checks     []Check     `json:"checks"`
	Violated   int64       `json:"violations"`
	Violations []Violation `json:"list"`    // violations, at most mostListed
	Remarks    []string    `json:"remarks"` // sentences about facts that the log does not prove
}

// Clean reports whether there is no violation.
func (v *Visited) Clean() bool { return v.Violated == 0 }

// A Count is a name and how often it occurs in a log.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// A Host has the numbers of the requests to one host.
type Host struct {
	Name        string    `json:"name"` // host name; empty: the lines name no host
	Requests    int64     `json:"requests"`
	Robots      int64     `json:"robots_requests"`
	FirstRobots time.Time `json:"first_robots,omitzero"`
	Unannounced int64     `json:"before_robots"` // number of requests before the first request for robots.txt
	Second      int64     `json:"busiest_second"`
	Minute      int64     `json:"busiest_minute"`
	PerSecond   float64   `json:"requests_per_second"`                  // average rate between the first and the last request
	AtOnce      int       `json:"addresses_at_once"`                    // largest number of addresses within one second
	Rests       int64     `json:"rests"`                                // number of answers with status 429 or 503
	Soonest     *float64  `json:"soonest_after_rest_seconds,omitempty"` // shortest time from such an answer to the next request, in seconds
	Status      []Count   `json:"status"`
}

// The limits of the memory for one log.
const (
	mostNames  = 1000            // number of different names, addresses and hosts; all others are counted as one
	mostTold   = 20              // number of names and addresses that a Visited lists
	disorder   = 5 * time.Minute // by how much a line may be out of order, because a request may be logged after requests that began later
	mostWaits  = 100_000         // number of lines that wait to be sorted
	freshFor   = 24 * time.Hour  // how long a robots.txt may be used (RFC 9309, section 2.4)
	others     = "(others)"
	resolution = time.Second      // precision of the times in an access log
	fine       = time.Millisecond // precision of the times in a crawl.log
)

// Access audits the access log of a server, in the combined format of nginx or Apache, with or
// without the host at the beginning. Lines in another form are counted and ignored. name is
// the name of the log, for messages. The error is a *LineError if all lines are in another
// form, or an error of reading the log.
func (v Visitor) Access(name string, log io.Reader) (*Visited, error) {
	return v.audit(name, log, parseAccess)
}

// Heritrix audits a crawl.log of Heritrix in the same way as Access.
func (v Visitor) Heritrix(name string, log io.Reader) (*Visited, error) {
	return v.audit(name, log, parseHeritrix)
}

func (v Visitor) audit(name string, log io.Reader, parse func(string) (*visit, error)) (*Visited, error) {
	w := &watch{
		Visitor: v, hosts: map[string]*visited{}, names: counts{}, addrs: counts{}, others: counts{}, elsewhere: counts{},
		report: &Visited{Log: name, Agent: v.Agent, Host: v.Host, Violations: []Violation{}, Remarks: []string{}},
	}
	for _, c := range Codes() {
		if rule := visitorRules[c.Code]; rule != "" {
			w.report.Checks = append(w.report.Checks, Check{Code: c.Code, Rule: rule})
		}
	}
	if v.Robots != nil && v.Host != "" {
		w.group = v.Robots.Group(cmp.Or(v.Token, v.Agent))
		w.gap = gapOf(w.group)
	}
	if v.Delay > 0 {
		w.gap = gap{v.Delay, frontier.OwnClock}
	}
	read := int64(0)
	other := func(n int64, why error) {
		if w.report.Lines, w.report.Unread = n, w.report.Unread+1; w.report.Unread == 1 {
			w.unread = &LineError{File: name, Line: n, Err: why}
		}
	}
	err := crawllog.SiftTexts(log, func(n int64, text []byte, torn bool) error {
		x, err := parse(string(text))
		switch {
		case err != nil && torn:
			w.remark("the last line has no end: it is left out")
			return nil
		case err != nil:
			other(n, err)
			return nil
		}
		read, w.report.Lines = read+1, n
		if x != nil {
			x.line = n
			w.take(x)
		}
		return nil
	}, func(n int64, why error) error { other(n, why); return nil })
	switch {
	case err != nil:
		return nil, err
	case read == 0 && w.unread != nil:
		return nil, w.unread
	}
	for w.waiting.Len() > 0 {
		w.judge(heap.Pop(&w.waiting).(*visit))
	}
	w.finish()
	return w.report, nil
}

// visitorRules has the rules that are checked for other crawlers, in words.
var visitorRules = map[Code]string{
	NoRobots:    "robots.txt was requested before anything else of a host",
	StaleRobots: "and again after 24 hours",
	Disallowed:  "robots.txt allowed each URL",
	TooEarly:    "each pause was as long as required",
	Concurrent:  "one request at a time",
}

// A watch follows one visitor through a log.
type watch struct {
	Visitor
	group     *robots.Group // rules of Robots for the visitor; nil: not known
	gap       gap
	hosts     map[string]*visited
	names     counts
	addrs     counts
	others    counts     // User-Agents of the lines that do not count
	elsewhere counts     // hosts other than Host in the lines
	unread    *LineError // the first line in another form; nil: no such line was read
	waiting   visits
	newest    time.Time
	began     time.Time // the earliest time in the log
	exact     bool
	report    *Visited
}

// take adds a line to the lines that wait to be sorted, if it is a request of the visitor. It
// then judges the lines that need not wait any longer.
func (w *watch) take(x *visit) {
	if w.began.IsZero() || x.at.Before(w.began) {
		w.began = x.at
	}
	if w.Host != "" {
		switch {
		case x.host == "":
			x.host = w.Host
		case x.hostname() != w.Host:
			w.elsewhere.add(x.hostname())
			return
		}
	}
	if !named(x.agent, w.Agent) && !x.exact() || x.target == "" {
		w.others.add(x.agent)
		return
	}
	w.exact = x.exact()
	heap.Push(&w.waiting, x)
	if x.at.After(w.newest) {
		w.newest = x.at
	}
	for w.waiting.Len() > 0 && (w.waiting.Len() > mostWaits || w.waiting[0].time().Before(w.newest.Add(-disorder))) {
		w.judge(heap.Pop(&w.waiting).(*visit))
	}
}

// named reports whether a User-Agent contains a product token as a whole word.
func named(agent, token string) bool {
	agent, token = strings.ToLower(agent), strings.ToLower(token)
	for from := 0; ; {
		i := strings.Index(agent[from:], token)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(token)
		if (start == 0 || !isToken(agent[start-1])) && (end == len(agent) || !isToken(agent[end])) {
			return true
		}
		from = start + 1
	}
}

// isToken reports whether a product token may contain c (RFC 9309, section 2.2.1).
func isToken(c byte) bool { return 'a' <= c && c <= 'z' || c == '_' || c == '-' }

// visits is a heap of the requests in a log that wait to be judged, the earliest first.
type visits []*visit

func (v visits) Len() int { return len(v) }
func (v visits) Less(i, j int) bool {
	if d := v[i].time().Compare(v[j].time()); d != 0 {
		return d < 0
	}
	return v[i].line < v[j].line
}
func (v visits) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)   { *v = append(*v, x.(*visit)) }
func (v *visits) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// time returns the time by which visits are sorted: the beginning if the log has it.
func (v *visit) time() time.Time {
	if v.exact() {
		return v.start
	}
	return v.at
}

// counts says how often names occur in a log. After mostNames names, all others count as one.
type counts map[string]int64

func (c counts) add(name string) {
	if _, known := c[name]; !known && len(c) >= mostNames {
		name = others
	}
	c[name]++
}

// list returns the counts, the most frequent first.
func (c counts) list() []Count {
	all := []Count{}
	for _, name := range slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		if c[a] != c[b] {
			return int(min(1, max(-1, c[b]-c[a])))
		}
		return strings.Compare(a, b)
	}) {
		all = append(all, Count{name, c[name]})
	}
	return all[:min(len(all), mostTold)]
}

// most returns the n most frequent names.
func (c counts) most(n int) string {
	var all []string
	for i, k := range c.list() {
		if i < n {
			all = append(all, fmt.Sprintf("%q (%d)", clip(k.Name), k.Count))
		}
	}
	return strings.Join(all, ", ")
}

func (w *watch) remark(format string, args ...any) {
	w.report.Remarks = append(w.report.Remarks, fmt.Sprintf(format, args...))
}

func (w *watch) check(code Code) *Check {
	i := slices.IndexFunc(w.report.Checks, func(c Check) bool { return c.Code == code })
	return &w.report.Checks[i]
}

func (w *watch) count(code Code) {
	w.check(code).Violations++
	w.report.Violated++
}

func (w *watch) violation(v *Violation) {
	w.count(v.Code)
	if len(w.report.Violations) < mostListed {
		w.report.Violations = append(w.report.Violations, *v)
	}
}
