package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// totalTimeouts is how long a whole exchange may take, as a multiple of the time-out of a phase.
// It ends an exchange with a server that sends a byte from time to time.
const totalTimeouts = 4

// A watch ends an exchange if its current phase, or the whole exchange, takes too long. It belongs
// to the goroutine of the exchange.
//
// On a connection with deadlines, the watch sets the deadlines, and needs no timer. Code that
// needs a context calls the method context. This context has a timer for the end of the phase or
// of the exchange, the earlier of the two.
type watch struct {
	parent  context.Context
	timeout time.Duration
	at      phase
	until   time.Time // when the current phase must end
	ends    time.Time // when the exchange must end
	paused  time.Time
	cause   error // errPhase or errTotal after a missed deadline; otherwise nil

	ctx    context.Context // the result of the method context; nil before its first call
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels ctx; nil if ctx is nil, or if deadlines replace the timer
	last   atomic.Bool // until is the end of the exchange, not of the phase
}

func newWatch(ctx context.Context, timeout time.Duration) *watch {
	w := &watch{parent: ctx, timeout: timeout, ends: time.Now().Add(totalTimeouts * timeout)}
	w.set()
	return w
}

// context returns a context that is cancelled at the end of the phase or of the exchange.
func (w *watch) context() context.Context {
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithCancelCause(w.parent)
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(w.until), w.expire)
	}
	return w.ctx
}

func (w *watch) expire() {
	if w.last.Load() {
		w.cancel(errTotal)
	} else {
		w.cancel(errPhase)
	}
}

// enter starts the time-out of the phase p. If p is already the current phase, its time-out starts
// again.
func (w *watch) enter(p phase) {
	w.at = p
	w.set()
}

func (w *watch) set() {
	w.until = time.Now().Add(w.timeout)
	last := !w.until.Before(w.ends)
	if last {
		w.until = w.ends
	}
	if w.last.Store(last); w.timer != nil {
		w.timer.Reset(time.Until(w.until))
	}
}

// within makes the exchange end after d at the latest.
func (w *watch) within(d time.Duration) {
	if end := time.Now().Add(d); end.Before(w.ends) {
		w.ends = end
		w.set()
	}
}

// pause stops all time-outs until resume is called.
func (w *watch) pause() {
	w.paused = time.Now()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// resume ends the pause and starts the time-out of the phase again. The length of the pause is
// added to the end of the exchange.
func (w *watch) resume() {
	w.ends = w.ends.Add(time.Since(w.paused))
	w.set()
}

// byDeadlines stops the timer, because the deadlines of a connection replace it.
func (w *watch) byDeadlines() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// missed returns the error to report for err, an error of a connection with the deadlines of w. If
// a deadline was missed, this is the reason: the cause of the parent context, errPhase or
// errTotal.
func (w *watch) missed(err error) error {
	if err == nil || err == io.EOF || !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if ended := w.ended(); ended != nil {
		return ended
	}
	if w.cause == nil {
		if w.cause = errPhase; !time.Now().Before(w.ends) {
			w.cause = errTotal
		}
	}
	return w.cause
}

// ended returns why the parent context was cancelled, or nil if it was not cancelled.
func (w *watch) ended() error {
	if w.parent.Err() == nil {
		return nil
	}
	return context.Cause(w.parent)
}

// why returns why the exchange was ended early, or nil if it was not.
func (w *watch) why() error {
	if w.cause != nil {
		return w.cause
	}
	if w.ctx != nil {
		if cause := context.Cause(w.ctx); cause != nil {
			return cause
		}
	}
	return w.ended()
}

func (w *watch) stop() {
	w.byDeadlines()
	if w.cancel != nil {
		w.cancel(nil)
	}
}

// A timed is a connection whose reads and writes have the deadlines of the current exchange.
type timed struct {
	net.Conn
	watch *watch      // the watch of the current exchange; nil between two exchanges
	past  func()      // makes reads and writes fail at once, when the context of the exchange ends
	stop  func() bool // stops the context from calling past; returns false if past was called
}

func newTimed(c net.Conn) *timed {
	t := &timed{Conn: c}
	t.past = func() { c.SetDeadline(time.Unix(1, 0)) }
	return t
}

// begin starts an exchange, whose deadlines w sets.
func (t *timed) begin(w *watch) {
	w.byDeadlines()
	t.watch, t.stop = w, context.AfterFunc(w.parent, t.past)
}

// end ends the exchange. It returns true if the connection can be used for another exchange: past
// was not called and will not be called.
func (t *timed) end() bool {
	t.watch = nil
	return t.stop()
}

// Read implements net.Conn. It sets the deadline before it checks the context of the exchange. If
// the context ends after the check, past replaces this deadline.
//
// The deadline also applies to writes, because TLS may write during a read, to answer a change of
// keys (RFC 8446, section 4.6.3). A pipe whose other end is closed refuses a deadline, but may
// still have data to read.
func (t *timed) Read(p []byte) (int, error) {
	if t.watch == nil {
		return t.Conn.Read(p)
	}
	if err := t.Conn.SetDeadline(t.watch.until); err != nil && err != io.ErrClosedPipe {
		return 0, err
	}
	if err := t.watch.ended(); err != nil {
		return 0, err
	}
	n, err := t.Conn.Read(p)
	return n, t.watch.missed(err)
}

// Write implements net.Conn, like Read. It gives up after half of the time-out. The other half is
// for the answer of a server that does not read the whole request.
func (t *timed) Write(p []byte) (int, error) {
	half := time.Now().Add(t.watch.timeout / 2)
	if half.After(t.watch.until) {
		half = t.watch.until
	}
	if err := t.Conn.SetWriteDeadline(half); err != nil {
		return 0, err
	}
	if err := t.watch.ended(); err != nil {
		return 0, err
	}
	return t.Conn.Write(p)
}

// wireURL returns a URL for which net/http sends the target of u (path and query) as it was
// written. Package net/url would refuse or rewrite some targets that servers use.
func wireURL(u frontier.URL) *url.URL {
	w := &url.URL{Scheme: u.Scheme(), Host: u.Site().Authority(), Opaque: u.Target()}
	if strings.HasPrefix(w.Opaque, "//") {
		// A target that starts with two slashes would be read as an authority. The absolute
		// form (RFC 9112, section 3.2.2) is unambiguous.
		w.Opaque = "//" + w.Host + w.Opaque
	}
	return w
}
