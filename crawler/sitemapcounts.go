package crawler

import (
	"slices"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

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
