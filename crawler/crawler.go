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

// A Crawler is one crawl on one machine. It has a job, which fetches single URLs, a frontier,
// which decides what is fetched when, workers, and a directory. Run can be called once only.
type Crawler struct {
	opts  Options // checked; never changed
	seeds []frontier.Entry
	idle  *Summary // the summary that Idle has computed; nil: Idle was not called, or has returned false
	join  func()   // begins to share the crawl with other nodes; nil: there are none

	// Set by Run before started is closed; read only after that.
	started  chan struct{}
	visits   *job
	frontier *frontier.Frontier
	db       *store.DB // nil without Options.Dir
	rescans  *asked    // the stored options, with Rescan set; nil: there is no rescan
	revisits bool      // the queue may have entries that wait to be fetched again
	run      time.Time // the start of this run, which identifies its stored status

	// gate is held for reading while seeds are added, so that the directory is not closed
	// meanwhile. It is locked before mu.
	gate sync.RWMutex

	// mu guards the fields below: the state and the limits of the run, which any goroutine
	// may use. While it is held, only locks of the frontier are taken.
	mu     sync.Mutex
	queue  queue // the frontier's backlog; nil after it is closed
	ran    bool
	early  []frontier.Entry // entries that Add got before seeded was set; begin queues them
	known  map[string]bool  // keys of the seeds of Options and of Add; nil before the first Add, and after seeded was set
	seeded bool             // the seeds are queued: from now on the frontier may be stopped, and Add may add entries to it
	stop   bool             // the run stops, or has stopped
	end    End              // the first reason to end
	over   time.Time        // when the workers ended
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

// stopped reports whether the run is to end, because Stop was called or Limits.Time is up.
func (c *Crawler) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}

// ended records the first reason why the crawl ended.
func (c *Crawler) ended(end End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == "" {
		c.end = end
	}
}

// Limits returns the limits that apply now.
func (c *Crawler) Limits() Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits
}

// whileOpen calls f while the directory of the crawl is open. If it is closed, because the run has
// ended, whileOpen returns ErrEnded.
func (c *Crawler) whileOpen(f func() error) error {
	c.gate.RLock() // so that the directory is not closed meanwhile
	defer c.gate.RUnlock()
	c.mu.Lock()
	closed := c.queue == nil
	c.mu.Unlock()
	if closed {
		return ErrEnded
	}
	return f()
}

// A queue knows the entries of a crawl.
type queue interface {
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error] // those of a site that are still queued
	Known(*frontier.Entry) (bool, error)                   // whether one was ever queued
}

// ErrEnded is returned by methods that change a run, such as Add and Allow, if the run has
// ended or is ending. Nothing is changed then. To resume a crawl in a directory, begin
// another run.
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
