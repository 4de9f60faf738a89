package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/storage"
)

// SetSmallestBounds makes every queue and cache of a crawl as small as it can
// be, and its disk slow.
func SetSmallestBounds(o *Options, syncDelay time.Duration) {
	o.bounds = bounds{storage: storage.Bounds{Queue: 1, Links: 1, Bytes: 1}, syncDelay: syncDelay, readAhead: 1, hosts: 1, idle: 1, names: 1, repeated: 1}
}
