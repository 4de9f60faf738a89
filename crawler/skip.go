package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Skip is a URL that is not fetched. Code says why, and Detail says more: the rule and line
// of robots.txt, the error of the last try, the pattern of a trap, the name of the callback
// that refused the URL, the statement of the owner, or the reason that was given to
// Crawler.Exclude. For a URL that waits, Detail is the name of the clock that makes it wait.
// Some values of Code are for URLs that are still queued: such a URL stays in the queue, and
// the next run continues with it.
type Skip struct {
	URL    frontier.URL
	Via    string // the URL of the page on which URL was found
	Code   frontier.Code
	Detail string
	Until  time.Time // with frontier.Waiting: when the URL may be requested
}

// skipLink counts a link whose URL is not queued, and passes it to OnSkip.
func (j *job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Code) })
	j.skip(s)
}

// skipURL counts a queued URL that ended without a page, and passes it to OnSkip.
func (j *job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Code) })
	j.skip(s)
}

func (j *job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}
