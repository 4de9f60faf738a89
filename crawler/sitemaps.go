package crawler

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

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

// SitemapCounts are the figures of the sitemaps of a run. A sitemap that counts in Named, but
// neither in Read nor in Failed, was redirected, refused, out of scope or read by an earlier
// run, or it is still queued. With SitemapsNone nothing is counted.
type SitemapCounts struct {
	Named  int // URLs that robots.txt files and sitemap indexes name as sitemaps, each once, in scope or not
	Read   int // answers with a 2xx status, including those of seeds and pages that are sitemaps; a sitemap that is fetched again counts again
	Failed int // sitemaps that ended with an error status (400 or more), or without an answer
	URLs   int // URLs that sitemaps list, queued or not; URLs of other sitemaps in them are not counted
	Empty  int // those sitemaps counted in Read that list nothing

	FirstEmpty []EmptySitemap // the first sitemaps that list nothing, up to three
}

// An EmptySitemap is a sitemap that was fetched and lists nothing.
type EmptySitemap struct {
	URL    string
	Reason string // "lists no URL" or "is no sitemap"
}

// The values of EmptySitemap.Reason.
const (
	emptyList  = "lists no URL"
	emptyOther = "is no sitemap" // usually an HTML page; its links are followed as those of any page
)

const (
	// maxFirstEmpty is how many sitemaps without a URL a summary names.
	maxFirstEmpty = 3
	// maxNamedSitemaps is how many named sitemaps are remembered, so that each is counted once.
	// If there are more, the others are counted each time they are named.
	maxNamedSitemaps = 1 << 16
)

// sitemapTally counts the sitemaps of a run.
type sitemapTally struct {
	mu    sync.Mutex // guards all fields; used by visits of a sitemap, or of a page whose robots.txt names one
	n     SitemapCounts
	named map[uint64]struct{} // hashes of the keys of sitemaps that were named
}

func (t *sitemapTally) counts() SitemapCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.n
	n.FirstEmpty = slices.Clone(n.FirstEmpty)
	return n
}

// name counts sitemaps that a robots.txt or a sitemap index names. sums are the results of
// sitemapSum for them.
func (t *sitemapTally) name(sums []uint64) {
	if len(sums) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named == nil {
		t.named = map[uint64]struct{}{}
	}
	for _, sum := range sums {
		if _, known := t.named[sum]; known {
			continue
		}
		t.n.Named++
		if len(t.named) < maxNamedSitemaps {
			t.named[sum] = struct{}{}
		}
	}
}

func (t *sitemapTally) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n.Failed++
}

// read counts a sitemap that was fetched. urls is the number of URLs that the sitemap lists.
// empty is its EmptySitemap.Reason, or "" if it lists anything. read returns how many empty
// sitemaps were counted so far.
func (t *sitemapTally) read(u frontier.URL, urls int, empty string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.n
	n.Read++
	n.URLs += urls
	if empty == "" {
		return n.Empty
	}
	n.Empty++
	one := EmptySitemap{URL: u.String(), Reason: empty}
	if len(n.FirstEmpty) < maxFirstEmpty && !slices.Contains(n.FirstEmpty, one) {
		n.FirstEmpty = append(n.FirstEmpty, one)
	}
	return n.Empty
}

// sitemapSum returns a hash that identifies a named sitemap.
func (j *job) sitemapSum(u frontier.URL) uint64 { return xxh3.HashStringSeed(u.Key(), j.sumSeed) }

// countSitemap counts p if p is a sitemap, or the answer to a request for one. It warns if the
// sitemap lists nothing.
func (j *job) countSitemap(p *Page) {
	switch {
	case j.opts.Sitemaps == SitemapsNone, !p.Entry.Sitemap() && !p.html.Sitemap:
		return
	case p.Status/100 != 2, p.Exchange.Head, p.refused != "":
		return
	}
	empty, urls := "", 0
	if !p.html.Sitemap {
		empty = emptyOther
	} else {
		var named []uint64
		listed := p.html.Links[p.how.header:]
		if urls = len(listed); urls == 0 {
			empty = emptyList
		}
		for i := range listed {
			switch l := &listed[i]; l.Hop {
			case frontier.HopManifest:
				named = append(named, j.sitemapSum(l.URL))
				urls--
			case frontier.HopEmbed:
				urls--
			}
		}
		j.sitemaps.name(named)
	}
	if n := j.sitemaps.read(p.URL, urls, empty); empty != "" && n <= maxWarnings {
		j.opts.Logger.Warn("a sitemap lists nothing", "url", p.URL.String(), "reason", "it "+empty)
	}
}

// countFailedSitemap counts e as failed if it is a sitemap and fate says that it ended with an
// error status or without an answer.
func (j *job) countFailedSitemap(e frontier.Entry, fate frontier.Fate) {
	failed := fate.Code == frontier.Failed || fate.Code == frontier.Fetched && fate.Status >= 400
	if failed && e.Sitemap() && j.opts.Sitemaps != SitemapsNone {
		j.sitemaps.fail()
	}
}
