package audit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A pausing is the time from the end of the last request to a site until the next request to it
// begins. any is false if there was no earlier request.
type pausing struct {
	any   bool
	pause time.Duration
}

// A miss is a required pause that a request has not kept.
type miss struct {
	ask
	kept time.Duration
	last *request
}

func (m *miss) by() time.Duration { return m.pause - m.kept }

// misses are the pauses that one request has not kept. For each rule it has only the pause
// that was too short by the most time.
type misses []*miss

func (all *misses) add(m *miss) {
	if m == nil || m.by() <= tick {
		return
	}
	i := slices.IndexFunc(*all, func(o *miss) bool { return o.code == m.code })
	switch {
	case i < 0:
		*all = append(*all, m)
	case m.by() > (*all)[i].by():
		(*all)[i] = m
	}
}

// pauses checks whether a request has waited long enough. It checks the pauses that follow from
// the log and the rules, and the pause that the line of the request names itself.
func (a *auditor) pauses(h *host, s *site, r *request) (k pausing, err error) {
	var missed misses
	for _, other := range h.sites {
		if other.last == nil || other != s && !(r.public && other.last.public) {
			continue
		}
		since, back := a.since(other.last, r)
		a.checked(Concurrent)
		if !back && r.start.Before(other.last.end.Add(-tick)) {
			return pausing{true, r.start.Sub(since)}, a.concurrent(r, other.last)
		}
		pause := r.start.Sub(since)
		if other == s {
			k = pausing{true, pause}
		}
		for _, w := range a.asksOf(s, other, r) {
			m := &miss{w, pause, other.last}
			missed.add(m)
			clock := w.clock
			if other != s {
				clock = frontier.HostClock
			}
			if m.by() <= 0 || !a.lost(m, r) {
				a.margin(clock, r, -m.by())
			}
		}
	}
	missed.add(a.annotated(s, r))
	if k.any {
		a.checked(TooEarly)
	}
	for _, m := range missed {
		if a.lost(m, r) {
			return k, a.unproven(r.line, "a kill has taken what was known of line %d, and the pause after it", m.last.line)
		}
		if err := a.early(r, m); err != nil {
			return k, err
		}
	}
	return k, nil
}

// lost reports whether a kill may be the cause of a missed pause, because the crawl lost the
// reason for the pause.
func (a *auditor) lost(m *miss, r *request) bool {
	return m.last != nil && a.runs.killedBetween(m.last.run, r.run, m.last.end)
}

// asksOf returns the pauses that r had to keep after the last request to a site. The site is
// the second argument, which is the site of r itself or another site of the same host.
func (a *auditor) asksOf(own, of *site, r *request) []ask {
	asks := of.asks
	for i := range asks {
		a.checkedAsk(asks[i].code)
	}
	// If a robots.txt cannot be fetched, a pause is required before the next try. That pause
	// does not apply to other sites, nor to requests for the robots.txt of another site.
	if (own != of || r.robots && r.via != r.site) && len(asks) > 0 && !asks[len(asks)-1].forOthers {
		asks = asks[:len(asks)-1]
	}
	if now := max(a.runs.all[r.run].at(r.site).delay, frontier.PublicFloor); own != of && of.last.run < r.run {
		asks = slices.Clone(asks)
		for i := range asks { // after a request to another site, the delay of this run applies if it is shorter
			if asks[i].clock == frontier.OwnClock {
				asks[i].pause = min(asks[i].pause, now)
			}
		}
	}
	if own != of || own.copies.now == nil || !own.copies.now.Fetched.After(own.last.end.Add(tick)) && !(own.last.robots && redirected(own.last)) {
		return asks
	}
	// The copy in force may have come after the last request to the site, from the target of a
	// redirect to another site. The pause that the copy requires applies, too.
	g := own.copies.rules(&a.runs.all[r.run].at(r.site).policy, r.start)
	if asked := gapOf(g); asked.clock != frontier.NoClock && !r.robots {
		asks = append(asks[:len(asks):len(asks)], ask{asked.pause, asked.clock, TooEarly, own.copies.pauseLine(asked), true})
	}
	return asks
}

// codeOf returns the code of the violation if a pause of this clock is too short.
func codeOf(c frontier.Clock) Code {
	switch c {
	case frontier.RetryAfterClock:
		return RetryAfter
	case frontier.BackOffClock, frontier.FailuresClock, frontier.RobotsClock:
		return BackOff
	case frontier.VisitTimeClock:
		return VisitTime
	}
	return TooEarly
}

// annotated checks the pause that the line itself names as required. It returns nil if the line
// names none.
func (a *auditor) annotated(s *site, r *request) (m *miss) {
	if r.clock == frontier.NoClock {
		return nil
	}
	since, last := r.since, (*request)(nil)
	if since.IsZero() {
		if s.last == nil || s.last.run != r.run {
			a.open(r.line, "the answer that its pause is counted from is not in the log")
			return nil
		}
		since, last = s.last.end, s.last
	}
	code := codeOf(r.clock)
	a.checkedAsk(code)
	m = &miss{ask{r.asked, r.clock, code, "", true}, r.start.Sub(since), last}
	if a.margin(r.clock, r, m.kept-r.asked); m.by() > tick {
		m.rule = fmt.Sprintf("%s, as the line says: %v", r.clock, r.asked)
	}
	return m
}

func (a *auditor) early(r *request, m *miss) error {
	v := &Violation{
		Code: m.code, Lines: []int64{r.line}, URL: r.url.String(), Time: r.start, Rule: m.ruleOf(m.last),
		Pause: &Pause{Clock: m.clock, Asked: m.pause.Seconds(), Kept: m.kept.Seconds()},
	}
	since := "what its pause is counted from"
	if m.last != nil {
		v.Lines = append(v.Lines, m.last.line)
		since = "the end of line " + strconv.FormatInt(m.last.line, 10) + ", " + m.last.url.String()
	}
	kept, asked := roundedApart(m.kept, m.pause)
	v.Text = fmt.Sprintf("began %s after %s; required are %s", kept, since, asked)
	return a.violation(v)
}

func (a *auditor) concurrent(r, last *request) error {
	return a.violation(&Violation{
		Code: Concurrent, Lines: []int64{r.line, last.line}, URL: r.url.String(), Time: r.start,
		Rule: "one request at a time",
		Text: fmt.Sprintf("began %s before the end of line %d, %s", rounded(last.end.Sub(r.start)), last.line, last.url),
	})
}

// roundedApart returns two different lengths of time as text. It rounds them as rounded does,
// but adds digits if the two texts would be the same.
func roundedApart(a, b time.Duration) (string, string) {
	if rounded(a) != rounded(b) {
		return rounded(a), rounded(b)
	}
	return a.String(), b.String()
}

// rounded returns a length of time as text, rounded to the millisecond. A length below one
// millisecond is not rounded.
func rounded(d time.Duration) string {
	if d.Abs() >= 10*time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}
