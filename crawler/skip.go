package crawler

import "github.com/permesso-crawler/permesso/frontier"

// A Reason says why a URL is not fetched, though it was found.
type Reason string

// The reasons. All but the last three come before the frontier: those URLs are
// counted, not kept.
const (
	SkipScope     Reason = "out of scope"
	SkipDepth     Reason = "too deep"
	SkipFilter    Reason = "filtered" // by Include or Exclude
	SkipNoFollow  Reason = "nofollow"
	SkipRedirects Reason = "too many redirects"
	SkipRobots    Reason = "robots disallowed"
	SkipFailed    Reason = "failed"         // after the last try
	SkipNarrowed  Reason = "scope narrowed" // since it was queued
)

// A Skip is a URL that is not fetched.
type Skip struct {
	URL    frontier.URL
	Via    string // where it was found
	Reason Reason
	Detail string // rule and line, error, ...
}

func (c *Crawler) skip(s Skip) {
	c.counts.skip(s.Reason)
	if c.opts.OnSkip != nil {
		c.opts.OnSkip(s)
	}
}
