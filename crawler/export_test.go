package crawler

import (
	"io"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// SetSmallestBounds makes every queue and cache of a crawl as small as it can
// be, and its disk slow.
func SetSmallestBounds(o *Options, syncDelay time.Duration) {
	o.bounds = bounds{storage: storage.Bounds{Queue: 1, Links: 1, Bytes: 1}, syncDelay: syncDelay, readAhead: 1, hosts: 1, idle: 1, names: 1, repeated: 1, sites: 1}
}

// tornQueue cannot be read behind the first entry.
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

// TearQueue spoils the queue of a crawl that runs.
func TearQueue(c *Crawler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = tornQueue{c.queue}
}

// ProcessesOf are those that are kept after some runs, an hour apart, each of which was done
// before the next one began.
func ProcessesOf(first time.Time, runs int) ([]Process, int, error) {
	var was asked
	var last keptStatus
	for i := range runs {
		now := asked{Began: first.Add(time.Duration(i) * time.Hour)}
		if err := now.withProcess(&was, &last); err != nil {
			return nil, 0, err
		}
		was, last = now, keptStatus{now.Began, Status{End: EndDone, Time: now.Began.Add(time.Minute)}}
	}
	return was.Processes, was.Forgotten, nil
}

// HasDigest reports whether a SHA-1 was made of a page's body.
func HasDigest(p *Page) bool { return p.sha1 != "" }
