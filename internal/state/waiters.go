package state

import "context"

// Waiters are the callers of Sync of one queue. The caller of a method holds the lock of the queue.
type Waiters struct {
	queued     []chan error // wait for operations that are in the queue
	taken      []chan error // wait for operations that are being committed
	committing bool
}

// Take says that all operations of the queue are being committed.
func (w *Waiters) Take() {
	w.taken, w.queued, w.committing = append(w.taken, w.queued...), nil, true
}

// Queued reports whether a caller waits for operations that are in the queue.
func (w *Waiters) Queued() bool { return len(w.queued) > 0 }

// Done says that the operations that were taken are committed.
func (w *Waiters) Done() {
	tell(w.taken, nil)
	w.taken, w.committing = nil, false
}

// Fail says that no operation will be committed any more.
func (w *Waiters) Fail(err error) {
	tell(w.taken, err)
	tell(w.queued, err)
	*w = Waiters{}
}

func tell(callers []chan error, err error) {
	for _, c := range callers {
		c <- err
	}
}

// Wait returns a channel that gets the result when all operations are committed, or cannot be.
// queued says whether the queue has operations, and err is the error that has ended all commits.
func (w *Waiters) Wait(queued bool, err error) <-chan error {
	c := make(chan error, 1)
	switch {
	case err != nil:
		c <- err
	case queued:
		w.queued = append(w.queued, c)
	case w.committing:
		w.taken = append(w.taken, c)
	default:
		c <- nil
	}
	return c
}

// Sync waits until all operations that were put before the call are committed. The error is the one
// that has ended all commits, or the cause of the end of ctx.
func (db *DB) Sync(ctx context.Context) error {
	q := &db.queue
	q.mu.Lock()
	done := q.waiters.Wait(len(q.ops) > 0, q.err)
	q.mu.Unlock()
	nudge(q.hurry)
	return Await(ctx, done)
}

// Await returns the error that done gets, or the cause of the end of ctx.
func Await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
