package fetch

import (
	"context"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// totalTimeouts is how many time-outs of a phase a whole exchange may take: a
// server that sends a byte now and then must come to an end, too.
const totalTimeouts = 4

// A watch ends an exchange whose current phase, or whole, takes too long. One
// timer does for both: it is set for whichever ends first.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timeout time.Duration
	at      atomic.Uint32
	timer   *time.Timer
	last    atomic.Bool // timer is set for the end of the whole
	ends    time.Time   // the whole
	paused  time.Time
}

func newWatch(ctx context.Context, timeout time.Duration) *watch {
	w := &watch{timeout: timeout, ends: time.Now().Add(totalTimeouts * timeout)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(timeout, w.expire)
	return w
}

func (w *watch) expire() {
	if w.last.Load() {
		w.cancel(errTotal)
	} else {
		w.cancel(errPhase)
	}
}

// enter says that a phase begins, or goes on.
func (w *watch) enter(p phase) {
	w.at.Store(uint32(p))
	w.set()
}

func (w *watch) set() {
	left := time.Until(w.ends)
	w.last.Store(left <= w.timeout)
	w.timer.Reset(min(left, w.timeout))
}

// pause stops the time-outs.
func (w *watch) pause() {
	w.paused = time.Now()
	w.timer.Stop()
}

// resume lets the time-outs go on as if there had been no pause.
func (w *watch) resume() {
	w.ends = w.ends.Add(time.Since(w.paused))
	w.set()
}

func (w *watch) phase() phase { return phase(w.at.Load()) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// wireURL makes net/http send the target as it was written: net/url would
// refuse or rewrite some that servers use. A proxy gets the absolute form.
func wireURL(u frontier.URL, absolute bool) *url.URL {
	w := &url.URL{Scheme: u.Scheme(), Host: u.Site().Authority(), Opaque: u.Target()}
	if absolute || strings.HasPrefix(w.Opaque, "//") {
		// A target that starts with two slashes would be read as an
		// authority; the absolute form (RFC 9112, section 3.2.2) cannot be.
		w.Opaque = "//" + w.Host + w.Opaque
	}
	return w
}
