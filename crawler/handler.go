package crawler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// A Handler is called with each page after the page is stored. It is called at least once for a
// page. It is called again for the same page after it has returned ErrRetry, and possibly after a
// kill. It gets the pages of one site one after the other, and pages of several sites at the same
// time. A handler runs during the visit of its page. So a slow handler slows the crawl down, but
// pages do not accumulate.
//
// If all tries of a URL fail, no page is handled, even if the last answer has a status such as 503.
// Instead Options.OnSkip is called, with the code frontier.Failed and the status as Detail. The
// tries may take hours. If the run ends before the last try (see Options.Patience), the URL stays
// queued, and Left yields it with the code frontier.Waiting. A program that needs a final result,
// such as a link checker, sets a Patience of some hours.
//
// An error other than ErrRetry and ErrStop is counted, logged, and passed to Options.OnError. The
// page still counts as fetched. A panic is treated like such an error, as a *PanicError.
type Handler interface {
	Handle(ctx context.Context, p *Page) error
}

// HandlerFunc is an adapter that makes a function a Handler.
type HandlerFunc func(ctx context.Context, p *Page) error

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, p *Page) error { return f(ctx, p) }

// Errors with a special meaning for a Handler.
var (
	// ErrRetry puts the page back into the queue, as if the request had failed.
	ErrRetry = errors.New("crawler: try this page again")
	// ErrStop stops the crawl; the page counts as handled.
	ErrStop = errors.New("crawler: stop")
)

// A PanicError is a panic of a function that the program gave to the crawl. A panic in a handler is
// an error of that page. A panic in a Scope, Links, Rewrite, Same, OptOut, Site, Revisit, MaxBody,
// OnVisit, OnSkip, OnStart, OnError, Network or Proxy ends the crawl.
type PanicError struct {
	Where string // "handler", or the names of the options that may have panicked
	Value any    // the argument of the panic
	Stack []byte // the stack of the panic, in the form of debug.Stack
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Where, e.Value) }

// Unwrap returns the value of the panic if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// safely calls f, a function of the program. If f panics, safely returns a *PanicError with where
// as the name of the function.
func safely(where string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{where, v, debug.Stack()}
		}
	}()
	f()
	return nil
}

// tried calls f, a function of the program, while New checks the options. If f panics, tried
// returns an *OptionError for the option with the name field.
func tried(field string, f func()) error {
	if err := safely(field, f); err != nil {
		return &OptionError{Field: field, Reason: err.Error(), Err: err}
	}
	return nil
}

// callHandler passes p to h, unless h is nil. If h panics, callHandler returns a *PanicError.
func callHandler(ctx context.Context, h Handler, p *Page) (err error) {
	if h == nil {
		return nil
	}
	if panicked := safely("handler", func() { err = h.Handle(ctx, p) }); panicked != nil {
		return panicked
	}
	return err
}

// Tags is a Handler that passes each page to the Handler for the page's tag. So a program can
// handle list pages and item pages differently without patterns for their URLs: when it follows a
// link, it gives the target a tag (Page.FollowTag, Page.FollowLink). The tag of a seed is the text
// after the tab (see Options.Seeds). Any other page has the tag of the page on which it was found,
// unless a handler gives it another tag before it is fetched. So a page that is first found in a
// sitemap has the tag of the sitemap if it is fetched before any handler follows a link to it. If
// that matters, set Options.Sitemaps to SitemapsNone.
//
// The Handler for "" gets the pages without a tag, and the pages whose tag has no Handler. A nil
// Handler ignores its pages. If neither the tag of a page nor "" has a Handler, Handle returns an
// error. It is counted, logged and passed to Options.OnError like an error of any Handler. So a
// misspelled tag does not lose pages silently.
//
// A tag is any text of at most 64 KiB. It may be data about the page, such as JSON with the price
// in the list; then a program reads p.Entry.Tag itself instead of using Tags.
//
// The map must not be changed while a crawl runs.
type Tags map[string]Handler

// Handle implements Handler. It returns an error if t has no Handler for the tag of the page.
func (t Tags) Handle(ctx context.Context, p *Page) error {
	h, ok := t[p.Entry.Tag]
	if !ok {
		h, ok = t[""]
	}
	switch {
	case !ok:
		return &tagError{p.Entry.Tag}
	case h == nil:
		return nil
	}
	return h.Handle(ctx, p)
}

// A tagError is the error of Tags.Handle for a page whose tag has no Handler.
type tagError struct {
	Tag string
}

func (e *tagError) Error() string {
	return fmt.Sprintf(`crawler: the tags have no handler for the tag %q, and none for "" that would take its pages`, e.Tag)
}

// A safeLogHandler wraps the slog.Handler of the program and recovers from its panics. A panic then
// loses one line of the log and does not end the process. The program cannot recover from it,
// because the crawl logs from its own goroutines.
type safeLogHandler struct{ to slog.Handler }

func (c safeLogHandler) Enabled(ctx context.Context, l slog.Level) (yes bool) {
	_ = safely("Logger", func() { yes = c.to.Enabled(ctx, l) })
	return yes
}

func (c safeLogHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	if panicked := safely("Logger", func() { err = c.to.Handle(ctx, r) }); panicked != nil {
		return panicked
	}
	return err
}

func (c safeLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithAttrs(attrs) })
	return safeLogHandler{to}
}

func (c safeLogHandler) WithGroup(name string) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithGroup(name) })
	return safeLogHandler{to}
}
