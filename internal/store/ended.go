package store

import (
	"context"
	"errors"
	"io"
)

// errNoContext is the error of a nil context.
var errNoContext = errors.New("storage: the context is nil: context.Background() is one that never ends")

// ended returns the error of ctx if it has ended, or errNoContext if it is nil. Calls that read a
// whole crawl call ended once for each record or line.
func ended(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	return ctx.Err()
}

// A stopping is a reader or a writer that fails after its context has ended.
type stopping struct {
	ctx context.Context
	r   io.Reader
	w   io.Writer
}

func (s *stopping) Read(p []byte) (int, error) {
	if err := ended(s.ctx); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func (s *stopping) Write(p []byte) (int, error) {
	if err := ended(s.ctx); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}
