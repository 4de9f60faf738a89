package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Skip is a URL that is not fetched. Detail says more: the rule and line of robots.txt, the
// error of the last try, the pattern of a trap, the callback that refused, the statement of the
// owner, the reason of Crawler.Exclude, or the clock of a URL that waits. A URL with one of the
// codes of queued URLs stays in the queue, and the next run continues with it.
type Skip struct {
	URL    frontier.URL
	Via    string // where it was found
	Code   frontier.Code
	Detail string
	Until  time.Time // of frontier.Waiting
}

// skipLink counts and reports a link that does not bring its URL into the crawl.
func (j *Job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Code) })
	j.skip(s)
}

// skipURL counts and reports a URL of the crawl that ended without a page.
func (j *Job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Code) })
	j.skip(s)
}

func (j *Job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}
