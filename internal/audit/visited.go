package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A visited has the facts about one host while the visits to it are read.
type visited struct {
	Host
	first, last time.Time
	rules       time.Time // time of the last request for robots.txt; zero: there was none
	status      counts
	rest        *visit // the last answer that asked for a rest; nil: a request has followed it

	second  time.Time // the second that is being counted
	inIt    int64
	inItBy  map[string]bool // addresses of the visitor in this second
	seconds [60]int64       // number of requests in each of the last 60 seconds
	before  *visit          // the visit that ended last; used only if the log has milliseconds

	// The next fields are for access logs: the smallest value that pace has computed so far.
	n     int64 // number of requests to the host
	least float64
	from  *visit // the visit at which pace computed its smallest value
	fromN int64
}

// judge checks one visit.
func (w *watch) judge(x *visit) {
	if _, known := w.hosts[x.host]; !known && len(w.hosts) >= mostNames {
		x.host = others
	}
	h := w.hosts[x.host]
	if h == nil {
		h = &visited{Host: Host{Name: x.host}, first: x.time(), status: counts{}, inItBy: map[string]bool{}}
		w.hosts[x.host] = h
	}
	w.names.add(x.agent)
	w.addrs.add(x.addr)
	w.report.Requests++
	if w.report.First.IsZero() {
		w.report.First = x.time()
	}
	w.report.Last = x.at
	h.last = x.at
	h.Requests++
	h.status.add(strconv.Itoa(x.status))
	h.rate(x)
	if h.rest != nil {
		if after := max(0, x.time().Sub(h.rest.at).Seconds()); h.Soonest == nil || after < *h.Soonest {
			h.Soonest = &after
		}
		h.rest = nil
	}
	if x.status == 429 || x.status == 503 {
		h.Rests++
		h.rest = x
	}
	if x.host == others {
		return
	}
	w.rules(h, x)
	switch {
	case x.exact():
		w.exactPace(h, x)
	case x.host != "" && w.gap.pause > 0: // skip lines without a host, because they may be of several hosts
		w.pace(h, x)
	}
}

// rate counts the requests per second and per minute.
func (h *visited) rate(x *visit) {
	at := x.time().Truncate(time.Second)
	for range min(60, int(at.Sub(h.second)/time.Second)) {
		copy(h.seconds[1:], h.seconds[:59])
		h.seconds[0] = 0
	}
	if at.After(h.second) {
		h.second, h.inIt = at, 0
		clear(h.inItBy)
	}
	h.inIt++
	h.seconds[0]++
	if len(h.inItBy) < mostNames {
		h.inItBy[x.addr] = true
	}
	sum := int64(0)
	for _, n := range h.seconds {
		sum += n
	}
	h.Second, h.Minute, h.AtOnce = max(h.Second, h.inIt), max(h.Minute, sum), max(h.AtOnce, len(h.inItBy))
}

// rules checks whether the visitor had requested robots.txt before, and whether it allows the
// URL.
func (w *watch) rules(h *visited, x *visit) {
	if x.robots() {
		h.Robots++
		if h.FirstRobots.IsZero() {
			h.FirstRobots = x.time()
		}
		h.rules = x.at
		return
	}
	w.check(NoRobots).Checked++
	switch {
	case h.rules.IsZero():
		if h.Unannounced++; h.Unannounced > 1 { // report only the first of these requests
			w.count(NoRobots)
			break
		}
		w.violation(w.of(NoRobots, x, "came before robots.txt was requested, in this log, which begins at "+clock(w.began), "RFC 9309, section 2.2"))
	default:
		w.check(StaleRobots).Checked++
		if age := x.time().Sub(h.rules); age > freshFor+resolution {
			w.violation(w.of(StaleRobots, x, fmt.Sprintf("came %v after the last request for robots.txt", age), "RFC 9309, section 2.4: 24 hours"))
		}
	}
	if w.group == nil {
		return
	}
	w.check(Disallowed).Checked++
	if v := w.group.Match(x.target); !v.Allowed() {
		w.violation(w.of(Disallowed, x, "is forbidden by robots.txt", because(v)))
	}
}

func (w *watch) of(code Code, x *visit, text, rule string) *Violation {
	return &Violation{Code: code, Lines: []int64{x.line}, URL: x.url(), Time: x.time(), Text: text, Rule: rule}
}

