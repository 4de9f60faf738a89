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

// Batches runs the crawl c. The function parse makes rows of type T from each page, and Batches
// yields these rows, n at a time. Do your I/O in the body of the loop: write a batch to a database
// or a file at once.
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
// parse is called like a Handler: during the visit of the page, for the pages of one site one after
// the other, and for pages of several sites at the same time. A page is valid until parse returns.
// Rows are delivered only if parse returns nil or ErrStop. ErrRetry has the same meaning as for a
// Handler. Any other error, or a panic, ends the loop with that error; the page is not marked as
// fetched, and the next run fetches it again. The body of the loop runs on the goroutine of the
// caller. It may call methods of c, such as Add.
//
// With Options.Dir no row is lost, even if the process is killed: each row is delivered at least
// once. After a page is parsed, its links are queued, and the next page of its site may be
// requested. But the page is marked as fetched only when the body has finished with the batch that
// has the last row of the page. If the process ends earlier, the next run fetches and parses the
// page again, and delivers all its rows again. So the body must tolerate duplicates. If the body
// leaves the loop by break, return or a panic, no page with a row in the current batch is marked as
// fetched, and the crawl stops as after Crawler.Stop. So a body that does "return err" loses no
// row.
//
// n may be larger than the number of visits at once, because a visit ends without waiting for its
// rows to be delivered. But while a full batch waits for the body, visits with further rows wait,
// too. The rows of a page may be in several batches.
//
// A batch of less than n rows is delivered in three cases: when the crawl has nothing else to do,
// at the end of the crawl, and when the first row of the batch has waited for the time wait. A wait
// of 0 means one second, -1 means no waiting, and frontier.Forever means waiting without limit. n =
// 0 means 1. The figures of a run count a page as fetched as soon as parse has returned, even if
// its rows are never delivered.
//
// If the crawl ends with an error, the last pair has a nil batch and the error that Run returns,
// such as ErrRan if c was run before. For a nil ctx, a negative n or a nil parse this error is an
// *OptionError, and c is not run. No batch is delivered after ctx has ended, nor after an error. If
// the crawl is ended by a limit or by Crawler.Stop, the parsed rows are delivered first.
//
// Seeds that could not be fetched, and URLs that are left in the queue, are not errors of the loop:
// see Crawler.Summary and Crawler.Left after the loop.
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

// Pages runs the crawl c in a loop that gets each page. It behaves like Batches with batches of one
// row, which is the page itself. A page is valid until the body of the loop ends. URLs that the
// body follows are queued when the body ends; after a kill either all or none of them are queued.
// The page's own links are queued earlier, before the body gets the page, with the tag of the page.
// After the loop, Crawler.Summary reports the pages that could not be fetched.
func (c *Crawler) Pages(ctx context.Context) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		itself := func(_ context.Context, p *Page) ([]*Page, error) { return []*Page{p}, nil }
		t := newBatcher(c, 1, -1, itself)
		t.keepPages = true
		t.loop(ctx, func(pages []*Page, err error) bool {
			if err != nil {
				return yield(nil, err)
			}
			return yield(pages[0], nil)
		})
	}
}

// A batcher collects parsed pages and their rows until the loop over Batches or Pages takes them.
// The batcher is the Handler of the crawl.
type batcher[T any] struct {
	crawler *Crawler
	n       int
	// How long the first row waits for its batch to fill up; negative: not at all.
	wait      time.Duration
	parse     func(context.Context, *Page) ([]T, error)
	keepPages bool // keep the pages in memory, because the body of the loop uses them

	// The goroutine of the loop alone uses these two fields.
	loopLeft bool  // the body has left the loop, so yield must not be called again
	err      error // errors of pages that could not be marked as fetched

	// mu guards the fields below: visits put rows into them, and the loop takes the rows out. A
	// wait for changed releases mu.
	mu      sync.Mutex
	changed sync.Cond // signalled when rows has room again, or closed was set
	// Wakes up the loop when rows were added, or when over or failed was set; its buffer holds one
	// value.
	wake     chan struct{}
	rows     []T
	pages    []parsed // the pages that rows came from, in the same order
	failed   error    // the first error of parse; it ends the loop
	runEnded bool     // the run has ended, and no visit will add rows
	closed   bool     // the loop takes no more rows
}

// A parsed is a page whose rows the loop has not all taken. When it has taken them, the page is
// marked as fetched.
type parsed struct {
	page     *Page // nil unless batcher.keepPages is set
	turn     *frontier.Turn
	rows     int       // number of its rows that the loop has not taken yet
	parsedAt time.Time // when the page was parsed
}

func newBatcher[T any](c *Crawler, n int, wait time.Duration, parse func(context.Context, *Page) ([]T, error)) *batcher[T] {
	t := &batcher[T]{crawler: c, n: n, wait: wait, parse: parse, wake: make(chan struct{}, 1)}
	t.changed.L = &t.mu
	return t
}

// Handle implements Handler. It parses the page, and sets Page.held to a function that adds the
// rows. The visit calls this function after it has given back its turn, the right to send a request
// to the site. So other pages of the site do not wait for the rows.
func (t *batcher[T]) Handle(ctx context.Context, p *Page) error {
	var rows []T
	var err error
	if panicked := safely("parse", func() { rows, err = t.parse(ctx, p) }); panicked != nil {
		err = panicked
	}
	if err != nil && !errors.Is(err, ErrStop) && !errors.Is(err, ErrRetry) {
		p.held = func(*frontier.Turn) { t.fail(err) } // not Turn.Done, so the next run fetches the page again
		return nil
	}
	if len(rows) > 0 && (err == nil || errors.Is(err, ErrStop)) {
		p.held = func(turn *frontier.Turn) {
			if !t.keepPages {
				p = nil
			}
			t.put(parsed{p, turn, len(rows), time.Now()}, rows)
		}
	}
	return err
}

