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
	"github.com/permesso-crawler/permesso/internal/setting"
)

// Batches runs c, and yields the rows that parse makes from the pages of the crawl, n at a
// time. A row is a value of type T. Do your I/O in the body of the loop: write a batch to a
// database or a file at once.
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
// parse is called as a Handler is: during the visit of the page, for the pages of one site one
// after the other, and for pages of several sites at the same time. A page is valid until parse
// returns. Rows are delivered only if parse returns nil or ErrStop. ErrRetry has the same
// meaning as for a Handler. Any other error, or a panic, ends the loop with that error; the
// page is not marked as fetched, and the next run fetches it again. The body of the loop runs
// on the goroutine of the caller. It may call methods of c, such as Add.
//
// With Options.Dir no row is lost: each one is delivered at least once, whenever the process is
// killed. After a page is parsed, its links are queued, and the next page of its site may be
// requested. But the page is marked as fetched only when the body has finished with the batch
// that has the last row of the page. If the process ends earlier, the next run fetches and
// parses the page again, and delivers all its rows again, so the body must tolerate duplicates.
// If the body leaves the loop by break, return or a panic, no page with a row in the current
// batch is marked as fetched, and the crawl stops as after Crawler.Stop. So a body that does
// "return err" loses no row.
//
// n may be larger than the number of visits at once, since a visit ends without waiting for its
// rows to be delivered. But while a full batch waits for the body, visits with further rows
// wait, too. The rows of a page may be in several batches.
//
// A batch of less than n rows is delivered when the crawl has nothing else to do, at the end of
// the crawl, and when its first row has waited for the given time. As that time, 0 means a
// second, -1 no waiting, and frontier.Forever waiting without limit. n = 0 means 1. The figures
// of a run count a page as fetched as soon as parse has returned, even if its rows are never
// delivered.
//
// If the crawl ends with an error, the last pair has a nil batch and that error: the one that
// Run returns, such as ErrRan if c was run before. For a nil ctx, a negative n or a nil parse it
// is an *OptionError, and c is not run. No batch is delivered after ctx has ended, nor after an
// error. After an end by a limit or Crawler.Stop, the parsed rows are delivered first.
//
// The loop ends without an error also if seeds could not be fetched, or URLs are left: see
// Crawler.Summary and Crawler.Left after the loop.
func Batches[T any](
	ctx context.Context, c *Crawler, n int, wait time.Duration, parse func(context.Context, *Page) ([]T, error),
) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var misuse error
		switch {
		case n < 0:
			misuse = &OptionError{Field: "n", Reason: "is negative: give the rows of a batch"}
		case setting.BelowNone(wait) != "":
			misuse = &OptionError{Field: "wait", Reason: setting.BelowNone(wait)}
		case parse == nil:
			misuse = &OptionError{Field: "parse", Reason: "is nil: nothing would be made of the pages"}
		}
		if misuse != nil {
			yield(nil, misuse)
			return
		}
		newBatcher(c, max(1, n), cmp.Or(wait, time.Second), parse).loop(ctx, yield)
	}
}

// Pages runs c, and yields each page: a crawl as a loop. It behaves like Batches with batches
// of one row, which is the page itself. A page is valid until the body of the loop ends. URLs
// that the body follows are queued when the body ends; after a kill all of them are queued, or
// none. The page's own links are queued earlier, before the body gets the page, with the tag of
// the page. After the loop, Crawler.Summary says what could not be fetched.
func (c *Crawler) Pages(ctx context.Context) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		itself := func(_ context.Context, p *Page) ([]*Page, error) { return []*Page{p}, nil }
		t := newBatcher(c, 1, -1, itself)
		t.keep = true
		t.loop(ctx, func(pages []*Page, err error) bool {
			if err != nil {
				return yield(nil, err)
			}
			return yield(pages[0], nil)
		})
	}
}

// A batcher collects parsed pages and their rows until the loop over Batches or Pages takes
// them. It is a Handler.
type batcher[T any] struct {
	crawler *Crawler
	n       int
	wait    time.Duration // how long the first row of an incomplete batch waits; negative: not at all
	parse   func(context.Context, *Page) ([]T, error)
	keep    bool // the body may use the pages; otherwise they are not kept in memory

	// Used by the loop only.
	left bool  // the body has left the loop: yield must not be called
	err  error // errors of pages that could not be marked as fetched

	// mu guards the fields below: visits put rows and the loop takes them. It is not held
	// during a wait: waiting for changed releases it.
	mu      sync.Mutex
	changed sync.Cond     // signalled when there is room in rows, or closed is set
	news    chan struct{} // with a buffer of one; it has a value when the loop should look for changes: rows were added, or over or failed was set
	rows    []T
	pages   []parsed // pages of the rows, in order
	failed  error    // error of parse: the loop ends with it
	over    bool     // no visit will add rows any more
	closed  bool     // the loop takes no more rows
}

