package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// process has the clocks of all crawls of this process without an Options.Shared: a site
// must not notice that a program runs several. Nothing else is shared by default.
var process = frontier.NewSharedClocks()

// NoShared in Options.Shared keeps the clocks of a crawl apart from all others. It is for
// tests: two crawls of one site are then twice as fast.
var NoShared frontier.Shared = apart{}

// apart is a Shared that never makes a crawl wait for another.
type apart struct{}

func (apart) Reserve(string, time.Time, time.Time) (taken frontier.Taken, ok bool) {
	return taken, true
}
func (apart) Renew(string, time.Time)   {}
func (apart) Release(string, time.Time) {}

// clocks returns the clocks that the crawl shares with others. A Network in memory, such as
// a web of crawltest, may have clocks of its own.
func (o *Options) clocks() frontier.Shared {
	if o.Shared != nil {
		return o.Shared
	}
	if n, ok := o.Network.(interface{ Clocks() frontier.Shared }); ok {
		return n.Clocks()
	}
	return process
}
