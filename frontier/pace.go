package frontier

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Forever is a patience without an end.
const Forever time.Duration = math.MaxInt64

// Limits are what a crawl may take in all, and how long it waits. They may be
// changed while it runs.
type Limits struct {
	Pages    int           // of the whole crawl; 0: no limit. See Options.Requisites
	Bytes    int64         // of answers of the whole crawl; 0: no limit
	Rate     rate.Limit    // requests per second, all sites together; 0: no limit
	Turns    int           // out at once, without those made by Hop; up to half are kept back for quick sites (see the package documentation); 0: no limit
	Patience time.Duration // the run ends when nothing falls due within it; 0: 2 min, -1: none, Forever: when nothing waits any more
	Paused   bool          // no turn is handed out; those that are out go on, and so do the clocks
	Open     bool          // where the run would end, or has used up a limit, it waits for Add, Allow or Stop
}

func (l *Limits) check() error {
	for _, n := range []struct {
		field string
		bad   bool
	}{
		{"Pages", l.Pages < 0}, {"Bytes", l.Bytes < 0}, {"Rate", l.Rate < 0}, {"Turns", l.Turns < 0}, {"Patience", belowNone(l.Patience)},
	} {
		if n.bad {
			return fmt.Errorf("frontier: Limits.%s is negative", n.field)
		}
	}
	return nil
}

func (l *Limits) patience() time.Duration { return orDefault(l.Patience, 2*time.Minute) }

// pace is what counts for all sites together.
type pace struct {
	limits  Limits        // set alone writes it
	limiter *rate.Limiter // of limits.Rate; nil for no limit
	credit  int           // turns paid for there that made no request; 0 without a limiter
	closed  bool          // no page is asked for any more, but for what pages are shown with; turnover alone writes it
}

// Allow changes the limits: change is given those in force, and no other change
// comes between. They count from the next turn that is handed out: a limit below
// what is spent or out already is used up. change must not call the frontier.
//
// It is too late after an end: then nothing is changed, and the error is that
// end, as Next returns it. Otherwise the error says which limit is negative.
// Where Allow returns nil, no end has come that the new limits do not make.
func (f *Frontier) Allow(change func(*Limits)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	l := f.limits
	change(&l)
	if err := l.check(); err != nil {
		return err
	}
	f.set(l, f.now())
	f.turnover()
	f.kickLocked()
	return nil
}

// Limits are those in force.
func (f *Frontier) Limits() Limits {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.limits
}

// set puts limits in force. What the limiter has saved up, or is owed, stays; the
// turns that are out when there was none are not owed to the first one.
func (p *pace) set(l Limits, now time.Time) {
	switch p.limits = l; {
	case l.Rate == 0:
		p.limiter, p.credit = nil, 0
	case p.limiter == nil:
		p.limiter = rate.NewLimiter(l.Rate, 1)
	default:
		p.limiter.SetLimitAt(now, l.Rate)
	}
}

// full reports whether a limit forbids another turn for now, and whether one is
// used up, whatever comes of the pages under way: those may turn out to be none, and
// their bytes count once they have ended. While
// the crawl is closed its pages are no such limit: the sites are shut.
func (f *Frontier) full() (full, used bool) {
	l := &f.limits
	used = l.Bytes > 0 && f.spent.Bytes >= l.Bytes || !f.opts.Requisites && l.Pages > 0 && f.spent.Pages >= l.Pages
	paged := !f.closed && l.Pages > 0 && f.spent.Pages+f.heldPages+f.pages >= l.Pages
	read := l.Bytes > 0 && f.spent.Bytes+f.reading >= l.Bytes
	return used || paged || read || l.Paused || l.Turns > 0 && f.out >= l.Turns, used
}

// impatient reports whether the first site that waits is due too late, or none
// waits at all.
func (f *Frontier) impatient(wait time.Duration) bool {
	return len(f.waiting.sites) == 0 || wait > f.limits.patience()
}

// throttle says how long the limit on all requests forbids the next one.
func (f *Frontier) throttle(now time.Time) time.Duration {
	if f.limiter == nil || f.credit > 0 {
		return 0
	}
	missing := 1 - f.limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(f.limiter.Limit()) * float64(time.Second)))
}

// pay takes the next request's token. A turn that makes no request leaves it
// as a credit: the limiter itself cannot take back exactly.
func (f *Frontier) pay(now time.Time) {
	switch {
	case f.limiter == nil:
	case f.credit > 0:
		f.credit--
	default:
		f.limiter.ReserveN(now, 1)
	}
}

// refund takes back the token of a turn that made no request.
func (f *Frontier) refund() {
	if f.limiter != nil {
		f.credit++
	}
}
