package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Reason says why a URL is not fetched, though it was found.
type Reason string

// The reasons why a URL that was found does not enter the crawl. It is counted,
// not kept.
const (
	SkipScope     Reason = "out of scope"
	SkipDepth     Reason = "too deep"
	SkipFilter    Reason = "filtered" // by Include or Exclude
	SkipNoFollow  Reason = "nofollow"
	SkipOptOut    Reason = "opted out" // by Options.OptOut, or SiteOptions.Exclude; also for a URL that was queued before
	SkipRedirects Reason = "too many redirects"
	SkipHook      Reason = "refused by the program" // Options.Links or Rewrite
	SkipTrap      Reason = "trap"                   // Detail is its pattern; see Options.FollowTraps
)

// The reasons why a URL of the crawl ended without a page.
const (
	SkipRobots   Reason = "robots disallowed"
	SkipFailed   Reason = "failed"         // after the last try
	SkipNarrowed Reason = "scope narrowed" // since it was queued
	SkipUse      Reason = "use refused"    // by the owner's statement in Detail; the answer was not kept
)

// The reasons why a URL is left in the queue. Another run continues with it.
const (
	SkipSiteDead          Reason = "site dead"          // it does not answer; given up in this run
	SkipRobotsUnreachable Reason = "robots unreachable" // robots.txt could not be fetched; given up in this run
	SkipBudget            Reason = "site budget spent"  // MaxHostPages, MaxHostBytes, MaxHostTime, or those of SiteOptions
	SkipExcluded          Reason = "excluded"           // by Crawler.Exclude; Detail is the reason, and Options.Lift revokes it
	SkipLimit             Reason = "limit reached"      // Limit, MaxBytes
	SkipWaits             Reason = "waits"              // until Until, for the clock in Detail
	SkipQueued            Reason = "queued"             // waits for its turn only
)

// A Skip is a URL that is not fetched.
type Skip struct {
	URL    frontier.URL
	Via    string // where it was found
	Reason Reason
	Detail string    // rule and line, error, clock, ...
	Until  time.Time // of SkipWaits
}

// skipLink counts and reports a link that does not bring its URL into the crawl.
func (j *Job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Reason) })
	j.skip(s)
}

// skipURL counts and reports a URL of the crawl that ended without a page.
func (j *Job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Reason) })
	j.skip(s)
}

func (j *Job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}
