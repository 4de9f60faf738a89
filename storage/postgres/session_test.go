//go:build unix

package postgres

import (
	"errors"
	"testing"
)

// When the session ends, a frontier that waits for a lease must continue, so that it learns of the
// end. No request is sent.
func TestTheEndOfASessionEndsTheWaitForALease(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	db.session.until.Store(0)
	gate := db.Blocked()
	if gate == nil || db.May() {
		t.Fatal("not blocked without a lease")
	}
	db.end(ErrSession)
	<-gate
	if db.Blocked() != nil || db.May() {
		t.Errorf("after the end: blocked %v, may send %v", db.Blocked() != nil, db.May())
	}
	if g := <-db.Grown(); !errors.Is(g.Err, ErrSession) {
		t.Error(g.Err)
	}
}