// fail records the first error of parse, which ends the loop.
func (t *batcher[T]) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	t.wakeLoop()
}

// put waits until there is room for rows, and adds the rows of the page p.
func (t *batcher[T]) put(p parsed, rows []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.rows) >= t.n && !t.closed {
		t.changed.Wait()
	}
	t.rows = append(t.rows, rows...)
	t.pages = append(t.pages, p)
	t.wakeLoop()
}

// ended says that the run has ended with the error err, and that no visit is running. If err is not
// nil, ended drops the rows that are left. It returns when the loop takes no more rows.
func (t *batcher[T]) ended(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runEnded = true; err != nil {
		t.rows, t.pages = nil, nil
	}
	t.wakeLoop()
	for !t.closed {
		t.changed.Wait()
	}
}

// wakeLoop wakes up the loop. The caller holds mu.
func (t *batcher[T]) wakeLoop() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// A batch is a result of batcher.next: some rows, or the end of the loop.
type batch[T any] struct {
	rows   []T      // empty at the end of the loop
	pages  []parsed // the pages to mark as fetched when the loop has taken the rows
	failed error    // the first error of parse
	ran    bool     // the run ended before its first visit, with the error err
	err    error
}

// loop runs the crawl and yields its batches. If the crawl fails, it yields the error last.
func (t *batcher[T]) loop(ctx context.Context, yield func([]T, error) bool) {
	err := t.crawler.checkRun(ctx, t)
	if err == nil {
		err = t.runCrawl(ctx, func(rows []T) bool { return yield(rows, nil) })
	}
	switch {
	case err == nil:
	case t.loopLeft:
		t.crawler.opts.Logger.Error("the crawl failed after the loop over it was left", "error", err)
	default:
		yield(nil, err)
	}
}

// runCrawl runs the crawl and calls body with each batch, until body returns false. It returns the
// error of the run.
func (t *batcher[T]) runCrawl(ctx context.Context, body func([]T) bool) (err error) {
	ran := make(chan error, 1)
	// The goroutine of the run. hand does not return before this goroutine has ended.
	go func() {
		err := errGoexit
		defer func() { ran <- err }() // deferred, because a function of the options may end the goroutine
		err = t.crawler.Run(ctx, t)
	}()
	var b batch[T]
	defer func() { // deferred, because body may panic
		if t.loopLeft || t.err != nil {
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
		t.loopLeft = true
		if !t.callBody(b.rows, body) {
			break
		}
		t.loopLeft = false
		t.finishPages(b.pages)
	}
	return nil
}

// callBody calls body with one batch and returns its result. A warning is logged if body is busy
// for very long.
func (t *batcher[T]) callBody(rows []T, body func([]T) bool) (more bool) {
	defer t.crawler.visits.warnIfSlow(func() []any { return []any{"rows", len(rows)} })()
	return body(rows)
}

// next waits for a batch. If the run ends before its first visit, its error arrives on the channel
// ran.
func (t *batcher[T]) next(ctx context.Context, ran <-chan error) (b batch[T]) {
	resting := false
	for {
		coming := 0
		if resting {
			coming = t.crawler.frontier.Stats().Held
		}
		t.mu.Lock()
		// With t.wait < 0 an incomplete batch is delivered at once. Otherwise it is delivered early
		// only if the crawl has nothing else to do, and all pages that wait for the loop have put
		// their rows.
		late := t.wait < 0 || resting && coming <= len(t.pages)
		rest := time.Duration(frontier.Forever)
		var idle <-chan struct{}
		if len(t.rows) > 0 {
			idle = t.crawler.frontier.Idle()
			if t.wait < frontier.Forever {
				rest = time.Until(t.pages[0].parsedAt.Add(t.wait))
			}
		}
		enough := len(t.rows) >= t.n || len(t.rows) > 0 && (late || t.runEnded || rest <= 0)
		done := ctx.Err() != nil || t.failed != nil || t.runEnded && len(t.rows) == 0
		b.failed = t.failed
		if enough && !done {
			b.rows, b.pages = t.nextRows()
		}
		t.mu.Unlock()
		if enough || done {
			return b
		}
		timer := time.NewTimer(rest)
		select {
		case <-t.wake:
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

// nextRows removes the next batch from the collected rows. pages are the pages whose last row is in
// this batch. The caller holds mu.
func (t *batcher[T]) nextRows() (rows []T, pages []parsed) {
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

// finishPages queues the URLs that the program followed on the pages, and marks the pages as
// fetched. The loop has taken all their rows.
func (t *batcher[T]) finishPages(pages []parsed) {
	for _, p := range pages {
		var links []frontier.Entry
		var err error
		if p.page != nil {
			links, err = t.crawler.visits.lateEntries(p.page)
		}
		if err == nil {
			err = p.turn.Done(links...)
		}
		t.err = distinct(t.err, err)
	}
}

// close says that the loop takes no more rows, and wakes up all visits that wait for room.
func (t *batcher[T]) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.changed.Broadcast()
}
