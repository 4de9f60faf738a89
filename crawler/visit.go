package crawler

import (
	"context"
	"errors"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A worker makes one visit after the other.
type worker struct {
	number int
	found  *findings
}

// visit is the way of one turn: fetch, store, handle, give back. An error is
// one that ends the crawl.
func (c *Crawler) visit(ctx context.Context, w *worker, turn *frontier.Turn, h Handler) error {
	e := turn.Entry()
	reason, err := c.narrowedSince(e)
	if err != nil {
		_, ferr := turn.Finish(frontier.Outcome{Again: true})
		return errors.Join(err, ferr)
	}
	if reason != "" {
		res := fetch.Result{Outcome: frontier.Outcome{
			Fate: frontier.Fate{Code: frontier.OutOfScope, Detail: string(reason)},
		}}
		return errors.Join(c.logVisit(w.number, e, &res), c.finish(turn, &res))
	}
	res, err := c.fetcher.Get(ctx, turn)
	defer res.Release()
	if err != nil {
		lerr := c.logVisit(w.number, e, &res)
		_, ferr := turn.Finish(frontier.Outcome{Again: true, Request: res.Outcome.Request, RetryAfter: res.Outcome.RetryAfter})
		return errors.Join(err, lerr, ferr)
	}
	if res.Page == nil {
		err := c.store(e, &res, nil)
		return errors.Join(c.logVisit(w.number, e, &res), err, c.finish(turn, &res))
	}
	page := newPage(e, &res, extract.Options{Token: c.opts.Identity.Token, Embeds: c.opts.embeds()})
	res.Outcome.Fate.Digest = page.digest
	// A handler that panics, hangs or ends its goroutine costs no record of a
	// request that was made, and no pause after it.
	undecided := frontier.Outcome{Again: true, Request: res.Outcome.Request, RetryAfter: res.Outcome.RetryAfter}
	decided := false
	defer func() {
		if !decided {
			turn.Finish(undecided)
			c.frontier.Stop()
		}
	}()
	if err := errors.Join(c.logVisit(w.number, e, &res), c.keep(page, &res)); err != nil {
		return err
	}
	if err := c.handle(ctx, h, page, &res); err != nil {
		return err
	}
	if res.Outcome.Links, err = c.next(page, w.found); err != nil {
		return err
	}
	decided = true
	err = c.finish(turn, &res)
	w.found.clear()
	return err
}

// handle gives a page to the handler. An error is one that ends the crawl.
func (c *Crawler) handle(ctx context.Context, h Handler, page *Page, res *fetch.Result) error {
	err := call(ctx, h, page)
	switch {
	case errors.Is(err, ErrStop):
		c.Stop()
	case errors.Is(err, ErrRetry):
		res.Outcome.Trouble = frontier.PageTrouble
		res.Outcome.Fate.Code, res.Outcome.Fate.Detail = frontier.Failed, "handler"
	case err != nil:
		return c.handlerFailed(page, err)
	}
	return nil
}

// handlerFailed tells of an error of the handler.
func (c *Crawler) handlerFailed(page *Page, err error) error {
	c.counts.add(func(n *Counts) { n.Handler++ })
	said := []any{"url", page.URL.String(), "error", err}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		said = append(said, "stack", string(panicked.Stack))
	}
	c.opts.Logger.Error("handler failed", said...)
	if c.opts.OnError == nil {
		return nil
	}
	return safely("OnError", func() { c.opts.OnError(page, err) })
}

// narrowedSince says why an entry that was queued by an earlier run is no
// longer in scope.
func (c *Crawler) narrowedSince(e frontier.Entry) (reason Reason, err error) {
	if c.db == nil || e.FromSeed() {
		return "", nil
	}
	err = safely("Scope", func() { reason = c.narrowed(&e) })
	return reason, err
}

// keep stores a page before the handler sees it.
func (c *Crawler) keep(p *Page, res *fetch.Result) error {
	if err := c.admit(p); err != nil {
		return err
	}
	c.look(p)
	return c.store(p.Entry, res, p)
}

// look counts what is odd about a page, and says so.
func (c *Crawler) look(p *Page) {
	if p.html.Cut {
		var cut int
		c.counts.add(func(n *Counts) { n.Cut++; cut = n.Cut })
		if cut <= maxWarnings {
			c.opts.Logger.Warn("a page has more links than are taken", "url", p.URL.String(), "taken", len(p.html.Links))
		}
	}
	if p.Status/100 != 2 || p.Entry.Requisite() {
		return
	}
	if r, warn := c.repeats.see(p.URL, p.digest); warn {
		c.opts.Logger.Warn("pages have one body: is this a space without an end?", "under", r.Under, "pages", r.Pages)
	}
}

// finish gives the turn back, and counts.
func (c *Crawler) finish(turn *frontier.Turn, res *fetch.Result) error {
	e := turn.Entry()
	fate, err := turn.Finish(res.Outcome)
	c.counts.visit(e, res, fate)
	s := Skip{URL: e.URL, Via: e.Via, Detail: fate.Detail}
	switch fate.Code {
	case frontier.RobotsDisallowed:
		s.Reason = SkipRobots
	case frontier.Failed:
		s.Reason = SkipFailed
	case frontier.OutOfScope:
		s.Reason = SkipNarrowed
	default:
		return err
	}
	return errors.Join(err, safely("OnSkip", func() { c.skip(s) }))
}
