package crawler

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Sitemaps decides how sitemaps (sitemaps.org) are used. It applies to those that the
// robots.txt of a site in scope names, on any host, and to those that a sitemap index names on
// its own host. Sitemaps are requested like pages, under the same robots.txt and with the same
// pauses; they are archived, but do not count as pages for limits, and are not passed to the
// handler. The URLs they list are links, in scope or not. A seed that is a sitemap is a page,
// and is read.
type Sitemaps string

// The values of Options.Sitemaps.
const (
	SitemapsAlso Sitemaps = ""     // sitemaps are read, and links of pages are followed
	SitemapsOnly Sitemaps = "only" // sitemaps are read; of pages only redirects and requisites (images, scripts ...) are followed
	SitemapsNone Sitemaps = "none" // sitemaps are not requested, and a seed that is one has no links
)

// maxNested is how many hops of the kind M, from a robots.txt or sitemap index to a sitemap,
// are followed in a row: from robots.txt to an index, to a second index and to its sitemap.
// Sitemaps.org does not allow more.
const maxNested = 3

// maxQueuedLists is the most sites that queuedLists remembers.
const maxQueuedLists = 1 << 14

// maxLists is how many sitemaps are read at once: a small file may name 50,000 pages.
const maxLists = 2

// listSlots is a semaphore that limits how many sitemaps are read at once.
type listSlots chan struct{}

// enter waits for a free slot; leave releases it. The error is that of ctx.
func (l listSlots) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queuedLists remembers for which sites the sitemaps of robots.txt were queued in this run. If
// a site is forgotten, its sitemaps are queued once more, which has no effect.
type queuedLists struct {
	mu    sync.Mutex // guards sites: every visit takes it once
	sites map[frontier.Site]time.Time
}

// first reports whether the sitemaps of s, the robots.txt of site, were not queued yet, and
// remembers that they are queued now.
func (t *queuedLists) first(site frontier.Site, s *robots.Snapshot) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, known := t.sites[site]; known && at.Equal(s.Fetched) {
		return false
	}
	if t.sites == nil || len(t.sites) >= maxQueuedLists {
		t.sites = map[frontier.Site]time.Time{}
	}
	t.sites[frontier.Site(strings.Clone(string(site)))] = s.Fetched // cloned, because a substring would keep the whole URL in memory
	return true
}

// sitemapsOf returns the sitemaps that s, the robots.txt that applied to e, names, if s was not
// seen before. It returns none if e is a requisite, a sitemap that is no seed, or requested
// with HEAD, because such an entry does not bring its own site into the crawl. It also returns
// none if only the seeds are in scope.
func (j *Job) sitemapsOf(e frontier.Entry, s *robots.Snapshot) []frontier.Entry {
	if s == nil || j.opts.Sitemaps == SitemapsNone || j.listed || !e.Page() || e.Head || !j.queuedLists.first(e.URL.Site(), s) {
		return nil
	}
	e.Hops += string(frontier.HopPrerequisite)
	var found []frontier.Entry
	var sums []uint64
	defer func() { j.sitemaps.name(sums) }()
	for _, raw := range s.File(j.opts.Dialect).Sitemaps() {
		u, err := e.URL.Resolve(raw)
		if err != nil {
			continue
		}
		sums = append(sums, j.sitemapSum(u))
		if u = j.opts.rewrite(u); u.IsZero() {
			continue
		}
		sitemap := e.Found(u, frontier.HopManifest)
		sitemap.Via = s.URL
		if reason := j.admits.unwanted(&sitemap); reason != frontier.Undecided {
			j.skipLink(Skip{URL: u, Via: s.URL, Code: reason})
			continue
		}
		sitemap.Same = j.opts.same(u, nil)
		found = append(found, sitemap)
	}
	return found
}

// named reports whether the sitemap e is on an allowed host. That is any host if robots.txt
// names the sitemap or another sitemap redirects to it. If an index names the sitemap, it must
// be on the host of the index.
func named(e *frontier.Entry) bool {
	switch {
	case !e.Sitemap():
		return false
	case e.Redirects() > 0 || strings.HasSuffix(e.Hops, string([]byte{byte(frontier.HopPrerequisite), byte(frontier.HopManifest)})):
		return true
	}
	via, err := frontier.ParseURL(e.Via)
	return err == nil && via.Host() == e.URL.Host()
}

// nested returns how many hops of the kind M (to a sitemap) in a row led to e. Redirects
// between them are ignored.
func nested(e *frontier.Entry) int {
	hops := strings.ReplaceAll(e.Hops, string(rune(frontier.HopRedirect)), "")
	return len(hops) - len(strings.TrimRight(hops, string(rune(frontier.HopManifest))))
}
