package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Skip is a URL that is not fetched.
type Skip struct {
	URL    frontier.URL
	Via    string // where it was found
	Code   frontier.Code
	Detail string    // rule and line, error, clock, ...
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
