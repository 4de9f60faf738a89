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
	if reason := c.narrowedSince(e); reason != "" {
		c.skip(Skip{URL: e.URL, Via: e.Via, Reason: SkipNarrowed, Detail: string(reason)})
		res := fetch.Result{Outcome: frontier.Outcome{
			Fate: frontier.Fate{Code: frontier.OutOfScope, Detail: string(reason)},
		}}
		return errors.Join(c.logVisit(w.number, e, &res), c.finish(turn, &res))
	}
	res, err := c.fetcher.Get(ctx, turn)
	if err != nil {
		_, ferr := turn.Finish(frontier.Outcome{Again: true})
		return errors.Join(err, ferr)
	}
	if res.Page == nil {
		_, err := c.archive(e, &res, nil)
		return errors.Join(c.logVisit(w.number, e, &res), err, c.finish(turn, &res))
	}
	page := newPage(e, &res, extract.Options{Token: c.opts.Identity.Token, Embeds: c.opts.embeds()})
	res.Outcome.Fate.Digest = page.digest
	// A handler that panics, hangs or ends its goroutine costs no record of a
	// request that was made, and no pause after it.
	undecided := frontier.Outcome{Again: true, Request: res.Outcome.Request, RetryAfter: res.Outcome.RetryAfter}
	if err := errors.Join(c.logVisit(w.number, e, &res), c.keep(page, &res)); err != nil {
		_, ferr := turn.Finish(undecided)
		return errors.Join(err, ferr)
	}
	handled := false
	defer func() {
		if !handled {
			turn.Finish(undecided)
			c.frontier.Stop()
		}
	}()
	err = call(ctx, h, page)
	handled = true
	switch {
	case errors.Is(err, ErrStop):
		c.Stop()
	case errors.Is(err, ErrRetry):
		res.Outcome.Trouble = frontier.PageTrouble
		res.Outcome.Fate.Code, res.Outcome.Fate.Detail = frontier.Failed, "handler"
	case err != nil:
		c.counts.handlerError()
		c.opts.Logger.Error("handler failed", "url", page.URL.String(), "error", err)
	}
	res.Outcome.Links = c.next(page, w.found)
	err = c.finish(turn, &res)
	res.Page.Release()
	return err
}

// narrowedSince says why an entry that was queued by an earlier run is no
// longer in scope.
func (c *Crawler) narrowedSince(e frontier.Entry) Reason {
	if c.db == nil || e.FromSeed() {
		return ""
	}
	return c.narrowed(&e)
}

// keep stores a page before the handler sees it.
func (c *Crawler) keep(p *Page, res *fetch.Result) error {
	if err := c.admit(p); err != nil {
		return err
	}
	if c.db == nil {
		return nil
	}
	where, err := c.archive(p.Entry, res, p)
	if err != nil {
		return err
	}
	if c.opts.writes(OutputLinks) {
		if err := c.db.PutLinks(p.edges()); err != nil {
			return err
		}
	}
	record := p.record(res.Rules, c.opts.writes(OutputBodies))
	record.WARC, record.Offset, record.Length = where.File, where.Offset, where.Length
	return c.db.PutPage(record)
}

// finish gives the turn back, and counts.
func (c *Crawler) finish(turn *frontier.Turn, res *fetch.Result) error {
	e := turn.Entry()
	fate, err := turn.Finish(res.Outcome)
	c.counts.visit(res, fate)
	switch fate.Code {
	case frontier.RobotsDisallowed:
		c.skip(Skip{URL: e.URL, Via: e.Via, Reason: SkipRobots, Detail: fate.Detail})
	case frontier.Failed:
		c.skip(Skip{URL: e.URL, Via: e.Via, Reason: SkipFailed, Detail: fate.Detail})
	}
	return err
}
