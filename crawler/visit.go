package crawler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Visit performs one turn of a site. A turn is the right to make one request to the site. Visit
// fetches the URL, stores the answer, calls the handler, and gives the turn back. It makes at most
// one request to the site. It always finishes the turn, even if the handler panics or ends its
// goroutine. Any number of visits may run concurrently; a visit ends after the request and the
// handler have ended. If ctx ends, the visit ends early and the entry stays queued.
//
// If the site or the page fails, Visit returns no error. An error that it returns ends the crawl,
// and no further turn should be handed out. It is the error of ctx, an error of the disk, or a
// *PanicError of a function in the options.
func (j *job) Visit(ctx context.Context, turn *frontier.Turn) error {
	began, returned := time.Now(), false
	defer func() {
		if !returned { // a function of the program has ended the goroutine
			turn.Finish(unknown(began)) // no effect if the turn is finished already
		}
	}()
	err := j.visit(ctx, turn)
	returned = true
	return err
}

// unknown returns the outcome of a turn after a function of the program has ended the goroutine or
// panicked. It is not known whether the site got a request. So the outcome contains one, and the
// site gets its usual pause.
func unknown(began time.Time) frontier.Outcome {
	return frontier.Outcome{Again: true, Request: &frontier.Request{Started: began, Ended: time.Now()}}
}

// visit does the work of Visit. But if a function of the program ends the goroutine before the
// handler is called, it does not finish the turn.
func (j *job) visit(ctx context.Context, turn *frontier.Turn) error {
	e := turn.Entry()
	slot := j.slots.take(turn.Site())
	defer j.slots.release(slot)
	slot.db = j.db(turn.Site())
	err := j.tags.retag(slot.db, &e)
	reason := frontier.Undecided
	if err == nil {
		reason, err = j.narrowedSince(e)
	}
	if err != nil {
		_, ferr := turn.Finish(frontier.Outcome{Again: true})
		return errors.Join(err, ferr)
	}
	if reason != frontier.Undecided {
		res := fetch.Result{Outcome: frontier.Outcome{
			Fate: frontier.Fate{Code: frontier.ScopeNarrowed, Detail: reason.String()},
		}}
		err := j.logVisit(slot, e, &res, nil)
		_, ferr := j.finish(turn, &res)
		return errors.Join(err, ferr)
	}
	before := j.recall(slot.db, e)
	res, err := j.request(ctx, turn, before.validators())
	defer res.Release()
	j.warnUnreadUse(&res)
	var answer *fetch.Exchange
	if err == nil && res.Page != nil {
		answer, err = j.settleAnswer(ctx, turn, &before, &res)
	}
	if err == nil {
		err = safely("Scope, Rewrite, Same or OnSkip", func() { res.Outcome.Links = j.sitemapsOf(e, res.Snapshot) })
	}
	if err == nil && res.Page != nil && e.Sitemap() {
		var leave func()
		if leave, err = j.listSlots.enter(ctx); err == nil {
			defer leave()
		}
	}
	if err != nil {
		lerr := j.logVisit(slot, e, &res, nil)
		_, ferr := turn.Finish(frontier.Outcome{Again: true, Request: res.Outcome.Request, RetryAfter: res.Outcome.RetryAfter})
		return errors.Join(err, lerr, ferr)
	}
	if res.Page == nil {
		err := j.store(slot.db, e, &res, nil, &before)
		err = errors.Join(err, j.again(e, &res, nil, &before))
		err = errors.Join(j.logVisit(slot, e, &res, nil), err)
		_, ferr := j.finish(turn, &res)
		return errors.Join(err, ferr)
	}
	return j.visitPage(ctx, turn, e, slot, &res, answer, &before)
}

// request makes the request of a visit. If a function of the options panics, the panic is returned
// as an error, which ends the crawl.
func (j *job) request(ctx context.Context, turn *frontier.Turn, known fetch.Validators) (res fetch.Result, err error) {
	began := time.Now()
	if panicked := safely("Network or Proxy", func() { res, err = j.fetcher.Revalidate(ctx, turn, known) }); panicked != nil {
		return fetch.Result{Outcome: unknown(began)}, panicked
	}
	if panicked := j.panicked.Load(); panicked != nil {
		err = errors.Join(err, *panicked)
	}
	j.excuseLostLease(&res)
	return res, err
}

// settleAnswer returns the answer for the page: the server's answer, or, after a 304, the stored
// earlier answer. If the stored answer cannot be used, settleAnswer returns nil, and the frontier
// hands out the entry again. An error ends the crawl.
func (j *job) settleAnswer(ctx context.Context, turn *frontier.Turn, before *recollection, res *fetch.Result) (*fetch.Exchange, error) {
	u := turn.Entry().URL
	answer, again, err := j.stored(ctx, before, res.Page)
	switch {
	case err != nil:
		return nil, err
	case again:
		j.setUnconditional(u, true)
		o := &res.Outcome
		res.Page, res.Outcome = nil, frontier.Outcome{Again: true, Request: o.Request, RetryAfter: o.RetryAfter, Gap: o.Gap}
		return nil, nil
	case answer == nil:
		if before.unconditional {
			j.setUnconditional(u, false)
		}
		return res.Page, nil
	}
	res.Outcome.Fate.Status = answer.Status
	return answer, nil
}

