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

// A watch ends an exchange whose current phase, or whole, takes too long.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timeout time.Duration
	at      atomic.Uint32
	step    *time.Timer
	total   *time.Timer
	ends    time.Time // when total fires
	paused  time.Time
}

func newWatch(ctx context.Context, timeout time.Duration) *watch {
	w := &watch{timeout: timeout, ends: time.Now().Add(totalTimeouts * timeout)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.step = time.AfterFunc(timeout, func() { w.cancel(errPhase) })
	w.total = time.AfterFunc(totalTimeouts*timeout, func() { w.cancel(errTotal) })
	return w
}

// enter says that a phase begins, or goes on.
func (w *watch) enter(p phase) {
	w.at.Store(uint32(p))
	w.step.Reset(w.timeout)
}

// pause stops the time-outs.
func (w *watch) pause() {
	w.paused = time.Now()
	w.step.Stop()
	w.total.Stop()
}

// resume lets the time-outs go on as if there had been no pause.
func (w *watch) resume() {
	now := time.Now()
	w.ends = w.ends.Add(now.Sub(w.paused))
	w.total.Reset(w.ends.Sub(now))
	w.step.Reset(w.timeout)
}

func (w *watch) phase() phase { return phase(w.at.Load()) }

func (w *watch) stop() {
	w.step.Stop()
	w.total.Stop()
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