// clock returns a time as text, with seconds as in an access log.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// pace checks the pauses of the visitor in a log with times to the second. A pause lasts from
// the end of an answer to the beginning of the next request.
func (w *watch) pace(h *visited, x *visit) {
	w.check(TooEarly).Checked++
	// nginx logs the end of an answer, Apache the beginning of a request. In both cases n
	// pauses take at most the time between the first and the last date, plus one second,
	// because dates are cut to seconds. So if the visitor is too fast, the required time of n
	// pauses exceeds that time, and the difference grows. It is compared with its smallest
	// value so far.
	h.n++
	now := float64(h.n)*w.gap.pause.Seconds() - float64(x.at.Unix())
	if h.from == nil || now < h.least {
		h.least, h.from, h.fromN = now, x, h.n
	}
	const rounding = 1e-6
	if now-h.least < resolution.Seconds()-rounding {
		return
	}
	from, took, requests := h.from, x.at.Sub(h.from.at)+resolution, h.n-h.fromN
	h.least, h.from, h.fromN = now, x, h.n
	text := fmt.Sprintf("came less than %v after line %d; required are %v", took, from.line, w.gap.pause)
	if requests > 1 {
		text = fmt.Sprintf("is the last of %d requests after line %d in less than %v; required are %v for each", requests, from.line, took, w.gap.pause)
	}
	v := w.of(TooEarly, x, text, w.asks())
	v.Lines = append(v.Lines, from.line)
	v.Pause = &Pause{Clock: w.gap.clock, Asked: w.gap.pause.Seconds(), Kept: took.Seconds() / float64(requests)}
	w.violation(v)
}

// exactPace checks the pauses in a log that has the beginning and the end of each request.
func (w *watch) exactPace(h *visited, x *visit) {
	before := h.before
	if before == nil || x.end.After(before.end) {
		h.before = x
	}
	if before == nil {
		return
	}
	w.check(Concurrent).Checked++
	kept := x.start.Sub(before.end)
	if kept <= -fine {
		v := w.of(Concurrent, x, fmt.Sprintf("began %v before the end of line %d", -kept, before.line), "one request at a time")
		v.Lines = append(v.Lines, before.line)
		w.violation(v)
		return
	}
	if w.gap.pause <= 0 {
		return
	}
	w.check(TooEarly).Checked++
	if kept+2*fine > w.gap.pause {
		return
	}
	v := w.of(TooEarly, x, fmt.Sprintf("began %v after the end of line %d; required are %v", kept, before.line, w.gap.pause), w.asks())
	v.Lines = append(v.Lines, before.line)
	v.Pause = &Pause{Clock: w.gap.clock, Asked: w.gap.pause.Seconds(), Kept: kept.Seconds()}
	w.violation(v)
}

// asks returns the rule that requires the pause, in words.
func (w *watch) asks() string {
	if w.Delay > 0 {
		return fmt.Sprintf("a pause of %v, as given", w.Delay)
	}
	return fmt.Sprintf("%s of robots.txt: %v", w.gap.clock, w.gap.pause)
}

// finish sets the fields of the report that need all lines.
func (w *watch) finish() {
	r := w.report
	r.Names, r.Addresses, r.Hosts = w.names.list(), w.addrs.list(), []Host{}
	hosts := slices.SortedFunc(maps.Values(w.hosts), func(a, b *visited) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	for _, h := range hosts[:min(len(hosts), mostTold)] {
		h.PerSecond = float64(h.Requests) / (h.last.Sub(h.first) + resolution).Seconds()
		h.Status = h.status.list()
		r.Hosts = append(r.Hosts, h.Host)
	}
	r.First, r.Last = r.First.UTC(), r.Last.UTC()
	if w.unread != nil {
		w.remark("%d of %d lines are in another form and left out, the first of them line %d: %s", r.Unread, r.Lines, w.unread.Line, w.unread.cause())
	}
	switch {
	case r.Requests > 0:
	case len(w.others) > 0:
		w.remark("no line has %q as a word of its User-Agent; those that the log has most often: %s", w.Agent, w.others.most(5))
	case len(w.elsewhere) > 0:
		w.remark("no line names the host %s; those that it names most often: %s", w.Host, w.elsewhere.most(5))
	}
	rests, unannounced := int64(0), int64(0)
	for _, h := range hosts {
		rests, unannounced = rests+h.Rests, unannounced+h.Unannounced
	}
	if w.exact {
		r.Names, r.Addresses = nil, nil
	} else if r.Requests > 0 {
		w.remark("the log has the time of a request to the second, and not how long it took: how many were under way at once is not known, and a pause is called too short only where it certainly was")
	}
	if w.hosts[others] != nil {
		w.remark("the log names more than %d hosts: those that came later are counted, and not judged", mostNames)
	}
	if unannounced > 0 {
		w.remark("a robots.txt that was requested less than 24 hours before the beginning of the log would count")
	}
	if rests > 0 {
		w.remark("Retry-After is not in the log: whether it was obeyed after 429 and 503 is not known")
	}
	if w.group == nil && r.Requests > 0 {
		w.remark("no robots.txt of a host was given: what it forbids is not judged")
	}
	switch unnamed := w.hosts[""]; {
	case r.Requests == 0:
	case w.gap.pause <= 0:
		w.remark("no pause was given: the pace of the requests is reported, not judged")
	case unnamed != nil:
		w.remark("%d requests name no host, and may be to several: their pauses are not judged", unnamed.Requests)
	}
}
