package audit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"iter"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// copies are the stored robots.txt of one site, of which one is in force at a time. They
// are read one after the other, as time goes on: all of them may be more than fits in
// memory.
type copies struct {
	site  frontier.Site
	open  func(frontier.Site) iter.Seq2[*robots.Snapshot, error]
	next  func() (*robots.Snapshot, error, bool)
	stop  func()
	now   *robots.Snapshot // in force; nil before the first
	later *robots.Snapshot // the next one; nil behind the last
	err   error

	fresh []*robots.Snapshot // that have come into force since settle took them; each once
	seen  time.Time          // when the last of these was fetched

	group  *robots.Group // of now
	policy *robots.Policy
	quote  string // what quoted has found in now
	of     gap    // for this
	used   bool   // a request was made since it came
}

func newCopies(site frontier.Site, open func(frontier.Site) iter.Seq2[*robots.Snapshot, error]) *copies {
	c := &copies{site: site, open: open}
	c.rewind()
	return c
}

func (c *copies) rewind() {
	c.close()
	c.next, c.stop = iter.Pull2(c.open(c.site))
	c.now, c.later, c.group, c.quote = nil, nil, nil, ""
	c.step()
}

func (c *copies) close() {
	if c.stop != nil {
		c.stop()
	}
}

// step reads the next copy.
func (c *copies) step() {
	s, err, ok := c.next()
	if c.later = s; !ok || err != nil {
		c.later = nil
	}
	if err != nil && c.err == nil {
		c.err = err
	}
}

// at goes to the copy that was in force at a moment: the last that had come by then.
func (c *copies) at(t time.Time) error {
	if c.now != nil && c.now.Fetched.Truncate(time.Microsecond).After(t) {
		c.rewind() // the clock was set back
	}
	for c.later != nil && !c.later.Fetched.Truncate(time.Microsecond).After(t) {
		c.forward()
	}
	return c.err
}

// forward goes to the next copy.
func (c *copies) forward() {
	c.now, c.group, c.quote, c.used = c.later, nil, "", false
	if c.now.Fetched.After(c.seen) {
		c.seen, c.fresh = c.now.Fetched, append(c.fresh, c.now)
	}
	c.step()
}

// rules are those in force at a moment, by the copy that at has found.
func (c *copies) rules(p *robots.Policy, t time.Time) *robots.Group {
	// An old copy, in force for want of a new one, may grow too old.
	if c.group == nil || c.policy != p || c.now.Copy != nil {
		c.group, c.policy = c.now.Group(*p, t), p
	}
	return c.group
}

// named reports whether a time in the log is that of the copy in force.
func (c *copies) named(t time.Time) bool {
	return c.now != nil && c.now.Fetched.Truncate(time.Microsecond).Equal(t)
}

// has reports whether any copy was fetched at a time.
func (c *copies) has(t time.Time) (found bool, err error) {
	for s, err := range c.open(c.site) {
		if err != nil {
			return false, err
		}
		if s.Fetched.Truncate(time.Microsecond).Equal(t) {
			return true, nil
		}
	}
	return false, nil
}

// A gap is a pause that is asked, and what asks for it.
type gap struct {
	pause time.Duration
	clock frontier.Clock
}

// gapOf is the pause that rules ask for, the longer of the two ways to say it.
func gapOf(g *robots.Group) gap {
	asked := gap{}
	if d, ok := g.CrawlDelay(); ok && d > asked.pause {
		asked = gap{pause: d, clock: frontier.CrawlDelayClock}
	}
	if d, ok := g.RequestRate(); ok && d > asked.pause {
		asked = gap{pause: d, clock: frontier.RateClock}
	}
	return asked
}

// body is the text that rules were read from.
func (c *copies) body() []byte {
	if good := c.now.Good(); good != nil {
		return good.Body
	}
	return nil
}

// quoted names the line of the copy in force that asks for a pause.
func (c *copies) quoted(g gap) string {
	if c.quote == "" || c.of != g {
		c.quote, c.of = quoted(c.body(), g), g
	}
	return c.quote
}

// quoted names the line of a robots.txt that asks for a pause: the first that by itself
// says as much.
func quoted(body []byte, g gap) string {
	n := 0
	for line := range bytes.Lines(body) {
		n++
		alone := robots.Parse(append([]byte("User-agent: *\n"), line...), robots.RFC9309).Group("any")
		if asked := gapOf(alone); asked.pause == g.pause && asked.clock == g.clock {
			return fmt.Sprintf("robots.txt line %d: %s", n, clip(strings.TrimSpace(string(line))))
		}
	}
	return fmt.Sprintf("robots.txt: %s of %v", g.clock, g.pause)
}

// clip keeps the beginning of what a site says.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

// sum adds what is stored of a site to a digest, one line for each copy, and says how
// many there are.
func sum(h hash.Hash, site frontier.Site, all iter.Seq2[*robots.Snapshot, error]) (n int64, err error) {
	for s, err := range all {
		if err != nil {
			return n, err
		}
		n++
		fmt.Fprintf(h, "%s\t%s\t%d\t%x\n", site, s.Fetched.UTC().Format(crawllog.MicroForm), s.Status, sha256.Sum256(s.Body))
	}
	return n, nil
}
