package frontier

import (
	"errors"
	"fmt"
)

// The errors of Next after the end of a run. ErrUnasked and ErrPatience wrap ErrEnd.
var (
	// ErrEnd is returned if every entry has ended. Compare with ==: the next two errors wrap it.
	ErrEnd = errors.New("frontier: nothing is left to request")
	// ErrUnasked is returned if all remaining entries belong to sites that were given up, have
	// spent their budget, or were excluded.
	ErrUnasked = fmt.Errorf("%w except from sites that were given up, were excluded, or have spent their budget", ErrEnd)
	// ErrPatience is returned if all remaining entries wait longer than the patience.
	ErrPatience = fmt.Errorf("%w within the patience", ErrEnd)

	// ErrLimit is returned if a limit of pages or bytes of the crawl is reached.
	ErrLimit = errors.New("frontier: the limit of the crawl is reached")
	// ErrStopped is returned after a call of Stop.
	ErrStopped = errors.New("frontier: stopped")
)

// ending says whether and how the run has ended. No field is reset, because callers of Next return
// for good after the end.
type ending struct {
	broken bool          // the backlog has failed, so no further Submit will settle
	err    error         // the error that Next returns after the end; nil before it; only fail sets it, once
	over   chan struct{} // closed when err is set
}

// ended returns the error for a run in which nothing is under way and no entry falls due within
// the patience (Limits.Patience). The caller must hold f.mu.
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
