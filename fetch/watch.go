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

// totalTimeouts is how many time-outs of a phase a whole exchange may take: a
// server that sends a byte now and then must come to an end, too.
const totalTimeouts = 4

// A watch ends an exchange whose current phase, or whole, takes too long. It belongs to
// the goroutine of the exchange.
//
// Over a connection that has deadlines these are its means, and nothing is made for them.
// What wants a context gets one, and a timer that ends it: set for whichever ends first.
type watch struct {
	parent  context.Context
	timeout time.Duration
	at      phase
	until   time.Time // the phase
	ends    time.Time // the whole
	paused  time.Time
	cause   error // errPhase or errTotal, once a deadline was missed

	ctx    context.Context // nil: nobody wanted it yet
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil where deadlines do
	last   atomic.Bool // timer is set for the end of the whole
}

func newWatch(ctx context.Context, timeout time.Duration) *watch {
	w := &watch{parent: ctx, timeout: timeout, ends: time.Now().Add(totalTimeouts * timeout)}
	w.set()
	return w
}

// context ends where the exchange is to end.
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

// enter says that a phase begins, or goes on.
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

// within says that the whole is to end in d, if not before.
func (w *watch) within(d time.Duration) {
	if end := time.Now().Add(d); end.Before(w.ends) {
		w.ends = end
		w.set()
	}
}

// pause stops the time-outs.
func (w *watch) pause() {
	w.paused = time.Now()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// resume lets the time-outs go on as if there had been no pause.
func (w *watch) resume() {
	w.ends = w.ends.Add(time.Since(w.paused))
	w.set()
}

// byDeadlines leaves the time-outs to the deadlines of a connection.
func (w *watch) byDeadlines() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// missed is what err, of a connection with the deadlines of w, stands for.
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

// ended is why the exchange was ended from outside: nil if it was not.
func (w *watch) ended() error {
	if w.parent.Err() == nil {
		return nil
	}
	return context.Cause(w.parent)
}

// why is why the exchange is at its end before its time: nil if it is not.
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

// timed is a connection whose reads and writes end when those of the exchange do that is
// under way.
type timed struct {
	net.Conn
	watch *watch      // nil between two exchanges
	past  func()      // ends reads and writes at once
	stop  func() bool // stops past from being called
}

func newTimed(c net.Conn) *timed {
	t := &timed{Conn: c}
	t.past = func() { c.SetDeadline(time.Unix(1, 0)) }
	return t
}

// begin says that an exchange begins.
func (t *timed) begin(w *watch) {
	w.byDeadlines()
	t.watch, t.stop = w, context.AfterFunc(w.parent, t.past)
}

// end says that it is over, and reports whether there may be another one: the end of its
// context does not reach into that.
func (t *timed) end() bool {
	t.watch = nil
	return t.stop()
}

// Read implements net.Conn. Where the context of the exchange ends behind the look at it,
// past comes behind the deadline that is set here. It is that of writes, too: TLS answers a
// change of keys while it reads (RFC 8446, section 4.6.3). A pipe whose other end is closed
// takes no deadline, but may have something to read.
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

// Write implements net.Conn, as Read does. It gives up at half of the time: a server that
// answers before it has read the request is read then.
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

// wireURL makes net/http send the target as it was written: net/url would
// refuse or rewrite some that servers use.
func wireURL(u frontier.URL) *url.URL {
	w := &url.URL{Scheme: u.Scheme(), Host: u.Site().Authority(), Opaque: u.Target()}
	if strings.HasPrefix(w.Opaque, "//") {
		// A target that starts with two slashes would be read as an
		// authority; the absolute form (RFC 9112, section 3.2.2) cannot be.
		w.Opaque = "//" + w.Host + w.Opaque
	}
	return w
}
