package audit

import (
	"container/heap"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// A Visitor is a crawler that somebody else runs, as the logs of servers know it, and
// what was asked of it.
type Visitor struct {
	Agent  string                 // product token: of the lines those count whose User-Agent has it as a word; "" is all of them
	Robots *robots.File           // the robots.txt that was in force; nil: what it forbids is not judged
	Delay  time.Duration          // that was asked between two requests; 0: that of Robots
	Each   func(*Violation) error // called with each violation that is told: of those that asked for no robots.txt the first of a host; may be nil
}

// A Visited is what an audit of a Visitor has found. The names of its fields in JSON are
// never changed.
type Visited struct {
	Log      string    `json:"log"`
	Agent    string    `json:"agent"`
	Lines    int64     `json:"lines"`
	Requests int64     `json:"requests"` // of the visitor
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`

	Names     []Count `json:"names"`     // User-Agents of the visitor, the most frequent first
	Addresses []Count `json:"addresses"` // that it came from
	Hosts     []Host  `json:"hosts"`

	Checks     []Check     `json:"checks"`
	Violated   int64       `json:"violations"`
	Violations []Violation `json:"list"`    // the first of them
	Remarks    []string    `json:"remarks"` // what the log does not prove
}

// Clean reports whether nothing was violated.
func (v *Visited) Clean() bool { return v.Violated == 0 }

// A Count is how often something stands in a log.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// A Host is how one host was asked.
type Host struct {
	Name        string    `json:"name"` // empty where the log names none
	Requests    int64     `json:"requests"`
	Robots      int64     `json:"robots_requests"`
	FirstRobots time.Time `json:"first_robots,omitzero"`
	Unannounced int64     `json:"before_robots"` // requests before the first for robots.txt
	Second      int64     `json:"busiest_second"`
	Minute      int64     `json:"busiest_minute"`
	PerSecond   float64   `json:"requests_per_second"`          // from the first to the last
	AtOnce      int       `json:"addresses_at_once"`            // the most that asked within one second
	Rests       int64     `json:"rests"`                        // answers 429 and 503
	Soonest     *float64  `json:"soonest_after_rest,omitempty"` // seconds from such an answer to the next request
	Status      []Count   `json:"status"`
}

// Bounds of what is kept of a log, whoever wrote it.
const (
	mostNames  = 1000            // names, addresses, hosts: the rest counts as one
	mostTold   = 20              // of them in a Visited
	disorder   = 5 * time.Minute // by so much later lines may be of earlier requests
	mostWaits  = 100_000         // lines that wait to be put in order
	freshFor   = 24 * time.Hour  // RFC 9309, section 2.4
	others     = "(others)"
	resolution = time.Second      // of an access log
	fine       = time.Millisecond // of a crawl.log
)

// Access audits by the access log of a server, in the combined format of nginx or Apache,
// with the host before it or without. Name is that of the log, for errors: a *LineError
// where it has a line that is none.
func (v Visitor) Access(name string, log io.Reader) (*Visited, error) {
	return v.audit(name, log, parseAccess)
}

// Heritrix audits by a crawl.log of Heritrix, as Access does.
func (v Visitor) Heritrix(name string, log io.Reader) (*Visited, error) {
	return v.audit(name, log, parseHeritrix)
}

func (v Visitor) audit(name string, log io.Reader, parse func(string) (*visit, error)) (*Visited, error) {
	w := &watch{
		Visitor: v, hosts: map[string]*visited{}, names: counts{}, addrs: counts{},
		report: &Visited{Log: name, Agent: v.Agent, Violations: []Violation{}, Remarks: []string{}},
	}
	for _, c := range Codes() {
		if rule := visitorRules[c.Code]; rule != "" {
			w.report.Checks = append(w.report.Checks, Check{Code: c.Code, Rule: rule})
		}
	}
	if v.Robots != nil {
		w.group = v.Robots.Group(v.Agent)
		w.gap = gapOf(w.group)
	}
	if v.Delay > 0 {
		w.gap = gap{v.Delay, frontier.OwnClock}
	}
	n, err := crawllog.Texts(log, func(n int64, text []byte, torn bool) error {
		x, err := parse(string(text))
		if err != nil && torn {
			w.remark("the last line has no end: it is left out")
			return nil
		}
		w.report.Lines = n
		if err != nil || x == nil {
			return err
		}
		x.line = n
		return w.take(x)
	})
	if err := lineError(name, n, err); err != nil {
		return nil, err
	}
	for w.waiting.Len() > 0 {
		if err := w.judge(heap.Pop(&w.waiting).(*visit)); err != nil {
			return nil, err
		}
	}
	w.finish()
	return w.report, nil
}

// The rules that others are held to.
var visitorRules = map[Code]string{
	NoRobots:    "robots.txt was asked for before anything else of a host",
	StaleRobots: "and again after 24 hours",
	Disallowed:  "robots.txt allowed each URL",
	TooEarly:    "each pause was as long as was asked",
	Concurrent:  "one request at a time",
}

// A watch follows one visitor through a log.
type watch struct {
	Visitor
	group   *robots.Group // nil: its rules are not known
	gap     gap
	hosts   map[string]*visited
	names   counts
	addrs   counts
	waiting visits
	newest  time.Time
	began   time.Time // of the log, whoever asked
	exact   bool
	report  *Visited
}

// take puts a line in order, where it is one of the visitor.
func (w *watch) take(x *visit) error {
	if w.began.IsZero() || x.at.Before(w.began) {
		w.began = x.at
	}
	if !named(x.agent, w.Agent) && !x.exact() || x.target == "" {
		return nil
	}
	w.exact = x.exact()
	heap.Push(&w.waiting, x)
	if x.at.After(w.newest) {
		w.newest = x.at
	}
	for w.waiting.Len() > 0 && (w.waiting.Len() > mostWaits || w.waiting[0].time().Before(w.newest.Add(-disorder))) {
		if err := w.judge(heap.Pop(&w.waiting).(*visit)); err != nil {
			return err
		}
	}
	return nil
}

// named reports whether a User-Agent has a product token as a word of its own.
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

// isToken reports whether c may stand in a product token (RFC 9309, section 2.2.1).
func isToken(c byte) bool { return 'a' <= c && c <= 'z' || c == '_' || c == '-' }

// visits are lines that wait, the earliest first.
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

// time is the one by which visits are ordered.
func (v *visit) time() time.Time {
	if v.exact() {
		return v.start
	}
	return v.at
}

// counts are how often names stand in a log. Behind mostNames the rest is one.
type counts map[string]int64

func (c counts) add(name string) {
	if _, known := c[name]; !known && len(c) >= mostNames {
		name = others
	}
	c[name]++
}

// list has the most frequent first.
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

func (w *watch) violation(v *Violation) error {
	w.count(v.Code)
	if len(w.report.Violations) < mostListed {
		w.report.Violations = append(w.report.Violations, *v)
	}
	if w.Each == nil {
		return nil
	}
	return w.Each(v)
}
