package crawler

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Crawler is one crawl on one machine. It has a job, which fetches single URLs, a frontier, which
// decides the order and the times of requests, workers, and a directory. Run can be called only
// once.
type Crawler struct {
	opts  Options // validated; constant
	seeds []frontier.Entry
	idle  *Summary // the result of Idle, if Idle returned true; otherwise nil
	join  func()   // begins to share the crawl with other nodes; nil if there are none

	// Run sets these fields before it closes started. After that they are only read.
	started  chan struct{}
	visits   *job
	frontier *frontier.Frontier
	db       *store.DB  // nil without Options.Dir
	rescans  *storedRun // the stored options of this run if it has a rescan; otherwise nil
	revisits bool       // the queue may have entries that wait to be fetched again
	run      time.Time  // the start of this run and the time of its first line in crawl.log; it identifies the run

	// gate is read-locked while seeds are added, so that the directory is not closed meanwhile. It
	// is locked before mu.
	gate sync.RWMutex

	// mu guards the fields below: the state and the limits of the run, which any goroutine may use.
	// A goroutine that holds mu takes no other locks than those of the frontier.
	mu         sync.Mutex
	queue      queue // the frontier's backlog; nil before it is opened, and after it is closed
	ran        bool
	earlySeeds []frontier.Entry // entries that Add got before the queue was open; begin queues them
	// Keys of the seeds of Options and of Add; nil before the first Add, and after seeded was set.
	seedKeys map[string]bool
	// begin has queued the seeds. So the frontier may be stopped.
	seeded  bool
	stop    bool      // the run stops, or has stopped
	end     End       // the first reason why the run ended; "" while it runs
	endedAt time.Time // when the workers ended
	allowed
	ordered
	unlisted unlisted
}

// running reports whether Run has opened the storage, the fetcher and the frontier.
func (c *Crawler) running() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// stopped reports whether no new visits may begin, because Stop was called or Limits.Time is up.
func (c *Crawler) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}

// ended records end as the reason why the crawl ended. It does nothing if a reason is recorded
// already.
func (c *Crawler) ended(end End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == "" {
		c.end = end
	}
}

// Limits returns the limits that are in force.
func (c *Crawler) Limits() Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits
}

// whileOpen calls f while the directory of the crawl is open. If the run has ended and the
// directory is closed, whileOpen does not call f and returns ErrEnded.
func (c *Crawler) whileOpen(f func() error) error {
	c.gate.RLock() // so that the directory is not closed during f
	defer c.gate.RUnlock()
	c.mu.Lock()
	closed := c.queue == nil
	c.mu.Unlock()
	if closed {
		return ErrEnded
	}
	return f()
}

// A queue gives access to the queued and known entries of a crawl.
type queue interface {
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error] // the entries of a site that are still queued
	Known(*frontier.Entry) (bool, error)                   // whether an entry was ever queued
}

// ErrEnded is returned by methods that change a run, such as Add and Allow, if the run has ended or
// is ending. The call has then changed nothing. To resume a crawl in a directory, begin another
// run.
var ErrEnded = errors.New("crawler: the run has ended, or is about to: begin another one")

// tooLate wraps err with ErrEnded if err says that the frontier has ended. It returns other
// errors unchanged.
func tooLate(err error) error {
	for _, end := range []error{frontier.ErrEnd, frontier.ErrLimit, frontier.ErrStopped} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrEnded, err)
		}
	}
	return err
}
