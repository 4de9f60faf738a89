//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// OnStart gives orders and seeds before the node has joined the crawl. They are stored when the
// calls return, all nodes get them, and the node's own limits apply.
func TestOrdersThatOnStartGivesToSeveralNodes(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t)}
	for i := range 6 {
		c.web.Site(fmt.Sprintf("http://h%d.example", i)).Page("/", `<a href="http://never.example/">x</a>`)
		c.seeds = append(c.seeds, fmt.Sprintf("http://h%d.example/", i))
	}
	c.web.Site("http://never.example").Page("/", "")
	c.web.Site("http://added.example").Page("/", "")
	var first *crawler.Crawler
	ready := make(chan struct{})
	c.opts = func(o *crawler.Options) {
		o.Scope = crawler.Anywhere()
		if len(c.dirs) > 1 {
			return
		}
		o.OnStart = func(crawler.Start) {
			<-ready
			err := errors.Join(first.Exclude("never.example", "the owner's mail"), first.Seed("forgotten", "http://added.example/"), first.Limit("more", func(l *crawler.Limits) { l.Rate = 50 }))
			if err != nil {
				t.Error(err)
			}
		}
	}
	one := c.join(false)
	first = one.Crawler
	close(ready)
	c.until("the orders of the first node", func() bool { return len(one.Orders()) == 3 })
	two := c.join(false)
	c.end(one, two)
	c.web.AssertNeverFetched("http://never.example/", "http://never.example/robots.txt")
	c.web.AssertFetched("http://added.example/")
	excluded := 0
	for i, m := range c.members {
		s := m.Summary()
		if excluded += s.Left[frontier.Excluded]; s.End != crawler.EndUnasked {
			t.Errorf("node %d: %v", i, s)
		}
	}
	if excluded == 0 {
		t.Error("the link to the excluded site is not left")
	}
	if rate := one.Limits().Rate; rate != 50 {
		t.Errorf("the rate is %v", rate)
	}
}
