//go:build unix

package postgres

import (
	"errors"
	"slices"
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

// A node gets what the other nodes that take part have declared, the last value of each, and nothing
// of nodes that have ended or whose lease is over.
func TestWhatNodesDeclare(t *testing.T) {
	t.Parallel()
	url := NewDatabase(t)
	a, b := open(t, url, t.TempDir()), open(t, url, t.TempDir())
	declare := func(n *node, how string, want ...string) {
		t.Helper()
		others, err := n.Declare(how)
		var got []string
		for _, raw := range others {
			got = append(got, string(raw))
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("with %s declared: %v, %v, want %v", how, got, err, want)
		}
	}
	declare(a, "1")
	declare(b, "2", `"1"`)
	declare(a, "3", `"2"`)
	declare(b, "4", `"3"`)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	declare(b, "5")
	c := open(t, url, t.TempDir())
	declare(c, "6", `"5"`)
	if _, err := c.pool.Exec(c.ctx, "update node set until = 'epoch' where id = $1", b.id); err != nil {
		t.Fatal(err)
	}
	declare(c, "7")
	kill(b)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
