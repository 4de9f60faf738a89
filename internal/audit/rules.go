package audit

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

// rulesTarget may be requested from every site, even if the rules forbid it (RFC 9309, section
// 2.2.2).
const rulesTarget = "/robots.txt"

// rules checks a request against the robots.txt that was in force when the request began. The
// caller must first call copies.at with that time.
func (a *auditor) rules(s *site, r *request) error {
	if r.robots && (r.site == r.via || r.url.Target() == rulesTarget) {
		return nil
	}
	a.checked(NoRobots)
	c := s.copies
	if !r.robots { // a redirect of another site's robots.txt names no copy
		if r.rules.IsZero() {
			return a.ruled(NoRobots, r, "no robots.txt was in force, by its line", "RFC 9309, section 2.3.1")
		}
		if done, err := a.named(c, r); done || err != nil {
			return err
		}
	}
	if c.now == nil {
		return a.ruled(NoRobots, r, "no robots.txt of its site had been fetched by then", "RFC 9309, section 2.3.1")
	}
	switch {
	case s.origin == unasked && c.now.Copy != nil:
		a.open(r.line, "its robots.txt was not requested: its site is on the opt-out list, or it redirects to such a site")
	case s.origin == unasked, s.origin == unknown:
		if err := a.ruled(NoRobots, r, fmt.Sprintf("went by a robots.txt of %s that no line of the log has fetched", stamp(c.now.Fetched)), "RFC 9309, section 2.3.1"); err != nil {
			return err
		}
	case s.origin == byKill:
		a.open(r.line, fmt.Sprintf("the line of the robots.txt of %s, by which it went, is not in the log", stamp(c.now.Fetched)))
	}
	policy := &a.runs.all[r.run].at(r.site).policy
	g := c.rules(policy, r.start)
	a.checked(StaleRobots)
	if end := c.now.Expires(*policy); c.used && r.start.After(end.Add(moment)) {
		if err := a.ruled(StaleRobots, r, fmt.Sprintf("used a robots.txt of %s, which had expired at %s", stamp(c.now.Fetched), stamp(end)), "RFC 9309, section 2.4"); err != nil {
			return err
		}
	}
	a.checked(Disallowed)
	switch v := g.Match(r.url.Target()); {
	case v.Access == robots.Defer:
		return a.ruled(NoRobots, r, fmt.Sprintf("robots.txt was unreachable at %s, and no copy was in force", stamp(c.now.Fetched)), "RFC 9309, section 2.3.1.4")
	case !v.Allowed() && v.Rule.Line > 0:
		return a.ruled(Disallowed, r, fmt.Sprintf("is forbidden by the robots.txt of %s", stamp(c.now.Fetched)), fmt.Sprintf("line %d: Disallow: %s", v.Rule.Line, clip(v.Rule.Pattern)))
	case !v.Allowed():
		return a.ruled(Disallowed, r, fmt.Sprintf("is forbidden by the robots.txt of %s", stamp(c.now.Fetched)), v.Reason.String())
	}
	return a.hours(r, g)
}

// named compares the copy that a line names with the copy in force. done is true if nothing
// more can be checked.
func (a *auditor) named(c *copies, r *request) (done bool, err error) {
	if c.named(r.rules) {
		return false, nil
	}
	if r.rules.After(r.start) {
		return true, a.ruled(NoRobots, r, fmt.Sprintf("its robots.txt came only at %s", stamp(r.rules)), "RFC 9309, section 2.3.1")
	}
	stored, err := c.has(r.rules)
	switch {
	case err != nil:
		return true, err
	case stored:
		return false, a.ruled(StaleRobots, r, fmt.Sprintf("went by the robots.txt of %s, when that of %s was in force", stamp(r.rules), stamp(c.now.Fetched)), "the last copy counts")
	case a.runs.lostBy(r.run, r.rules):
		return true, a.unproven(r.line, "a kill has taken the robots.txt of %s", stamp(r.rules))
	}
	return true, a.ruled(NoRobots, r, fmt.Sprintf("no robots.txt of %s is stored, by which it went", stamp(r.rules)), "RFC 9309, section 2.3.1")
}

// hours checks the request against the visit times of a robots.txt. A request for the
// robots.txt itself is not checked.
func (a *auditor) hours(r *request, g *robots.Group) error {
	windows, ok := g.VisitTime()
	if !ok {
		return nil
	}
	a.checked(VisitTime)
	for _, t := range []time.Time{r.start, r.start.Add(-moment)} {
		if !g.NextVisit(t).After(t) {
			return nil
		}
	}
	rule := ""
	for _, w := range windows {
		rule += fmt.Sprintf(" %02d:%02d-%02d:%02d", w.Start/60, w.Start%60, w.End/60, w.End%60)
	}
	return a.ruled(VisitTime, r, "began at "+r.start.UTC().Format(time.TimeOnly)+" UTC", "robots.txt: Visit-time:"+rule)
}

func (a *auditor) ruled(code Code, r *request, text, rule string) error {
	return a.violation(&Violation{Code: code, Lines: []int64{r.line}, URL: r.url.String(), Time: r.start, Text: text, Rule: rule})
}

// stamp returns a time as the log writes it.
func stamp(t time.Time) string { return t.UTC().Format(crawllog.MicroForm) }