// A parsed is a page that was parsed. It is marked as fetched when the loop has taken all its
// rows.
type parsed struct {
	page *Page // nil: the page is not kept in memory
	turn *frontier.Turn
	rows int       // number of its rows that the loop has not taken yet
	came time.Time // when the page was parsed
}

func newBatcher[T any](c *Crawler, n int, wait time.Duration, parse func(context.Context, *Page) ([]T, error)) *batcher[T] {
	t := &batcher[T]{crawler: c, n: n, wait: wait, parse: parse, news: make(chan struct{}, 1)}
	t.changed.L = &t.mu
	return t
}

// Handle implements Handler: it adds the rows of a page after the visit has given back its
// turn, the right to send a request to the site.
func (t *batcher[T]) Handle(ctx context.Context, p *Page) error {
	var rows []T
	var err error
	if panicked := safely("parse", func() { rows, err = t.parse(ctx, p) }); panicked != nil {
		err = panicked
	}
	if err != nil && !errors.Is(err, ErrStop) && !errors.Is(err, ErrRetry) {
		p.held = func(*frontier.Turn) { t.fail(err) } // the page is not marked as fetched, so the next run fetches it again
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
func (t *batcher[T]) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	t.tell()
}

// put waits until there is room for rows, and adds those of the page p.
func (t *batcher[T]) put(p parsed, rows []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.rows) >= t.n && !t.closed {
		t.changed.Wait()
	}
	t.rows = append(t.rows, rows...)
	t.pages = append(t.pages, p)
	t.tell()
}

// ended is called by the run when no visit is running any more, with the error of the run. If
// this error is not nil, ended drops the rows that are left. It returns when the loop takes no
// more rows.
func (t *batcher[T]) ended(err error) {
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

// tell wakes up the loop. The caller holds mu.
func (t *batcher[T]) tell() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// A batch is the result of batcher.next.
type batch[T any] struct {
	rows   []T      // empty: there are no more rows
	pages  []parsed // the pages to mark as fetched after the rows are taken
	failed error    // an error of parse
	ran    bool     // the run ended before its first visit, with err
	err    error
}

// loop runs the crawl and yields its batches.
func (t *batcher[T]) loop(ctx context.Context, yield func([]T, error) bool) {
	err := t.crawler.checkRun(ctx, t)
	if err == nil {
		err = t.hand(ctx, func(rows []T) bool { return yield(rows, nil) })
	}
	switch {
	case err == nil:
	case t.left:
		t.crawler.opts.Logger.Error("the crawl failed after the loop over it was left", "error", err)
	default:
		yield(nil, err)
	}
}

// hand runs the crawl and passes its batches to the function body, until body returns false.
func (t *batcher[T]) hand(ctx context.Context, body func([]T) bool) (err error) {
	ran := make(chan error, 1)
	// The goroutine of the run. hand waits for its end before it returns.
	go func() {
		err := errGoexit
		defer func() { ran <- err }() // also if a function of the options ends the goroutine
		err = t.crawler.Run(ctx, t)
	}()
	var b batch[T]
	defer func() { // also if body panics
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

// give calls body with rows.
func (t *batcher[T]) give(rows []T, body func([]T) bool) (more bool) {
	defer t.crawler.visits.notice(func() []any { return []any{"rows", len(rows)} })()
	return body(rows)
}

// next waits for a batch. ran receives the result of the run if the run ends before its first
// visit.
func (t *batcher[T]) next(ctx context.Context, ran <-chan error) (b batch[T]) {
	resting := false
	for {
		coming := 0
		if resting {
			coming = t.crawler.frontier.Stats().Held
		}
		t.mu.Lock()
		// With t.wait < 0 an incomplete batch is delivered at once. Otherwise an incomplete
		// batch is delivered early if the crawl has nothing else to do and every page that
		// waits for the loop has put its rows.
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
		case b.err = <-ran: // the run ended before its first visit
			b.ran = true
		}
		timer.Stop()
		if b.ran {
			return b
		}
	}
}

// cut removes a batch of rows. The caller holds mu.
func (t *batcher[T]) cut() (rows []T, pages []parsed) {
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

// take queues what the pages follow and marks the pages as fetched, after all their rows were
// taken.
func (t *batcher[T]) take(pages []parsed) {
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

// close says that the loop takes no more rows, and wakes up all visits that wait for it.
func (t *batcher[T]) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.changed.Broadcast()
}
