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
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

// copies reads the stored copies of the robots.txt of one site. One of them is in force at a
// time. They are read one by one, because all of them together may not fit in memory.
type copies struct {
	site  frontier.Site
	open  func(frontier.Site) iter.Seq2[*robots.Snapshot, error]
	next  func() (*robots.Snapshot, error, bool)
	stop  func()
	now   *robots.Snapshot // the copy in force; nil before the first copy
	later *robots.Snapshot // the copy after now; nil after the last copy
	err   error

	fresh []*robots.Snapshot // copies that came into force after the last call of settle
	seen  time.Time          // time at which the last of fresh was fetched

	group  *robots.Group // rules of the copy now
	policy *robots.Policy
	quote  string // result of findPauseLine for the copy now
	of     gap    // the argument with which findPauseLine returned quote
	used   bool   // a request was made since the copy now came into force
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

// at moves to the copy that was in force at the time t: the last copy that was fetched at t or
// earlier.
func (c *copies) at(t time.Time) error {
	if c.now != nil && c.now.Fetched.Truncate(time.Microsecond).After(t) {
		c.rewind() // read the copies again, because the clock was set back
	}
	for c.later != nil && !c.later.Fetched.Truncate(time.Microsecond).After(t) {
		c.forward()
	}
	return c.err
}

// forward makes the next copy the current one.
func (c *copies) forward() {
	c.now, c.group, c.quote, c.used = c.later, nil, "", false
	if c.now.Fetched.After(c.seen) {
		c.seen, c.fresh = c.now.Fetched, append(c.fresh, c.now)
	}
	c.step()
}

// rules returns the rules of the copy in force at the time t. The caller must first call at
// with this time.
func (c *copies) rules(p *robots.Policy, t time.Time) *robots.Group {
	// If a new copy could not be fetched, an old copy is in force. It may become too old, so
	// its rules depend on t.
	if c.group == nil || c.policy != p || c.now.Copy != nil {
		c.group, c.policy = c.now.Group(*p, t), p
	}
	return c.group
}

// named reports whether the copy in force was fetched at the time t, which is from the log.
func (c *copies) named(t time.Time) bool {
	return c.now != nil && c.now.Fetched.Truncate(time.Microsecond).Equal(t)
}

// has reports whether any copy was fetched at the time t.
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

// A gap is a pause that must be kept, and the clock for which it must be kept.
type gap struct {
	pause time.Duration
	clock frontier.Clock
}

// gapOf returns the longer of the two pauses that rules may require: Crawl-delay and
// Request-rate.
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

// body returns the text of the copy in force.
func (c *copies) body() []byte {
	if good := c.now.Good(); good != nil {
		return good.Body
	}
	return nil
}

// pauseLine returns the line of the copy in force that requires a pause.
func (c *copies) pauseLine(g gap) string {
	if c.quote == "" || c.of != g {
		c.quote, c.of = findPauseLine(c.body(), g), g
	}
	return c.quote
}

// findPauseLine returns the line of a robots.txt that requires a pause: the first line that by
// itself requires a pause of this length and clock.
func findPauseLine(body []byte, g gap) string {
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

// clip shortens a text of a site to its first 200 bytes.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

// sum adds the stored copies of a site to a digest, one line for each copy, and returns how
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
