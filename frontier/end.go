package frontier

import (
	"errors"
	"fmt"
)

// The errors of Next after the end of a run. ErrUnasked and ErrPatience wrap ErrEnd.
var (
	// ErrEnd, not wrapped: every entry has ended.
	ErrEnd = errors.New("frontier: nothing is left to request")
	// ErrUnasked: all entries that are left belong to sites that were given up,
	// have spent their budget, or were excluded.
	ErrUnasked = fmt.Errorf("%w except from sites that were given up, were excluded, or have spent their budget", ErrEnd)
	// ErrPatience: all entries that are left wait longer than the patience.
	ErrPatience = fmt.Errorf("%w within the patience", ErrEnd)

	// ErrLimit: a limit of pages or bytes of the crawl is reached.
	ErrLimit = errors.New("frontier: the limit of the crawl is reached")
	// ErrStopped: Stop was called.
	ErrStopped = errors.New("frontier: stopped")
)

// ending says how the run has ended, or that it has not. Its fields are never reset, because
// callers of Next stop after the end.
type ending struct {
	broken bool          // the backlog has failed, so Submits that have not settled never will
	err    error         // the error that Next returns since the end; set once, by fail
	over   chan struct{} // closed when err is set
}

// ended returns the error for the end of a run in which nothing is under way and no entry falls
// due within the patience (Limits.Patience). It requires that f.mu is held.
func (f *Frontier) ended() error {
	switch {
	case f.closed:
		return ErrLimit
	case len(f.waiting.sites) > 0:
		return ErrPatience
	case f.entries+f.again > 0:
		return ErrUnasked
	}
	return ErrEnd
}
