package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// A Handler is called with each page after the page is stored. It is called at least once for a
// page. After ErrRetry it is called again for the same page. After a kill it may be called
// again. It gets the pages of one site one after the other, and pages of several sites at the
// same time. Handlers run in the visit: a slow one slows the crawl down, but pages do not
// accumulate.
//
// A URL that fails in all its tries is no page, also if the last answer has a status such as 503:
// Options.OnSkip is called for it, with frontier.Failed, and the status as Detail. The tries may
// take hours. If the run ends before (see Options.Patience), the URL is still queued: Left has
// it as frontier.Waiting. A program that must know, such as a link checker, sets a Patience of
// some hours.
//
// An error other than ErrRetry and ErrStop is counted, logged, and passed to Options.OnError.
// The page still counts as fetched. A panic is treated like such an error, as a *PanicError.
type Handler interface {
	Handle(ctx context.Context, p *Page) error
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, p *Page) error

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, p *Page) error { return f(ctx, p) }

// Errors with a special meaning for a Handler.
var (
	// ErrRetry queues the page again, as if it had failed.
	ErrRetry = errors.New("crawler: try this page again")
	// ErrStop stops the crawl; the page counts as handled.
	ErrStop = errors.New("crawler: stop")
)

// A PanicError is a panic of a function of the caller. In a handler it is an error of that
// page. In a Scope, Links, Rewrite, Same, OptOut, Site, Revisit, MaxBody, OnVisit, OnSkip,
// OnStart, OnError, Network or Proxy it ends the crawl.
type PanicError struct {
	Where string // "handler", or the names of the options that may have panicked
	Value any    // the argument of the panic
	Stack []byte // as debug.Stack returns it
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Where, e.Value) }

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// safely calls a function of the caller. The error is a *PanicError.
func safely(where string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{where, v, debug.Stack()}
		}
	}()
	f()
	return nil
}

// tried is like safely, for functions that New calls: it returns a panic as an *OptionError.
func tried(field string, f func()) error {
	if err := safely(field, f); err != nil {
		return &OptionError{Field: field, Reason: err.Error(), Err: err}
	}
	return nil
}

// call calls h, if there is one.
func call(ctx context.Context, h Handler, p *Page) (err error) {
	if h == nil {
		return nil
	}
	if panicked := safely("handler", func() { err = h.Handle(ctx, p) }); panicked != nil {
		return panicked
	}
	return err
}
