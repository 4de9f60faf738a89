package audit

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// tick is by how much a pause may seem shorter in the log than it was: the log cuts the times
// of both ends to microseconds, and rounds the length of the pause.
const tick = 3 * time.Microsecond

// moment is the longest time from the decision to make a request until the request begins. The
// name of the host is resolved in that time.
const moment = time.Minute

// longest is the longest Retry-After that is applied. Longer ones count as this.
const longest = 365 * 24 * time.Hour

// leastRest is the least pause after a site asked for a rest or did not answer. leastAdaptive
// and mostAdaptive are the bounds of the pause at a slow site.
const (
	leastRest    = 5 * time.Second
	mostAdaptive = time.Minute
)

// A host has the facts about one host name during an audit. Its sites differ by scheme and
// port.
type host struct {
	name  string
	sites []*site // sites in the order of their first requests
}

// A site has the facts about one site while its requests are audited.
type site struct {
	name   frontier.Site
	copies *copies
	last   *request // of the requests so far, the one that ended last; nil before the first
	asks   []ask    // pauses that are required before the next request

	arrivals []arrival // the last arrivals, at most mostArrivals
	settled  time.Time // fetch time of the last copy that settle has checked
	body     string    // digest of the last robots.txt that the site has served
	origin   origin    // where the copy in force comes from
}

// An ask is a pause that is required after the end of a site's last answer.
type ask struct {
	pause     time.Duration
	clock     frontier.Clock
	code      Code
	rule      string // the text of the rule; if it is empty, ruleOf makes the text
	forOthers bool   // the pause also applies to requests for the robots.txt of another site, and to other sites of the host
}

func (a *auditor) newHost(name string) *host {
	return &host{name: name}
}

// siteOf returns the site of a host with this name, and creates it for the first request.
func (a *auditor) siteOf(h *host, name frontier.Site) *site {
	for _, s := range h.sites {
		if s.name == name {
			return s
		}
	}
	s := &site{name: name, copies: newCopies(name, a.Robots)}
	h.sites = append(h.sites, s)
	return s
}

// endHost checks what can be checked only after the last request of a host.
func (a *auditor) endHost(h *host) error {
	slices.SortFunc(h.sites, func(x, y *site) int { return cmp.Compare(x.name, y.name) })
	for _, s := range h.sites {
		err := a.settleAll(s)
		s.copies.close()
		if err != nil {
			return err
		}
		if s.last == nil {
			continue
		}
		a.report.Sites++
		n, err := sum(a.copiesSum, s.name, a.Robots(s.name))
		if err != nil {
			return err
		}
		a.report.Copies += n
		if a.Copy != nil && a.Site == h.name {
			if err := a.tellCopies(s.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// request checks one request to a host.
func (a *auditor) request(h *host, r *request) error {
	s := a.siteOf(h, r.site)
	a.count(r)
	if err := s.copies.at(r.start); err != nil {
		return err
	}
	by := r.start.Truncate(time.Millisecond) // cut to the millisecond, because redirects of a robots.txt may follow within one
	if !r.robots {
		by = time.Time{}
	}
	if err := a.settle(s, by); err != nil {
		return err
	}
	if err := a.rules(s, r); err != nil {
		return err
	}
	kept, err := a.pauses(h, s, r)
	if err != nil {
		return err
	}
	if a.Request != nil && a.Site == h.name {
		if err := a.Request(a.row(s, r, kept)); err != nil {
			return err
		}
	}
	s.copies.used = true
	if s.last == nil || r.end.After(s.last.end) || r.run > s.last.run {
		if err := a.passed(s, r); err != nil {
			return err
		}
	}
	return a.trace(s, r)
}

// count adds a request to the numbers of the report.
func (a *auditor) count(r *request) {
	a.report.Requests++
	switch {
	case r.use:
		a.report.UseRequests++
	case r.robots:
		a.report.RobotsRequests++
	}
	a.report.Bytes += max(0, r.size)
	if a.report.First.IsZero() || r.start.Before(a.report.First) {
		a.report.First = r.start
	}
	if r.end.After(a.report.Last) {
		a.report.Last = r.end
	}
}

// passed sets the pauses that are required after the request r.
func (a *auditor) passed(s *site, r *request) error {
	if err := s.copies.at(r.end.Add(tick)); err != nil {
		return err
	}
	run := &a.runs.all[r.run]
	s.last, s.asks = r, s.asks[:0]
	own := run.at(s.name).delay
	if r.public {
		own = max(own, frontier.PublicFloor)
	}
	if own > 0 {
		s.asks = append(s.asks, ask{own, frontier.OwnClock, TooEarly, "", true})
		if adaptive := min(2*r.ttfb, mostAdaptive); adaptive > own {
			s.asks = append(s.asks, ask{adaptive - tick, frontier.AdaptiveClock, TooEarly, "", true})
		}
	}
	if r.rests() {
		s.asks = append(s.asks, ask{leastRest, frontier.BackOffClock, BackOff, "", true})
	}
	if until := r.retryAfter; until.After(r.end) {
		s.asks = append(s.asks, ask{min(until.Sub(r.end), longest) - tick, frontier.RetryAfterClock, RetryAfter, "Retry-After of its answer: " + until.UTC().Format(time.RFC3339), true})
	}
	if s.copies.now == nil {
		return nil
	}
	came := r.robots && s.copies.now.Fetched.Sub(r.end).Abs() <= tick
	if came && redirected(r) {
		return nil // accept this, because the copy was fetched from the target of the redirect within one tick
	}
	g := s.copies.rules(&run.at(s.name).policy, r.end)
	if asked := gapOf(g); asked.clock != frontier.NoClock {
		s.asks = append(s.asks, ask{asked.pause, asked.clock, TooEarly, s.copies.pauseLine(asked), true})
	}
	copy := s.copies.now
	if until := copy.Header.RetryAfter; came && until.After(r.end) {
		wait := min(until.Sub(r.end), longest) - tick
		s.asks = append(s.asks, ask{wait, frontier.RetryAfterClock, RetryAfter, "Retry-After of robots.txt: " + until.UTC().Format(time.RFC3339), true})
	}
	if next := copy.Expires(run.at(s.name).policy); came && next.After(r.end) && g.Match("/").Access == robots.Defer {
		s.asks = append(s.asks, ask{min(next.Sub(r.end), longest) - tick, frontier.RobotsClock, BackOff, "robots.txt cannot be fetched, and must not be fetched again before " + next.UTC().Format(time.RFC3339), false})
	}
	return nil
}

// ruleOf returns the rule, in words, that requires a pause after the request last.
func (w *ask) ruleOf(last *request) string {
	switch {
	case w.rule != "" || last == nil:
		return w.rule
	case w.clock == frontier.OwnClock:
		return fmt.Sprintf("the crawl's own delay: %v", w.pause)
	case w.clock == frontier.AdaptiveClock:
		return fmt.Sprintf("twice the time to the answer before: %v", w.pause+tick)
	}
	return fmt.Sprintf("a rest of %v at least after %s", w.pause, last.answer())
}

// redirected reports whether a request was answered by a redirect.
func redirected(r *request) bool { return r.status/100 == 3 && r.status != http.StatusNotModified }

// since returns when the pause between two requests begins. That is the end of the first of
// them. But if the clock of the machine was set back between the two, it is the beginning of
// the run of the second, and back is true.
func (a *auditor) since(last, r *request) (at time.Time, back bool) {
	if begun := a.runs.all[r.run].begun; r.run > last.run && last.end.After(begun) && !begun.IsZero() {
		return begun, true
	}
	return last.end, false
}
