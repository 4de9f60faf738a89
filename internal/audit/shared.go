package audit

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// atAddress is how many requests may run at the same time at one public address.
const atAddress = 2

// jitter is how much later than decided a request may begin, because the operating system may
// delay it. The pause of the next request counts from the decision, and not from the delayed
// start. A line of crawl.log has the time of the start only. So the pause between two starts at
// an address is known only to this precision. The pause that a line demands (asked:) is checked
// to the microsecond.
const jitter = 50 * time.Millisecond

// A common has the facts about an address or a registrable domain that several sites share. Its
// requests are read in the order of their starts.
type common struct {
	clock frontier.Clock
	last  *request   // for an address, the request that began last; for a domain, the request that ended last
	under []*request // requests that may not have ended yet
}

// shared checks one request to an address or a domain.
func (a *auditor) shared(c *common, r *request) error {
	run := &a.runs.all[r.run]
	most, pause := atAddress, run.ip
	if c.clock == frontier.DomainClock {
		most, pause = 1, run.domain
	}
	last := c.last
	if last != nil && last.run < r.run {
		c.under = c.under[:0]
		before := &a.runs.all[last.run]
		if c.clock == frontier.DomainClock {
			pause = min(pause, before.domain)
		} else {
			pause = min(pause, before.ip)
		}
	}
	under := c.under[:0]
	for _, o := range c.under {
		if o.end.After(r.start.Add(tick)) {
			under = append(under, o)
		}
	}
	c.under = append(under, r)
	if last == nil || c.clock == frontier.IPClock || r.end.After(last.end) || last.run < r.run {
		c.last = r
	}
	if pause <= 0 {
		return nil
	}
	a.checked(Concurrent)
	if len(c.under) > most {
		v := &Violation{
			Code: Concurrent, URL: r.url.String(), Time: r.start, Rule: fmt.Sprintf("%d at once", most),
			Text: fmt.Sprintf("is one of %d requests under way to %s", len(c.under), a.nameOf(c, r)),
		}
		for i := len(c.under) - 1; i >= 0; i-- {
			v.Lines = append(v.Lines, c.under[i].line)
		}
		return a.violation(v)
	}
	if last == nil {
		return nil
	}
	return a.sharedPause(c, last, r, pause)
}

// sharedPause checks the pause between two requests to an address or a domain.
func (a *auditor) sharedPause(c *common, last, r *request, pause time.Duration) error {
	a.checked(TooEarly)
	from, allowed, since := last.end, tick, "the end"
	if c.clock == frontier.IPClock {
		from, allowed, since = last.start, jitter, "the start"
	}
	if begun := a.runs.all[r.run].begun; last.run < r.run && from.After(begun) {
		return nil // skip this, because the clock was set back
	}
	kept := r.start.Sub(from)
	a.margin(c.clock, r, kept-pause)
	switch {
	case kept >= pause-allowed:
		return nil
	case last.run < r.run && a.runs.killedBetween(last.run, r.run, last.end):
		return a.unproven(r.line, "a kill has taken what was known of line %d, and the pause after it", last.line)
	}
	was, asked := roundedApart(kept, pause)
	return a.violation(&Violation{
		Code: TooEarly, Lines: []int64{r.line, last.line}, URL: r.url.String(), Time: r.start,
		Rule:  fmt.Sprintf("the crawl's own pause of %s: %v", a.nameOf(c, r), pause),
		Text:  fmt.Sprintf("began %s after %s of line %d, %s; required are %s", was, since, last.line, last.url, asked),
		Pause: &Pause{Clock: c.clock, Asked: pause.Seconds(), Kept: kept.Seconds()},
	})
}

func (a *auditor) nameOf(c *common, r *request) string {
	if c.clock == frontier.DomainClock {
		return "the domain " + r.site.Domain()
	}
	return "the address " + r.addr.String()
}