// visitPage is the second half of Visit, for an answer that is a page. answer is the answer for the
// page, from the server or the archive; res.Page is always the server's answer.
func (j *job) visitPage(ctx context.Context, turn *frontier.Turn, e frontier.Entry, slot *slot, res *fetch.Result, answer *fetch.Exchange, before *recollection) error {
	shown := *res
	shown.Page = answer
	memory := scratches.Get().(*scratch)
	page := newPage(memory.page(j.programmed), e, &shown, j.opts.reading())
	if page.Exchange = res.Page; answer != res.Page {
		page.kept = before.capture
	}
	page.clean, page.texts = j.cleaner(res.Snapshot), j.opts.TextDigest || j.opts.Previous != "" || j.opts.Revisit != nil
	j.decline(page, res)
	j.classify(ctx, page, before)
	if j.digests {
		res.Outcome.Fate.Digest = page.digest()
	}
	// The request is recorded before the handler is called. The turn is finished even if the
	// handler panics or ends its goroutine. So the pause after the request is kept in any case.
	undecided := frontier.Outcome{Again: true, Request: res.Outcome.Request, RetryAfter: res.Outcome.RetryAfter}
	decided := false
	defer func() {
		if !decided {
			turn.Finish(undecided)
		}
	}()
	if err := errors.Join(j.logVisit(slot, page.Entry, res, page), j.keep(slot.db, page, res, before), j.again(page.Entry, res, page, before)); err != nil {
		return err
	}
	found, err := j.handlePage(ctx, page, res, memory.found)
	if err == nil {
		res.Outcome.Changes, err = j.listedChanges(page)
	}
	if err != nil {
		return err
	}
	// res.Outcome.Links holds the sitemaps that robots.txt names; usually there are none
	res.Outcome.Links = append(found, res.Outcome.Links...)
	decided = true
	res.Outcome.Hold = page.held != nil
	fate, err := j.finish(turn, res)
	if err == nil && (res.Outcome.Trouble == frontier.NoTrouble || fate.Code == frontier.Fetched) { // a page that is tried again is counted only after its last try
		if page.change != "" && page.Entry.Page() {
			j.counts.add(func(n *Counts) { increment(&n.Changes, page.change) })
		}
		j.countSitemap(page)
	}
	if err == nil && turn.Held() {
		page.held(turn)
	}
	memory.clear()
	scratches.Put(memory)
	return err
}

// handlePage passes a page to the handler, and then its links to the functions in the options. It
// returns the entries to queue for the links.
func (j *job) handlePage(ctx context.Context, page *Page, res *fetch.Result, f *findings) ([]frontier.Entry, error) {
	if j.programmed {
		u := page.URL // copied, because the handler may keep and change the page
		defer j.warnIfSlow(func() []any { return []any{"url", u.String()} })()
	}
	if page.refused == "" {
		if err := j.handle(ctx, page, res); err != nil {
			return nil, err
		}
	}
	return j.next(page, f)
}

// longHandled is the time after which a warning is logged if the program is still busy with a page.
const longHandled = 5 * time.Minute

// warnIfSlow logs a warning if the program is busy for longer than longHandled, because the site
// and a worker wait meanwhile. The caller must call done when the program has finished. The
// function with returns the attributes of the warning.
func (j *job) warnIfSlow(with func() []any) (done func() bool) {
	return time.AfterFunc(longHandled, func() {
		safely("Logger", func() {
			j.opts.Logger.Warn("the program is busy with what it was given", append(with(), "for", longHandled)...)
		})
	}).Stop
}

// handle calls the handler for a page that is not a sitemap. An error of the handler is recorded;
// an error that handle returns ends the crawl.
func (j *job) handle(ctx context.Context, page *Page, res *fetch.Result) error {
	if page.Entry.Sitemap() {
		return nil
	}
	err := callHandler(ctx, j.handler, page)
	switch {
	case errors.Is(err, ErrStop):
		if j.deps.Stop != nil {
			j.deps.Stop()
		}
	case errors.Is(err, ErrRetry):
		res.Outcome.Trouble = frontier.PageTrouble
		res.Outcome.Fate.Code, res.Outcome.Fate.Detail = frontier.Failed, "handler"
	case err != nil:
		return j.handlerFailed(page, err)
	}
	return nil
}

