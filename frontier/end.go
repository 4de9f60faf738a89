package frontier

import (
	"errors"
	"fmt"
)

// Why Next hands out no more turns. ErrUnasked and ErrPatience are ErrEnd, too.
var (
	// ErrEnd by itself: every entry has ended.
	ErrEnd = errors.New("frontier: nothing is left to ask for")
	// ErrUnasked: all that is left belongs to sites that were given up, or that
	// have spent their budget, or were excluded.
	ErrUnasked = fmt.Errorf("%w but of sites that were given up, were excluded, or have spent their budget", ErrEnd)
	// ErrPatience: what is left waits for a clock, longer than the patience.
	ErrPatience = fmt.Errorf("%w within the patience", ErrEnd)

	ErrLimit   = errors.New("frontier: the limit of the crawl is reached")
	ErrStopped = errors.New("frontier: stopped")
)

// ending is why Next hands out no more turns. Neither is ever taken
// back: who was told of an end has left, and nothing brings him back.
type ending struct {
	broken bool  // the backlog has said that it cannot go on: nothing more will settle
	err    error // set once, by fail
}

// ended says which end it is where nothing is under way and nothing falls due.
// It requires that mu is held.
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
