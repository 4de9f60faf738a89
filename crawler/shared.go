package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/shared"
)

// NoShared in Options.Shared keeps the clocks of a crawl apart from those of all other crawls.
// It is for tests only, because two crawls of one site then send twice as many requests to it.
var NoShared frontier.Shared = apart{}

// apart is a Shared that never makes a crawl wait for another.
type apart struct{}

func (apart) Reserve(string, time.Time, time.Time) (taken frontier.Taken, ok bool) {
	return taken, true
}
func (apart) Renew(string, time.Time)   {}
func (apart) Release(string, time.Time) {}

// clocks returns the clocks that the crawl shares with others.
func (o *Options) clocks() frontier.Shared { return shared.Of(o.Shared, o.Network) }
