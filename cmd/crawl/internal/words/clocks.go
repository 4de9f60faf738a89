package words

import (
	"cmp"

	"github.com/permesso-crawler/permesso/frontier"
)

// clockWords describes the clocks. A clock is a reason why the next request to a site has to
// wait.
var clockWords = map[frontier.Clock]string{
	frontier.OwnClock:        "the pause of the crawl (--delay)",
	frontier.CrawlDelayClock: "Crawl-delay in robots.txt",
	frontier.RateClock:       "Request-rate in robots.txt",
	frontier.VisitTimeClock:  "Visit-time in robots.txt",
	frontier.AdaptiveClock:   "the time that the site takes to answer",
	frontier.RetryAfterClock: "Retry-After in its last answer",
	frontier.BackOffClock:    "the pause after an answer that asks for rest, or no answer",
	frontier.FailuresClock:   "the pause after several failures",
	frontier.RobotsClock:     "robots.txt, which could not be fetched and is tried again then",
	frontier.IPClock:         "another site at the same address (--ip-delay)",
	frontier.HostClock:       "another service of the same host",
	frontier.DomainClock:     "another site of the same domain (--domain-delay)",
	frontier.MachineClock:    "another crawl of this machine",
	frontier.SiteClock:       "the site that its robots.txt is redirected to",
	frontier.RestartClock:    "the pause after a run that was cut short",
	frontier.RetryClock:      "the pause before another try",
	frontier.AgainClock:      "the time to be fetched again (--revisit)",
}

// Clock returns a phrase that says what a site with the clock c waits for.
func Clock(c frontier.Clock) string { return cmp.Or(clockWords[c], "the clock "+string(c)) }

// ShortClock returns a short name of a clock, for a line with little room.
func ShortClock(by frontier.Clock) string {
	switch by {
	case frontier.OwnClock:
		return "own pause"
	case frontier.RobotsClock:
		return "robots.txt"
	case frontier.AgainClock:
		return "next visit"
	}
	return string(by)
}
