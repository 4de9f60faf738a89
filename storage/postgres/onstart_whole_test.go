//go:build unix

package postgres_test

import (
	"errors"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// OnStart gives orders and a seed before the node has joined the crawl. All nodes carry them out.
func TestOrdersThatOnStartGivesToSeveralNodes(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t), seeds: []string{"http://a.example/"}}
	c.web.Site("http://a.example").Page("/", `<a href="http://never.example/">x</a>`)
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
			err := errors.Join(first.Exclude("never.example", "the owner's mail"), first.Seed("it was forgotten", "http://added.example/"),
				first.Limit("more", func(l *crawler.Limits) { l.Rate = 50 }))
			if err != nil {
				t.Error(err)
			}
		}
	}
	a := c.join(true)
	first = a.Crawler
	close(ready)
	b := c.join(true)
	c.heard("exclude never.example: the owner's mail", a, b)
	for _, m := range []*member{a, b} {
		c.until("the node has the new rate", func() bool { return m.Limits().Rate == 50 })
	}
	for _, u := range []string{"http://a.example/", "http://added.example/"} {
		c.until(u+" is fetched", func() bool { return c.web.Fetched(u) == 1 })
	}
	c.do(b.Seed("to see that it is excluded", "http://never.example/"))
	for _, m := range []*member{a, b} {
		c.do(m.Allow(func(l *crawler.Limits) { l.Open = false }))
	}
	c.end(a, b)
	c.web.AssertNeverFetched("http://never.example/", "http://never.example/robots.txt")
	for do, want := range map[string]int{"exclude": 1, "limit": 1, "add": 2} {
		if got := c.recorded(do); got != want {
			t.Errorf("the logs have %d lines with %s, want %d", got, do, want)
		}
	}
}
