package crawler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Tags is a Handler that passes each page to the Handler for the page's tag. So a program can
// handle list pages and item pages differently without patterns for their URLs: when it follows
// a link, it says with a tag what the link leads to (Page.FollowTag, Page.FollowLink). A seed
// has the tag that follows its tab (see Options.Seeds). Any other page has the tag of the page
// on which it was found, unless it was given another one before it is fetched. So a page that is
// first found in a sitemap has the tag of the sitemap if it is fetched before any handler
// follows a link to it. If that matters, set Options.Sitemaps to SitemapsNone.
//
// The Handler for "" gets the pages without a tag, and those whose tag has no Handler. A nil
// Handler ignores its pages. If neither the tag of a page nor "" has a Handler, the Handler
// returns an error. It is counted, logged and passed to Options.OnError like an error of any Handler,
// so that no page is lost silently because a tag is misspelled.
//
// A tag is any text of at most 64 KiB. It may be data about the page, such as JSON with the price
// that the list says; then a program reads p.Entry.Tag itself, in place of Tags.
//
// The map must not be changed while a crawl runs.
type Tags map[string]Handler

// Handle implements Handler.
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

// A tagError says that a Tags has no Handler for a page.
type tagError struct {
	Tag string // tag of the page
}

func (e *tagError) Error() string {
	return fmt.Sprintf(`crawler: the tags have no handler for the tag %q, and none for "" that would take its pages`, e.Tag)
}

// A contained wraps the program's slog.Handler and recovers from its panics. A panic then loses
// one line of the log and does not end the process. The program itself could not recover,
// because the crawl logs from its own goroutines.
type contained struct{ to slog.Handler }

func (c contained) Enabled(ctx context.Context, l slog.Level) (yes bool) {
	_ = safely("Logger", func() { yes = c.to.Enabled(ctx, l) })
	return yes
}

func (c contained) Handle(ctx context.Context, r slog.Record) (err error) {
	if panicked := safely("Logger", func() { err = c.to.Handle(ctx, r) }); panicked != nil {
		return panicked
	}
	return err
}

func (c contained) WithAttrs(attrs []slog.Attr) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithAttrs(attrs) })
	return contained{to}
}

func (c contained) WithGroup(name string) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithGroup(name) })
	return contained{to}
}
