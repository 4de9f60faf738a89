package postgres

import (
	"log/slog"
	"sync"
	"time"
)

// shortOutage is how long a server may be away before that is logged and shown. A restart is often
// shorter.
const shortOutage = 2 * time.Second

// An outageLog records since when the server does not answer. It logs the outage, and its end. Its
// methods are safe for concurrent use.
type outageLog struct {
	to     *slog.Logger // nil: nothing is logged
	mu     sync.Mutex
	since  time.Time // the first failure after the last success; zero after a success
	logged bool
}

// failed records that a statement failed, and that it will be tried again.
func (o *outageLog) failed(err error, lease, longest time.Duration) {
	now := time.Now()
	o.mu.Lock()
	if o.since.IsZero() {
		o.since = now
	}
	since, log := o.since, o.to != nil && !o.logged && now.Sub(o.since) >= shortOutage
	o.logged = o.logged || log
	o.mu.Unlock()
	if log {
		o.to.Warn("the database does not answer: this node tries again", "since", since.Format(time.TimeOnly),
			"requests stop after", lease, "the node ends after", longest, "error", err)
	}
}

// begun returns the start of the outage, or the zero time if there is none or it is still short.
func (o *outageLog) begun() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || time.Since(o.since) < shortOutage {
		return time.Time{}
	}
	return o.since
}

// answered records that a statement succeeded.
func (o *outageLog) answered() {
	o.mu.Lock()
	since, log := o.since, o.logged
	o.since, o.logged = time.Time{}, false
	o.mu.Unlock()
	if log {
		o.to.Warn("the database answers again", "after", time.Since(since).Round(time.Second))
	}
}
