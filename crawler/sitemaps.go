package crawler

import (
	"github.com/zeebo/xxh3"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// sitemapsOf returns entries for the sitemaps that s, the robots.txt of e's site, names. If s is
// unreachable, these are the sitemaps of the copy that is in force. Each copy of robots.txt is used
// once. Sitemaps are read only for sites whose pages are fetched. So sitemapsOf returns none if e is
// an image, a script or a sitemap, or is requested with HEAD. It also returns none if only the seeds
// are in scope.
func (j *job) sitemapsOf(e frontier.Entry, s *robots.Snapshot) []frontier.Entry {
	if s = s.Good(); s == nil || j.opts.Sitemaps == SitemapsNone || j.opts.OnlyFollowed || j.seedsOnly || !e.Page() || e.Head || !j.queuedLists.first(e.URL.Site(), s) {
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

// Values of EmptySitemap.Reason.
const (
	emptyList  = "lists no URL"
	emptyOther = "is no sitemap" // usually an HTML page; its links are followed like those of any page
)

// sitemapSum returns a hash of the URL of a sitemap.
func (j *job) sitemapSum(u frontier.URL) uint64 { return xxh3.HashStringSeed(u.Key(), j.sumSeed) }

// countSitemap counts the page p if it is a sitemap, or if it is the answer to the request for a
// sitemap. It logs a warning if the sitemap lists nothing.
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

// countFailedSitemap counts e as failed if it is a sitemap and ended with an error status or
// without an answer.
func (j *job) countFailedSitemap(e frontier.Entry, fate frontier.Fate) {
	failed := fate.Code == frontier.Failed || fate.Code == frontier.Fetched && fate.Status >= 400
	if failed && e.Sitemap() && j.opts.Sitemaps != SitemapsNone {
		j.sitemaps.fail()
	}
}
