package postgres

import (
	"log/slog"
	"sync"
	"time"
)

// awayFor is how long all statements fail before the log says so. A server that restarts at once is
// back earlier.
const awayFor = 2 * time.Second

// away tells the log when the server cannot be reached, and when it answers again. Its methods may
// be called from several goroutines.
type away struct {
	log   *slog.Logger // nil: nothing is told
	mu    sync.Mutex
	since time.Time // the first failure after the last success; zero: there was none
	told  bool
}

// failed records that a statement failed, and that it will be tried again.
func (a *away) failed(err error, lease, longest time.Duration) {
	now := time.Now()
	a.mu.Lock()
	if a.since.IsZero() {
		a.since = now
	}
	since, tell := a.since, a.log != nil && !a.told && now.Sub(a.since) >= awayFor
	a.told = a.told || tell
	a.mu.Unlock()
	if tell {
		a.log.Warn("the database does not answer, and is tried again", "since", since.Format(time.TimeOnly),
			"requests stop after", lease, "the node ends after", longest, "error", err)
	}
}

// answered records that a statement had an answer.
func (a *away) answered() {
	a.mu.Lock()
	since, tell := a.since, a.told
	a.since, a.told = time.Time{}, false
	a.mu.Unlock()
	if tell {
		a.log.Warn("the database answers again", "after", time.Since(since).Round(time.Second))
	}
}
