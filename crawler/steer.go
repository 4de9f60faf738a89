package crawler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// The methods below control a running crawl. They may be called at any time, even before Run, and
// from any goroutine. Each call is recorded as an Order. From the call of Options.OnStart on, it returns
// when the order is stored; Run stores earlier orders when it begins. After an error nothing has
// changed, except that an order that is not stored in time applies until the process ends. The
// methods can never make requests to a site more frequent, nor allow requests that are forbidden:
// no pause becomes shorter, and excluded URLs stay excluded.

// Pause stops new visits. Running visits are finished. Like the other methods that control a run,
// it may be called at any time, even before Run, and from any goroutine. While the run is paused,
// the pauses of sites and Options.MaxTime continue to elapse. A paused run ends only by Stop or by
// Options.MaxTime. The next run does not begin paused. The error is ErrEnded, an *OptionError for a
// reason that is too long, or an error of the disk.
//
// From the call of Options.OnStart on, Pause waits until the order is stored, usually some
// milliseconds. If the disk or the database has not stored it after ten seconds, the order applies,
// and the error wraps context.DeadlineExceeded. Before that call Pause returns at once, and Run
// stores the order when it begins.
func (c *Crawler) Pause(reason string) error {
	return c.order(Order{Do: OrderPause, Reason: reason})
}

// Resume ends a Pause. It fails like Pause.
func (c *Crawler) Resume(reason string) error {
	return c.order(Order{Do: OrderResume, Reason: reason})
}

// Slow makes the minimum pause between two requests to a site longer. A pause is measured from the
// end of the last answer. The parameter of is a site, such as https://example.org:8080, or a host
// name, such as example.org, or empty. A host name means all schemes and ports of the host, but not
// its subdomains; empty means all sites. If robots.txt or failures of the site require a longer
// pause, that pause applies. If delay is longer than Budget.Patience and no other URL is left, the
// run ends. After Slow has returned, no visit begins before the new pause is over. Running visits
// continue.
//
// The longer pause applies to the whole crawl. Slow waits until the order is stored, as Pause does;
// later runs keep the pause, even after a kill, until Options.Lift revokes it. The error is a
// *frontier.FasterError if a longer pause applies already, an *OptionError for an invalid site or
// pause, or one of the errors of Pause.
func (c *Crawler) Slow(of string, delay time.Duration, reason string) error {
	of, err := parseTarget(of)
	if err != nil {
		return err
	}
	if delay <= 0 {
		return &OptionError{Field: "Delay", Reason: "is no pause: a site can only be given a longer one"}
	}
	if least := c.opts.Delay; delay < least {
		return &frontier.FasterError{Of: of, Delay: delay, Least: least}
	}
	return c.order(Order{Do: OrderSlow, Of: of, What: delay.String(), Reason: reason})
}

// Exclude ends requests to a site. The parameter of is a site or a host, as in Slow, but must not
// be empty. Queued URLs stay queued, and links to the site are still queued, too. Left yields these
// URLs with frontier.Excluded and the reason, which must not be empty. Running visits are finished;
// after that not even robots.txt is requested.
//
// The exclusion applies to later runs, too, as with Slow. The error is an *OptionError for an
// invalid site or an empty reason, or one of the errors of Pause.
func (c *Crawler) Exclude(of, reason string) error {
	of, err := parseTarget(of)
	switch {
	case err != nil:
		return err
	case of == "":
		return &OptionError{Field: "Of", Reason: "is empty: name a site or a host; Stop ends the whole run"}
	case strings.TrimSpace(reason) == "":
		return &OptionError{Field: "Reason", Reason: "is empty: say why the site is excluded"}
	}
	return c.order(Order{Do: orderExclude, Of: of, Reason: reason})
}

// Seed is like Add, and also records an Order with the reason.
func (c *Crawler) Seed(reason string, seeds ...string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	if _, err := c.Add(seeds...); err != nil || len(seeds) == 0 {
		return err
	}
	return c.record(Order{Do: orderAdd, What: strings.Join(seeds, " "), Reason: reason})
}

// Limit is like Allow, and also records an Order with the reason.
func (c *Crawler) Limit(reason string, change func(*Limits)) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	what := ""
	err := c.Allow(func(l *Limits) {
		was := c.limitTexts(*l)
		change(l)
		what = differences(was, c.limitTexts(*l))
	})
	if err != nil || what == "" {
		return err
	}
	return c.record(Order{Do: orderLimit, What: what, Reason: reason})
}

// maxReason is the maximum length of a reason in bytes.
const maxReason = 1000

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return &OptionError{Field: "Reason", Reason: fmt.Sprintf("is longer than %d bytes", maxReason)}
	}
	return nil
}

// order carries out an order and records it. A pause order for a paused run, and a resume order for
// a run that is not paused, change nothing and are not recorded.
func (c *Crawler) order(o Order) error {
	if err := checkReason(o.Reason); err != nil {
		return err
	}
	c.mu.Lock()
	if c.stop {
		c.mu.Unlock()
		return ErrEnded
	}
	pauses := o.Do == OrderPause
	if o.pauses() && pauses == c.paused {
		c.mu.Unlock()
		return nil
	}
	var err error
	if c.frontier != nil {
		err = tooLate(obey(c.frontier, o))
	}
	if err == nil && o.pauses() {
		c.paused = pauses
		if c.join != nil {
			c.unlisted.changes[pausing]++
		}
	}
	if err != nil {
		c.mu.Unlock()
		return err
	}
	o, begun := c.enlist(o)
	c.mu.Unlock()
	if !begun {
		return nil
	}
	return c.write(o)
}

