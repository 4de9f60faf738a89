package frontier

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Forever is a value of Limits.Patience: the run waits for every entry.
const Forever time.Duration = math.MaxInt64

// Limits bound the pages, bytes, rate and turns of a whole crawl, and how long it waits.
// Allow changes them during a run.
type Limits struct {
	Pages int        // largest number of pages of the whole crawl; 0: no limit. See Options.Requisites
	Bytes int64      // largest number of bytes of all answers of the crawl; 0: no limit
	Rate  rate.Limit // largest number of requests per second to all sites together; 0: no limit
	// Turns is the largest number of turns that are out at once, except turns made by Hop. Up
	// to half of them are kept back for quick sites (see the package documentation). 0: no
	// limit.
	Turns int
	// Patience is how long the run waits for the next entry. The run ends if no entry falls due
	// within this time. 0: 2 min, -1: no patience, Forever: the run waits for every entry.
	Patience time.Duration
	Paused   bool // no turn is handed out, but turns that are out continue, and pauses pass
	Open     bool // the run does not end by itself: without work, or at a limit, it waits for Add, Allow or Stop
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

// pace holds the limits of all sites together, and their state.
type pace struct {
	limits  Limits        // current limits; only the method set writes them
	limiter *rate.Limiter // the limiter for limits.Rate; nil if there is no limit
	credit  int           // tokens of limiter that turns without a request did not use; 0 without a limiter
	// closed is set with Options.Requisites when the limit of pages is reached. Then only entries
	// are requested for which Entry.AfterPages is true. Only turnover writes closed.
	closed bool
}

// Allow changes the limits of the run. It calls change with the current limits; afterwards the
// changed limits apply. Calls of Allow run one after another. The changed limits count from the
// next turn on. A limit is reached at once if it is below what the crawl has spent, or below the
// number of turns that are out. change must not call methods of the frontier.
//
// After the end of the run Allow changes nothing and returns the same error as Next. If a limit is
// negative, Allow changes nothing and returns an error. If Allow returns nil, the run has not
// ended, and the earlier limits can no longer end it.
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

// set makes l the current limits. If the rate changes, the limiter keeps its tokens. If there was
// no limit of the rate before, the turns that are out need no tokens.
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

// full returns two results. The result used says whether requests that have ended use up the limit
// of pages or of bytes. The result full says whether a limit forbids another turn now. It also
// counts the pages that may come from held entries and from turns that are out, and the bytes that
// these turns have received.
//
// With Options.Requisites the limit of pages is never used up. After f.closed is set, this limit
// forbids no turn either, because the method shut keeps the sites from requesting pages.
func (f *Frontier) full() (full, used bool) {
	l := &f.limits
	used = f.bytesUsed(f.spent.Bytes) || !f.opts.Requisites && f.pagesUsed(f.spent.Pages)
	paged := !f.closed && f.pagesUsed(f.spent.Pages+f.heldPages+f.pages)
	read := f.bytesUsed(f.spent.Bytes + f.reading)
	return used || paged || read || l.Paused || l.Turns > 0 && f.out >= l.Turns, used
}

// pagesUsed reports whether n pages use up the limit of pages, or the credit of this frontier.
func (f *Frontier) pagesUsed(n int) bool {
	most := f.limits.Pages
	return most > 0 && (n >= most || f.opts.Credit != nil && n >= f.opts.Credit().Pages)
}

// bytesUsed reports whether n bytes use up the limit of bytes, or the credit of this frontier.
func (f *Frontier) bytesUsed(n int64) bool {
	most := f.limits.Bytes
	return most > 0 && (n >= most || f.opts.Credit != nil && n >= f.opts.Credit().Bytes)
}

// impatient reports whether no site will be due within the patience (Limits.Patience). The
// parameter wait is the time until the first waiting site is due.
func (f *Frontier) impatient(wait time.Duration) bool {
	return len(f.waiting.sites) == 0 || wait > f.limits.patience()
}

// throttle returns how long the rate limit (Limits.Rate) still forbids the next request. The
// result is 0 if a request may start now.
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

// pay takes a token of the limiter for the next request. It first uses a token that a turn without
// a request has left (see refund).
func (f *Frontier) pay(now time.Time) {
	switch {
	case f.limiter == nil:
	case f.credit > 0:
		f.credit--
	default:
		f.limiter.ReserveN(now, 1)
	}
}

// refund keeps the token of a turn that made no request for a later turn. The limiter cannot take
// back a token exactly.
func (f *Frontier) refund() {
	if f.limiter != nil {
		f.credit++
	}
}
