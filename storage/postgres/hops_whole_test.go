//go:build unix

package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// The robots.txt of a site redirects to a site of another node, or in a circle. The redirect is
// followed, and each site gets its pause.
func TestARedirectedRobotsTxtOfAnotherNode(t *testing.T) {
	t.Parallel()
	const sites, delay = 12, 50 * time.Millisecond
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t)}
	var pages, never []string
	for i := range sites {
		host, other := fmt.Sprintf("http://h%d.example", i), fmt.Sprintf("http://r%d.example", i)
		rules := "User-agent: *\nDisallow: /private"
		c.web.Site(host).Redirect("/robots.txt", other+"/robots.txt").
			Page("/", "<a href=/private/1>1</a><a href=/2>2</a>").Page("/2", "").Page("/private/1", "")
		c.web.Site(other).Robots(rules).Page("/", "")
		c.seeds = append(c.seeds, host+"/")
		pages, never = append(pages, host+"/", host+"/2"), append(never, host+"/private/1")
		if i%4 == 0 { // this site is also crawled, with rules from another site
			next := fmt.Sprintf("http://h%d.example", (i+1)%sites)
			c.web.Site(other).Redirect("/robots.txt", next+"/rules.txt")
			c.web.Site(next).File("/rules.txt", "text/plain", rules)
			c.seeds, pages = append(c.seeds, other+"/"), append(pages, other+"/")
		}
	}
	// If a partition moves during a redirect, the redirect fails, and robots.txt is requested
	// again after a minute.
	c.opts = func(o *crawler.Options) { o.Delay, o.Patience = delay, 3*time.Minute }
	c.end(c.join(false), c.join(false), c.join(false))
	c.web.AssertFetched(pages...)
	c.web.AssertNeverFetched(never...)
	c.web.AssertDelay("http://h0.example", delay)
	c.web.AssertPolite()
	for i, m := range c.members {
		if s := m.Summary(); s.End != crawler.EndDone {
			t.Errorf("node %d: %v", i, s)
		}
	}
}
