package crawler

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Batches runs c, and hands out what parse makes of its pages, n at a time. Do your I/O in
// the body of the loop, which writes a batch to a database, or a file, at once.
//
//	for books, err := range crawler.Batches(ctx, c, 100, 0, parse) {
//		if err != nil {
//			return err
//		}
//		if err := insert(books); err != nil {
//			return err
//		}
//	}
//
// parse is called as a Handler is: in the visit, several at a time, one page of a site
// after the other; a page is valid until it returns. Rows are kept only if it returns nil or
// ErrStop. ErrRetry has the meaning that it has for a Handler. Any other error, or a panic,
// ends the loop with that error; the page has not ended, and the next run fetches it again.
// The body of the loop
// runs on the goroutine of the caller. It may call c: Add brings what it has found out.
//
// In Options.Dir nothing is lost: each row comes at least once, whenever the process is
// killed. The links of a page are queued, and its site goes on, as soon as it is parsed;
// but the page has not ended before the body has come to its end with the batch that has
// the last of its rows. A page of which that cannot be said is fetched and parsed again
// by the next run, and all of its rows come again: the body should bear to be given a row
// twice. break, return and a panic leave the batch that the body was given untaken, and
// stop the crawl as Crawler.Stop does; return err loses nothing.
//
// A batch may have more rows than there are sites under way, and a page may have rows in
// several batches. One of less than n rows comes when its first row has waited for so
// long (0: a second, -1: not at all, frontier.Forever: as long as need be), and
// where nothing else is left to do, and at the end. While a whole batch waits for the
// body, what was parsed waits, too, and so does who would fetch more. 0 rows are 1. The
// figures of a run count as fetched what was parsed, taken or not.
//
// An error that ends the crawl, as Run returns it, comes as the last pair, with a nil
// batch; it is ErrRan where c was run before, and an *OptionError for a negative n or no
// parse: then c was not run. No batch comes once ctx has ended, nor
// after an error. An end that is none, by a limit or Crawler.Stop, hands out what was
// parsed first.
func Batches[T any](
	ctx context.Context, c *Crawler, n int, wait time.Duration, parse func(context.Context, *Page) ([]T, error),
) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var misuse error
		switch {
		case n < 0:
			misuse = &OptionError{Field: "n", Reason: "is negative: give the rows of a batch"}
		case belowNone(wait) != "":
			misuse = &OptionError{Field: "wait", Reason: belowNone(wait)}
		case parse == nil:
			misuse = &OptionError{Field: "parse", Reason: "is nil: nothing would be made of the pages"}
		}
		if misuse != nil {
			yield(nil, misuse)
			return
		}
		newTray(c, max(1, n), cmp.Or(wait, time.Second), parse).loop(ctx, yield)
	}
}

// Pages runs c, and hands out each page: a crawl as a loop. It is Batches of one page,
// with all that is said there; a page is valid in the body until it ends. What the body
// follows is queued when it has come to its end, all of it or, after a kill, nothing;
// the page's own links are queued before, under the page's tag.
func (c *Crawler) Pages(ctx context.Context) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		itself := func(_ context.Context, p *Page) ([]*Page, error) { return []*Page{p}, nil }
		t := newTray(c, 1, -1, itself)
		t.keep = true
		t.loop(ctx, func(pages []*Page, err error) bool {
			if err != nil {
				return yield(nil, err)
			}
			return yield(pages[0], nil)
		})
	}
}

// A tray is where parsed pages stand until the loop takes them. It is a Handler.
type tray[T any] struct {
	crawler *Crawler
	n       int
	wait    time.Duration // negative: not at all
	parse   func(context.Context, *Page) ([]T, error)
	keep    bool // the body may use the pages; else they are not kept in memory

	// Of the loop alone.
	left bool  // its body wants no more: nothing may be yielded
	err  error // of pages that could not be ended

	// mu guards what follows: visits put rows and the loop takes them. Nothing is
	// waited for with it held, but for changed, which lets go of it.
	mu      sync.Mutex
	changed sync.Cond     // there is room, or closed is set
	news    chan struct{} // room for one word to the loop that there are rows, or over is set
	rows    []T
	pages   []parsed // whose rows these are, in their order
	failed  error    // of parse: the loop ends with it
	over    bool     // no visit puts any more
	closed  bool     // the loop takes no more
}

// A parsed page has ended when its rows were taken.
type parsed struct {
	page *Page // nil: not kept
	turn *frontier.Turn
	rows int       // that were not taken yet
	came time.Time // when they were parsed
}

func newTray[T any](c *Crawler, n int, wait time.Duration, parse func(context.Context, *Page) ([]T, error)) *tray[T] {
	t := &tray[T]{crawler: c, n: n, wait: wait, parse: parse, news: make(chan struct{}, 1)}
	t.changed.L = &t.mu
	return t
}

// Handle implements Handler: what there is of a page is put once its turn is back.
func (t *tray[T]) Handle(ctx context.Context, p *Page) error {
	var rows []T
	var err error
	if panicked := safely("parse", func() { rows, err = t.parse(ctx, p) }); panicked != nil {
		err = panicked
	}
	if err != nil && !errors.Is(err, ErrStop) && !errors.Is(err, ErrRetry) {
		p.held = func(*frontier.Turn) { t.fail(err) } // the page does not end: the next run fetches it again
		return nil
	}
	if len(rows) > 0 && (err == nil || errors.Is(err, ErrStop)) {
		p.held = func(turn *frontier.Turn) {
			if !t.keep {
				p = nil
			}
			t.put(parsed{p, turn, len(rows), time.Now()}, rows)
		}
	}
	return err
}

