package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// process has the clocks (times of the last requests to sites, and their pauses) that all
// crawls of this process share, except crawls with Options.Shared. So a site gets no more
// requests if a program runs several crawls. Crawls share nothing else by default.
var process = frontier.NewSharedClocks()

// NoShared in Options.Shared keeps the clocks of a crawl apart from all others. It is for
// tests: two crawls of one site then send twice as many requests to it.
var NoShared frontier.Shared = apart{}

// apart is a Shared that never makes a crawl wait for another.
type apart struct{}

func (apart) Reserve(string, time.Time, time.Time) (taken frontier.Taken, ok bool) {
	return taken, true
}
func (apart) Renew(string, time.Time)   {}
func (apart) Release(string, time.Time) {}

// clocks returns the clocks that the crawl shares with others. An Options.Network in memory,
// such as the web of package crawltest, may bring its own clocks.
func (o *Options) clocks() frontier.Shared {
	if o.Shared != nil {
		return o.Shared
	}
	if n, ok := o.Network.(interface{ Clocks() frontier.Shared }); ok {
		return n.Clocks()
	}
	return process
}
