package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"golang.org/x/time/rate"
)

// Limits limit what a run may use, and how long it waits. A run begins with the limits in
// Options. Allow changes them.
type Limits struct {
	Pages    int           // maximum number of pages of the whole crawl; 0: no limit
	Bytes    int64         // maximum bytes of answers of the whole crawl, as they come over the wire; 0: no limit
	Time     time.Duration // time from the start of Run after which the run is stopped; 0: no limit
	Rate     float64       // requests per second, all sites together; 0: no limit
	Patience time.Duration // the run ends if no URL may be requested within this time; 0: 2 min, -1: at once, frontier.Forever: when no URL waits any more

	Concurrency int // visits at once, no more than Options.Concurrency; 0: Options.Concurrency

	Open bool // when nothing is left, or Pages or Bytes are used up, the run does not end but waits for Add or Allow; only Stop and Time end it
}

func (o *Options) limits() Limits {
	return Limits{Pages: o.Limit, Bytes: o.MaxBytes, Time: o.MaxTime, Rate: o.Rate, Patience: o.Patience}
}

// put returns a function that sets the limits of a frontier to l. The parameter visits is the
// maximum number of visits at once if l.Concurrency is 0.
func (l *Limits) put(visits int) func(*frontier.Limits) {
	return func(f *frontier.Limits) {
		*f = frontier.Limits{
			Pages: l.Pages, Bytes: l.Bytes, Rate: rate.Limit(l.Rate), Turns: cmp.Or(l.Concurrency, visits),
			Patience: l.Patience, Open: l.Open, Paused: f.Paused,
		}
	}
}

func (l *Limits) check(o *Options) error {
	for _, n := range []struct {
		field string
		bad   bool
	}{
		{"Pages", l.Pages < 0}, {"Bytes", l.Bytes < 0}, {"Time", l.Time < 0}, {"Rate", l.Rate < 0}, {"Concurrency", l.Concurrency < 0},
	} {
		if n.bad {
			return &OptionError{Field: "Limits." + n.field, Reason: "is negative"}
		}
	}
	if wrong := setting.BelowNone(l.Patience); wrong != "" {
		return &OptionError{Field: "Limits.Patience", Reason: wrong}
	}
	if l.Concurrency > o.Concurrency {
		return &OptionError{Field: "Limits.Concurrency", Reason: fmt.Sprintf("is more than the %d that the run was begun with", o.Concurrency)}
	}
	if math.IsNaN(l.Rate) {
		return &OptionError{Field: "Limits.Rate", Reason: "is no number"}
	}
	return nil
}

func (l *Limits) patience() time.Duration { return max(0, cmp.Or(l.Patience, 2*time.Minute)) }

// as stores the limits l in the fields of o.
func (l *Limits) as(o *Options) {
	o.Limit, o.MaxBytes, o.MaxTime, o.Rate, o.Patience = l.Pages, l.Bytes, l.Time, l.Rate, l.Patience
	if l.Concurrency > 0 {
		o.Concurrency = l.Concurrency
	}
}

// set sets the limit with a name to a text of limitTexts.
func (l *Limits) set(name, text string) error {
	var o Options
	l.as(&o)
	for _, s := range o.Settings() {
		if s.Name == name {
			if err := s.Set(text); err != nil {
				return err
			}
		}
	}
	open := l.Open
	*l = o.limits()
	l.Concurrency, l.Open = o.Concurrency, open
	return nil
}

// limitTexts returns the limits as texts in the form of Setting.String, by their names.
func (c *Crawler) limitTexts(l Limits) map[string]string {
	o := Options{Pace: Pace{Concurrency: c.opts.Concurrency}}
	l.as(&o)
	texts := map[string]string{}
	for _, s := range o.Settings() {
		if slices.Contains(setting.Limits(), s.Name) {
			texts[s.Name] = s.String()
		}
	}
	return texts
}

// differences returns the old and new values of the limits that differ, or "" if all are
// the same.
func differences(was, is map[string]string) string {
	var all []string
	for _, name := range setting.Limits() {
		if was[name] != is[name] {
			all = append(all, fmt.Sprintf("%s %s -> %s", name, setting.InWords(was[name]), setting.InWords(is[name])))
		}
	}
	return strings.Join(all, "; ")
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

// Limits returns the limits that apply now.
func (c *Crawler) Limits() Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits
}

// Allow changes the limits. It calls the function change with the limits that apply now. Until
// Allow returns, no other call can change them. The function must not call methods of c. Allow
// may be called at any time, from any goroutine, also from a Handler. The new limits apply from
// the next visit on. If the crawl has already used more than a new limit allows, the run ends.
// The new limits apply to this run only: the next run begins with the limits of its Options.
//
// If the error is nil, the old limits can no longer end the run. If the run has ended already,
// the error is ErrEnded; for an invalid limit it is an *OptionError. If there is an error,
// nothing is changed.
func (c *Crawler) Allow(change func(*Limits)) error {
	changed, err := c.allow(change)
	if err != nil || len(changed) == 0 {
		return err
	}
	return c.tellLimits(changed)
}

// allow changes the limits of this node. It returns what the other nodes must be told.
func (c *Crawler) allow(change func(*Limits)) (tell map[string]string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop {
		return nil, ErrEnded
	}
	l := c.limits
	change(&l)
	if err := l.check(&c.opts); err != nil {
		return nil, err
	}
	if c.frontier != nil {
		if err := c.frontier.Allow(c.put(l)); err != nil {
			return nil, tooLate(err)
		}
	}
	if c.join != nil {
		tell = changed(c.limitTexts(c.limits), c.limitTexts(l))
		c.unlisted.add(tell)
	}
	c.limits = l
	c.arm()
	return tell, nil
}

// allowed has the limits of a run, and its timers. Crawler.mu guards it.
type allowed struct {
	limits   Limits
	began    time.Time   // start of the run; zero before Run
	timer    *time.Timer // calls timeUp; nil before Run
	breakOff *time.Timer // cancels running requests timeGrace after the time is up; nil until the time is up
}

// arm sets the timer of the run to the time that is left, if Run was called.
func (a *allowed) arm() {
	if a.timer == nil {
		return
	}
	if a.timer.Stop(); a.limits.Time > 0 {
		a.timer.Reset(a.limits.Time - time.Since(a.began))
	}
}

var errTime = errors.New("crawler: the time of the run is up")

// timeGrace is how long running requests may continue after the time of a run is up.
const timeGrace = 10 * time.Second

// bounded starts the timer that stops the crawl when its time is up. The returned context ends
// timeGrace later, which cancels requests that are still running. The returned function stops
// the timer and ends the context.
func (c *Crawler) bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Now()
	c.timer = time.AfterFunc(frontier.Forever, func() { c.timeUp(cancel) })
	c.arm()
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		if c.breakOff != nil {
			c.breakOff.Stop()
		}
		cancel(nil)
	}
}

func (c *Crawler) timeUp(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.limits.Time; l == 0 || time.Since(c.began) < l || c.breakOff != nil {
		return // the limit was raised while the timer fired
	}
	c.halt(EndTime)
	c.breakOff = time.AfterFunc(timeGrace, func() { cancel(errTime) })
}