// fail ends the loop with an error of parse.
func (t *tray[T]) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	t.tell()
}

// put waits for room.
func (t *tray[T]) put(p parsed, rows []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.rows) >= t.n && !t.closed {
		t.changed.Wait()
	}
	t.rows = append(t.rows, rows...)
	t.pages = append(t.pages, p)
	t.tell()
}

// ended is called by the run when no visit is under way any more. It returns when the
// loop has taken all that there is to take: after an error nothing.
func (t *tray[T]) ended(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; err != nil {
		t.rows, t.pages = nil, nil
	}
	t.tell()
	for !t.closed {
		t.changed.Wait()
	}
}

// tell requires that mu is held.
func (t *tray[T]) tell() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// A batch is what next has found.
type batch[T any] struct {
	rows   []T      // none: there are no more
	pages  []parsed // that have ended once rows are taken
	failed error    // of parse
	ran    bool     // the run has ended by itself, with err
	err    error
}

// loop runs the crawl and yields what there is.
func (t *tray[T]) loop(ctx context.Context, yield func([]T, error) bool) {
	err := t.hand(ctx, func(rows []T) bool { return yield(rows, nil) })
	switch {
	case err == nil:
	case t.left:
		t.crawler.opts.Logger.Error("the crawl failed after the loop over it was left", "error", err)
	default:
		yield(nil, err)
	}
}

// hand runs the crawl and gives its batches to body, until that returns false.
func (t *tray[T]) hand(ctx context.Context, body func([]T) bool) (err error) {
	ran := make(chan error, 1)
	// The run. It has ended when hand returns.
	go func() {
		err := errGoexit
		defer func() { ran <- err }() // where a function of the options ends it, too
		err = t.crawler.Run(ctx, t)
	}()
	var b batch[T]
	defer func() { // where body panics, too
		if t.left || t.err != nil {
			t.crawler.Stop()
		}
		t.close()
		if err = b.err; !b.ran {
			err = <-ran
		}
		err = distinct(err, t.err)
	}()
	for t.err == nil {
		if b = t.next(ctx, ran); len(b.rows) == 0 {
			t.err = distinct(t.err, b.failed)
			break
		}
		t.left = true
		if !t.give(b.rows, body) {
			break
		}
		t.left = false
		t.take(b.pages)
	}
	return nil
}

// give calls the body with rows.
func (t *tray[T]) give(rows []T, body func([]T) bool) (more bool) {
	defer t.crawler.visits.notice(func() []any { return []any{"rows", len(rows)} })()
	return body(rows)
}

// next waits for a batch.
func (t *tray[T]) next(ctx context.Context, ran <-chan error) (b batch[T]) {
	resting := false
	for {
		coming := 0
		if resting {
			coming = t.crawler.frontier.Stats().Held
		}
		t.mu.Lock()
		// What else is held than stands here is about to be put.
		late := t.wait < 0 || resting && coming <= len(t.pages)
		rest := time.Duration(frontier.Forever)
		var idle <-chan struct{}
		if len(t.rows) > 0 {
			idle = t.crawler.frontier.Idle()
			if t.wait < frontier.Forever {
				rest = time.Until(t.pages[0].came.Add(t.wait))
			}
		}
		enough := len(t.rows) >= t.n || len(t.rows) > 0 && (late || t.over || rest <= 0)
		done := ctx.Err() != nil || t.failed != nil || t.over && len(t.rows) == 0
		b.failed = t.failed
		if enough && !done {
			b.rows, b.pages = t.cut()
		}
		t.mu.Unlock()
		if enough || done {
			return b
		}
		timer := time.NewTimer(rest)
		select {
		case <-t.news:
		case <-timer.C:
		case <-idle:
			resting = true
		case b.err = <-ran: // without a visit
			b.ran = true
		}
		timer.Stop()
		if b.ran {
			return b
		}
	}
}

// cut takes a batch off. It requires that mu is held.
func (t *tray[T]) cut() (rows []T, pages []parsed) {
	n := min(t.n, len(t.rows))
	rows = slices.Clone(t.rows[:n])
	t.rows = slices.Delete(t.rows, 0, n)
	for n > 0 {
		first := &t.pages[0]
		taken := min(n, first.rows)
		first.rows -= taken
		n -= taken
		if first.rows == 0 {
			pages = append(pages, *first)
			t.pages = slices.Delete(t.pages, 0, 1)
		}
	}
	t.changed.Broadcast()
	return rows, pages
}

// take ends pages whose rows were taken.
func (t *tray[T]) take(pages []parsed) {
	for _, p := range pages {
		var links []frontier.Entry
		var err error
		if p.page != nil {
			links, err = t.crawler.visits.late(p.page)
		}
		if err == nil {
			err = p.turn.Done(links...)
		}
		t.err = distinct(t.err, err)
	}
}

// close lets nobody wait for the loop any more.
func (t *tray[T]) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.changed.Broadcast()
}