// handlerFailed counts an error of the handler, logs it and passes it to Options.OnError. It
// returns a *PanicError if OnError panics.
func (j *job) handlerFailed(page *Page, err error) error {
	j.counts.add(func(n *Counts) { n.Handler++ })
	said := []any{"url", page.URL.String(), "error", err}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		said = append(said, "stack", string(panicked.Stack))
	}
	j.opts.Logger.Error("handler failed", said...)
	if j.opts.OnError == nil {
		return nil
	}
	return safely("OnError", func() { j.opts.OnError(page, err) })
}

// narrowedSince returns the reason why a queued entry is not in scope now. An earlier run with a
// wider scope may have queued it. It returns frontier.Undecided if the entry is in scope.
func (j *job) narrowedSince(e frontier.Entry) (reason frontier.Code, err error) {
	if j.deps.DB == nil || e.FromSeed() {
		return frontier.Undecided, nil
	}
	err = safely("Scope", func() { reason = j.admits.narrowed(&e) })
	return reason, err
}

// keep stores a page. If redirects of a seed ended at its URL, it also stores the URL as a root of
// the scope. It is called before the handler.
func (j *job) keep(db *store.DB, p *Page, res *fetch.Result, before *recollection) error {
	if err := j.admit(db, p); err != nil {
		return err
	}
	j.checkPage(p)
	return j.store(db, p.Entry, res, p, before)
}

// checkPage counts and logs unusual properties of a page: too many links, or the same body as many
// other pages.
func (j *job) checkPage(p *Page) {
	if p.html.Cut {
		var cut int
		j.counts.add(func(n *Counts) { n.Cut++; cut = n.Cut })
		if cut <= maxWarnings {
			j.opts.Logger.Warn("a page has more links than are taken", "url", p.URL.String(), "taken", len(p.html.Links))
		}
	}
	if p.Status/100 != 2 || !p.Entry.Page() || p.Exchange.Head || p.refused != "" {
		return
	}
	if p.Entry.Visits != nil { // the page was counted when it was fetched before
		p.below = j.repeats.below(p.URL, j.bodySum(p))
		return
	}
	r, warn := j.repeats.count(p.URL, j.bodySum(p))
	if p.below = r.below; warn {
		j.opts.Logger.Warn("pages have one body: is this a space without an end?", "under", r.Under, "pages", r.Pages)
	}
}

// finish gives the turn back and counts the result of the visit. It returns the result for the
// entry.
func (j *job) finish(turn *frontier.Turn, res *fetch.Result) (fate frontier.Fate, err error) {
	e := turn.Entry()
	fate, err = turn.Finish(res.Outcome)
	j.counts.visit(e, res, fate)
	j.countFailedSitemap(e, fate)
	err = errors.Join(err, j.callOnVisit(e, res, fate))
	s := Skip{URL: e.URL, Via: e.Via, Code: fate.Code, Detail: fate.Detail}
	switch fate.Code {
	case frontier.RobotsDisallowed, frontier.Failed, frontier.ScopeNarrowed, frontier.UseRefused, frontier.OptedOut:
	default:
		return fate, err
	}
	return fate, errors.Join(err, safely("OnSkip", func() { j.skipURL(s) }))
}

// callOnVisit calls OnVisit at the end of a visit. At this time the next visit of the site may
// already be running.
func (j *job) callOnVisit(e frontier.Entry, res *fetch.Result, fate frontier.Fate) error {
	if j.opts.OnVisit == nil {
		return nil
	}
	v := Visited{Entry: e, Fate: fate}
	for _, x := range res.Exchanges {
		r := Request{URL: x.URL, Robots: x.Robots, Status: x.Status, Bytes: x.WireBytes, Started: x.Started, Took: x.Ended.Sub(x.Started)}
		if !x.FirstByte.IsZero() {
			r.TTFB = x.FirstByte.Sub(x.Started)
		}
		if x.Err != nil {
			r.Err = x.Err
		}
		v.Requests = append(v.Requests, r)
	}
	return safely("OnVisit", func() { j.opts.OnVisit(v) })
}

// excuseLostLease changes the result of a request that failed because this node had no lease, the
// right to send requests. The failure does not count against the site, and the URL is handed out
// again.
func (j *job) excuseLostLease(res *fetch.Result) {
	c, o := j.deps.cluster, &res.Outcome
	if c == nil || res.Page != nil || o.Trouble == frontier.NoTrouble {
		return
	}
	refused := func(x *fetch.Exchange) bool { return x.Err != nil && errors.Is(x.Err, errLease) }
	if c.May() && !slices.ContainsFunc(res.Exchanges, refused) {
		return
	}
	*o = frontier.Outcome{Again: true, Request: o.Request}
}

// bodySum returns a hash of the body of a page. If the crawl computes digests, it hashes the
// digest. Otherwise it hashes the body itself, which is much faster than a digest (SHA-1). The seed
// is random and secret, so that sites cannot construct pages with colliding hashes.
func (j *job) bodySum(p *Page) uint64 {
	if j.digests {
		return xxh3.HashStringSeed(p.digest(), j.sumSeed)
	}
	return xxh3.HashSeed(p.Body, j.sumSeed)
}