// steer carries out the orders that were given before the frontier was open: orders of earlier runs
// that still apply, and orders of this run.
func (c *Crawler) steer() error {
	c.mu.Lock()
	early := c.pending
	c.pending = nil
	var errs []error
	for _, o := range slices.Concat(c.kept, early) {
		var faster *frontier.FasterError
		if err := obey(c.frontier, o); err != nil && !errors.As(err, &faster) { // a FasterError is no failure: a longer pause already applies
			errs = append(errs, err)
		}
	}
	var limits map[string]string // the limits that were changed before Run
	if c.join != nil {
		limits = changed(c.limitTexts(c.opts.limits()), c.limitTexts(c.limits))
		c.unlisted.add(limits)
		for _, o := range early {
			if o.pauses() {
				c.unlisted.changes[pausing]++
			}
		}
	}
	c.mu.Unlock()
	if len(limits) > 0 {
		errs = append(errs, c.tell("", nil, told{Limits: limits}))
	}
	for _, o := range early {
		errs = append(errs, c.note(o))
	}
	return errors.Join(errs...)
}

// Allow changes the limits of the run. It calls change with the limits that apply now. Until Allow
// returns, no other call can change them. The function must not call methods of c. Allow may be
// called at any time and from any goroutine, including from a Handler. The new limits apply from
// the next visit on. If the crawl has already used more than a new limit allows, the run ends. The
// next run begins with the limits of its Options again.
//
// If the error is nil, the old limits can no longer end the run. If the run has ended already, the
// error is ErrEnded; for an invalid limit it is an *OptionError. After an error nothing has
// changed.
func (c *Crawler) Allow(change func(*Limits)) error {
	changed, err := c.allow(change)
	if err != nil || len(changed) == 0 {
		return err
	}
	return c.tellLimits(changed)
}

// allow changes the limits of this node. In a crawl of several nodes, it returns the texts of the
// changed limits, which the other nodes must get.
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

// limitTexts returns the limits by name, as texts in the form of Setting.String.
func (c *Crawler) limitTexts(l Limits) map[string]string {
	o := Options{Pace: Pace{Concurrency: c.opts.Concurrency}}
	l.copyTo(&o)
	texts := map[string]string{}
	for _, s := range o.Settings() {
		if slices.Contains(setting.Limits(), s.Name) {
			texts[s.Name] = s.String()
		}
	}
	return texts
}

// Orders returns the orders of earlier runs that still apply, and the last hundred of this run. It
// may be called at any time and from any goroutine. Before the call of Options.OnStart it may leave
// out orders of earlier runs.
func (c *Crawler) Orders() []Order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.kept, c.orders)
}

// record records an order that was carried out already, in memory and in the directory of the
// crawl.
func (c *Crawler) record(o Order) error {
	c.mu.Lock()
	o, begun := c.enlist(o)
	c.mu.Unlock()
	if !begun {
		return nil
	}
	return c.write(o)
}

// enlist gives an order the current time and adds it to the orders of this run. It returns the
// order with that time, and whether the frontier is open. If it is not open, steer carries out the
// order later. The caller holds mu.
func (c *Crawler) enlist(o Order) (Order, bool) {
	o.Time = time.Now()
	if c.frontier == nil {
		c.pending = append(c.pending, o)
	}
	c.list(o)
	return o, c.frontier != nil
}

// storeWait is how long a method that gives an order waits until the order is stored.
const storeWait = 10 * time.Second

// write writes an order to the directory of the crawl, and waits until it is stored. It returns
// ErrEnded if the directory is closed. The run has then ended, so the order has changed nothing.
func (c *Crawler) write(o Order) error {
	return c.whileOpen(func() error {
		if err := c.note(o); err != nil || c.db == nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), storeWait, errStoring)
		defer cancel()
		return c.db.Sync(ctx)
	})
}

// errStoring says that an order was not stored within storeWait.
var errStoring = fmt.Errorf("crawler: the order applies, but was not stored within %v: if this process ends before the disk or the database answers, give the order again (%w)", storeWait, context.DeadlineExceeded)

// note is like write, but does not check whether the directory is open.
func (c *Crawler) note(o Order) error {
	if c.db == nil {
		return nil
	}
	notes := []string{"order:" + o.Do}
	for _, n := range []struct{ key, value string }{{"of", o.Of}, {"what", o.What}, {"why", o.Reason}} {
		if n.value != "" {
			notes = append(notes, n.key+":"+n.value)
		}
	}
	err := c.db.Log().Write(&crawllog.Line{Time: o.Time, Size: -1, URL: crawllog.RunURL, Annotations: notes})
	key := ""
	switch o.Do {
	// Not sent to the other nodes, which keep the order that they read when they began.
	case orderLift:
		return err
	case OrderSlow, orderExclude:
		key = kept.KeyOrder + o.Do + " " + o.Of
	}
	return errors.Join(err, c.tell(key, o, told{Order: &o}))
}
