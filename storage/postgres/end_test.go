//go:build unix

package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// A resting frontier has nothing to do. limits are its limits, and grown is the number of the last
// growth that it has absorbed.
type resting struct {
	mu     sync.Mutex
	grown  uint64
	limits frontier.Limits
	ended  chan error
}

func (r *resting) Withdraw(context.Context) ([]frontier.Site, error) { return nil, nil }
func (r *resting) Limits() frontier.Limits                           { return r.limits }
func (r *resting) End(err error) error {
	select {
	case r.ended <- err:
	default:
	}
	return nil
}
func (r *resting) Rest() frontier.Rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return frontier.Rest{Verdict: frontier.ErrEnd, Grown: r.grown}
}

// A frontier that has not absorbed the last growth is not at rest. Otherwise the run would end
// without the entries in this growth.
func TestTheRunDoesNotEndBeforeAllIsTakenIn(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	f := &resting{ended: make(chan error, 1)}
	k := &keeper{node: db, frontier: f}
	if err := k.balance(db.ctx); err != nil { // the node takes all partitions
		t.Fatal(err)
	}
	if err := k.rest(); err != nil || k.idle || len(f.ended) > 0 {
		t.Fatalf("the node rests before its partitions are taken in: %v, %v", k.idle, err)
	}
	f.mu.Lock()
	f.grown = 1 << 40
	f.mu.Unlock()
	if err := k.rest(); err != nil || !k.idle {
		t.Fatal(k.idle, err)
	}
	if err := <-f.ended; err != frontier.ErrEnd {
		t.Error(err)
	}
}
