//go:build unix

package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// A crowd is a crawl whose nodes all run in this process.
type crowd struct {
	t       *testing.T
	web     *crawltest.Web
	url     string
	seeds   []string
	opts    func(*crawler.Options)
	dirs    []string
	members []*member
}

// A member is one node of a crowd.
type member struct {
	*crawler.Crawler
	crowd *crowd
	ended chan error
}

// join starts a node. If open is true, the node runs until it is stopped.
func (c *crowd) join(open bool) *member {
	c.t.Helper()
	state, err := postgres.New(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	dir := filepath.Join(c.t.TempDir(), fmt.Sprintf("node%d.crawl", len(c.dirs)))
	c.dirs = append(c.dirs, dir)
	o := crawler.Options{
		Identity: crawler.Identity{Token: "nodebot", Contact: "https://example.org/nodebot"},
		Seeds:    c.seeds, Dir: dir, State: state,
	}
	o.Network, o.Shared, o.Delay = c.web, crawler.NoShared, crawler.NoDelay
	if c.opts != nil {
		c.opts(&o)
	}
	m := &member{crowd: c, ended: make(chan error, 1)}
	if m.Crawler, err = crawler.New(o); err != nil {
		c.t.Fatal(err)
	}
	if open {
		c.do(m.Allow(func(l *crawler.Limits) { l.Open = true }))
	}
	c.members = append(c.members, m)
	go func() {
		err := m.Run(c.t.Context(), nil)
		if err != nil {
			c.t.Error(err)
		}
		m.ended <- err
	}()
	return m
}

func (c *crowd) do(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// until waits until is returns true. The text what is for the error if it never does.
func (c *crowd) until(what string, is func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			for i, m := range c.members {
				c.t.Logf("node %d: %v; %+v", i, m.Summary(), m.Stats().Frontier)
			}
			c.t.Fatalf("a minute later it does not hold that %s", what)
		}
	}
}

// heard waits until the status of all nodes lists an order.
func (c *crowd) heard(order string, all ...*member) {
	c.t.Helper()
	for i, m := range all {
		c.until(fmt.Sprintf("node %d has heard %q", i, order), func() bool {
			return slices.ContainsFunc(m.Orders(), func(o crawler.Order) bool { return o.String() == order })
		})
	}
}

func (c *crowd) end(all ...*member) {
	c.t.Helper()
	for _, m := range all {
		<-m.ended
	}
}

// recorded returns the number of lines with an order in the logs of all nodes.
func (c *crowd) recorded(do string) (n int) {
	c.t.Helper()
	for _, dir := range c.dirs {
		text, err := os.ReadFile(filepath.Join(dir, "crawl.log"))
		if err != nil {
			c.t.Error(err)
		}
		n += strings.Count(string(text), "order:"+do)
	}
	return n
}

// An order at one node reaches all other nodes, also a node that joins later. It is logged once.
// Seeds are fetched once, by the node that has their site, and so are their links.
func TestOrdersReachAllNodes(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t), seeds: []string{"http://a.example/"}}
	c.web.Site("http://a.example").Page("/", "a")
	c.web.Site("http://no.example").Page("/", "no")
	var more, pages []string
	for i := range 8 {
		host := fmt.Sprintf("http://more%d.example", i)
		c.web.Site(host).Page("/", "<a href=/2>2</a>").Page("/2", "2")
		more, pages = append(more, host+"/"), append(pages, host+"/", host+"/2")
	}
	a, b := c.join(true), c.join(true)
	c.until("the seed is fetched", func() bool { return c.web.Fetched("http://a.example/") == 1 })
	c.do(a.Pause("a disk is changed"))
	c.heard("pause: a disk is changed", b)
	c.do(b.Seed("they were forgotten", more...))
	c.do(b.Exclude("no.example", "asked by mail"))
	c.do(b.Limit("others need the line", func(l *crawler.Limits) { l.Rate = 1000 }))
	c.do(b.Slow("a.example", 5*time.Second, "it is slow"))
	c.heard("slow a.example 5s: it is slow", a)
	later := c.join(true)
	c.heard("pause: a disk is changed", later)
	c.heard("exclude no.example: asked by mail", a, later)
	if got := a.Limits().Rate; got != 1000 {
		t.Errorf("the rate of another node is %v", got)
	}
	c.until("the node that joined has the new rate", func() bool { return later.Limits().Rate == 1000 })
	c.do(later.Seed("to see that it is excluded", "http://no.example/"))
	if n := c.web.Fetched(more[0]); n > 0 {
		t.Error("a page was fetched while the crawl was paused")
	}
	c.do(later.Resume("the disk is in"))
	c.heard("resume: the disk is in", a, b)
	for _, u := range pages {
		c.until(u+" is fetched", func() bool { return c.web.Fetched(u) > 0 })
	}
	for _, m := range []*member{a, b, later} {
		c.do(m.Allow(func(l *crawler.Limits) { l.Open = false }))
	}
	c.end(a, b, later)
	for _, u := range pages {
		if n := c.web.Fetched(u); n != 1 {
			t.Errorf("%s was fetched %d times", u, n)
		}
	}
	c.web.AssertNeverFetched("http://no.example/", "http://no.example/robots.txt")
	for do, want := range map[string]int{"pause": 1, "resume": 1, "slow": 1, "exclude": 1, "limit": 1, "add": 2} {
		if got := c.recorded(do); got != want {
			t.Errorf("the logs have %d lines with %s, want %d", got, do, want)
		}
	}
}

// If the redirect of a seed widens the scope, all nodes use the wider scope before they receive
// the target.
func TestARedirectWidensTheScopeOfAllNodes(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t)}
	var pages []string
	for i := range 24 {
		from, to := fmt.Sprintf("http://from%d.example", i), fmt.Sprintf("http://to%d.example", i)
		c.web.Site(from).Redirect("/", to+"/")
		c.web.Site(to).Page("/", "<a href=/2>2</a>").Page("/2", "<a href=/3>3</a>").Page("/3", "")
		c.seeds, pages = append(c.seeds, from+"/"), append(pages, to+"/", to+"/2", to+"/3")
	}
	c.opts = func(o *crawler.Options) { o.Delay = 300 * time.Millisecond }
	a, b, d := c.join(false), c.join(false), c.join(false)
	c.end(a, b, d)
	c.web.AssertFetched(pages...)
	for i, m := range []*member{a, b, d} {
		if s := m.Summary(); s.End != crawler.EndDone || s.SkippedLinks != nil {
			t.Errorf("node %d: %v", i, s)
		}
	}
}
