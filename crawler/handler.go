package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// A Handler is given each page, once it is stored. Handlers run in the visit:
// a slow one slows the crawl down, it does not pile pages up. They must be safe
// for concurrent use.
//
// An error other than ErrRetry and ErrStop is counted and logged; the page
// stays fetched. So is a panic.
type Handler interface {
	Handle(ctx context.Context, p *Page) error
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, p *Page) error

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, p *Page) error { return f(ctx, p) }

// What a Handler may return.
var (
	// ErrRetry queues the page again, as if it had failed.
	ErrRetry = errors.New("crawler: try this page again")
	// ErrStop stops the crawl; the page counts as handled.
	ErrStop = errors.New("crawler: stop")
)

// A PanicError is a panic of a handler.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }

// call calls h, if there is one.
func call(ctx context.Context, h Handler, p *Page) (err error) {
	if h == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return h.Handle(ctx, p)
}
