package main

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/PuerkitoBio/fetchbot"
	"github.com/PuerkitoBio/gocrawl"
	"github.com/geziyor/geziyor"
	"github.com/geziyor/geziyor/client"
	"github.com/gocolly/colly/v2"

	"github.com/PuerkitoBio/goquery"
)

// idle is the time without work after which a peer forgets a host, and so ends.
const idle = 2 * time.Second

// A urlSet remembers URLs, for peers that do not.
type urlSet struct {
	mu   sync.Mutex // guards urls: callbacks of a peer run concurrently
	urls map[string]bool
}

// add reports whether u is new.
func (s *urlSet) add(u string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.urls[u] {
		return false
	}
	if s.urls == nil {
		s.urls = map[string]bool{}
	}
	s.urls[u] = true
	return true
}

func (s *urlSet) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.urls)
}

// runColly lets the peer find links with its own selector.
func runColly(_ context.Context, t *task) (report, error) {
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(t.hosts()...), colly.UserAgent("benchbot"))
	c.IgnoreRobotsTxt = false
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: t.Concurrency}); err != nil {
		return report{}, err
	}
	if t.Delay > 0 {
		// The delay of a rule applies to all its hosts together.
		var rules []*colly.LimitRule
		for _, h := range t.hosts() {
			rules = append(rules, &colly.LimitRule{DomainGlob: h + "*", Parallelism: 1, Delay: t.Delay})
		}
		if err := c.Limits(rules); err != nil {
			return report{}, err
		}
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href")) // returns an error for a visited URL, and for one out of scope
	})
	for _, seed := range t.Seeds {
		c.Visit(seed)
	}
	c.Wait()
	return report{}, nil
}

// runFetchbot is a short form of the full example in the peer's documentation.
func runFetchbot(_ context.Context, t *task) (report, error) {
	var seen urlSet
	hosts := map[string]bool{}
	for _, s := range t.Seeds {
		seen.add(s)
		u, err := url.Parse(s)
		if err != nil {
			return report{}, err
		}
		hosts[u.Host] = true
	}
	f := fetchbot.New(fetchbot.HandlerFunc(func(ctx *fetchbot.Context, res *http.Response, err error) {
		if err != nil {
			return
		}
		found, err := links(ctx.Cmd.URL(), res.Body)
		if err != nil {
			return
		}
		for _, raw := range found {
			u, err := url.Parse(raw)
			if err == nil && hosts[u.Host] && seen.add(raw) {
				ctx.Q.SendStringGet(raw)
			}
		}
	}))
	f.CrawlDelay, f.WorkerIdleTTL, f.AutoClose, f.UserAgent = t.Delay, idle, true, "benchbot"
	q := f.Start()
	if _, err := q.SendStringGet(t.Seeds...); err != nil {
		return report{}, err
	}
	q.Block()
	return report{Seen: seen.len()}, nil
}

// gocrawlExtender is the default extender without repeated visits.
type gocrawlExtender struct{ gocrawl.DefaultExtender }

func (e *gocrawlExtender) Filter(_ *gocrawl.URLContext, visited bool) bool { return !visited }

func (e *gocrawlExtender) Visit(*gocrawl.URLContext, *http.Response, *goquery.Document) (any, bool) {
	return nil, true
}

func runGocrawl(_ context.Context, t *task) (report, error) {
	o := gocrawl.NewOptions(&gocrawlExtender{})
	o.CrawlDelay, o.WorkerIdleTTL, o.SameHostOnly = t.Delay, idle, true
	o.UserAgent, o.RobotUserAgent, o.LogFlags = "benchbot", "benchbot", gocrawl.LogNone
	return report{}, gocrawl.NewCrawlerWithOptions(o).Run(t.Seeds)
}

func runGeziyor(_ context.Context, t *task) (report, error) {
	var domains []string
	for _, s := range t.Seeds {
		u, err := url.Parse(s)
		if err != nil {
			return report{}, err
		}
		domains = append(domains, u.Host)
	}
	geziyor.NewGeziyor(&geziyor.Options{
		StartURLs: t.Seeds, AllowedDomains: domains, ConcurrentRequests: t.Concurrency, RequestDelay: t.Delay,
		UserAgent: "benchbot", LogDisabled: true,
		ParseFunc: func(g *geziyor.Geziyor, r *client.Response) {
			if r.HTMLDoc == nil {
				return
			}
			r.HTMLDoc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
				href, _ := a.Attr("href")
				g.Get(r.JoinURL(href), g.Opt.ParseFunc)
			})
		},
	}).Start()
	return report{}, nil
}
