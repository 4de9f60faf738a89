package crawler

import (
	"io"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// SetSmallestBounds makes every queue and cache of a crawl as small as possible. It also adds
// syncDelay to each sync, like a slow disk.
func SetSmallestBounds(o *Options, syncDelay time.Duration) {
	o.bounds = bounds{storage: store.Bounds{Queue: 1, Links: 1, Bytes: 1}, syncDelay: syncDelay, readAhead: 1, hosts: 1, idle: 1, names: 1, repeated: 1, sites: 1}
}

// A tornQueue fails after its first entry.
type tornQueue struct{ queue }

func (q tornQueue) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return func(yield func(frontier.Entry, error) bool) {
		for e := range q.queue.Queued(site) {
			if yield(e, nil) {
				yield(frontier.Entry{}, io.ErrUnexpectedEOF)
			}
			return
		}
	}
}

// TearQueue makes the queue of a running crawl fail after one entry.
func TearQueue(c *Crawler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = tornQueue{c.queue}
}

// HasDigest reports whether a SHA-1 of the page's body was computed.
func HasDigest(p *Page) bool { return p.sha1 != "" }

type (
	Job     = job
	JobDeps = jobDeps
)

// NewJob returns a Job for the given options, which it checks. It adds the seeds to the scope.
// Options that are not about a single visit are checked, but have no effect. The caller has to
// queue the seeds, and to enforce the limits of the crawl and the limits that SiteLimits returns
// for each site. With Options.Revisit the caller must set frontier.Options.Revisits. The error is
// an *OptionError.
func NewJob(opts Options, h Handler, deps JobDeps) (*Job, error) {
	if seeds, err := opts.prepare(); err != nil {
		return nil, err
	} else if len(seeds) == 0 {
		return nil, errNoSeeds
	}
	return newJob(opts, h, deps)
}

// SameAs returns the URL under which a crawl with the options o stores the page at u.
func SameAs(o *Options, u frontier.URL) frontier.URL {
	if v := o.same(u, nil); !v.IsZero() {
		return v
	}
	return u
}
