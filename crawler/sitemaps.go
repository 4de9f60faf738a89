package crawler

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Sitemaps decides how sitemaps (sitemaps.org) are used. It applies to the sitemaps that the
// robots.txt of a site in scope names, on any host. It also applies to sitemaps that a sitemap
// index names, if they are on the host of the index. Sitemaps are requested like pages: the
// robots.txt and the pauses of their site apply. They are archived, but do not count as pages
// for limits, and are not passed to the handler. The URLs that they list are treated as links,
// so the scope applies to them. A seed that is a sitemap counts as a page, is passed to the
// handler, and is also read as a sitemap.
type Sitemaps string

// The values of Options.Sitemaps.
const (
	SitemapsAlso Sitemaps = ""     // sitemaps are read, and links of pages are followed
	SitemapsOnly Sitemaps = "only" // sitemaps are read; links of pages are not followed, but redirects and requisites (images, scripts ...) are
	SitemapsNone Sitemaps = "none" // sitemaps are not requested, and the URLs in a seed that is a sitemap are not followed
)

// maxQueuedLists is the most sites that queuedLists remembers.
const maxQueuedLists = 1 << 14

// maxLists is how many sitemaps are read at once. It is small, because even a small file may
// list 50,000 pages.
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

// first returns false if the sitemaps that are named in s, the robots.txt of a site, were
// queued before. Otherwise it returns true, and remembers that they are queued now.
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

// sitemapsOf returns entries for the sitemaps that s names, if s was not seen before. s is the
// robots.txt that applied to e. It returns none if e is a requisite, a sitemap that is not a
// seed, or requested with HEAD, because sitemaps are read only for sites whose pages are
// fetched. It also returns none if only the seeds are in scope.
func (j *job) sitemapsOf(e frontier.Entry, s *robots.Snapshot) []frontier.Entry {
	if s == nil || j.opts.Sitemaps == SitemapsNone || j.opts.OnlyFollowed || j.listed || !e.Page() || e.Head || !j.queuedLists.first(e.URL.Site(), s) {
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
