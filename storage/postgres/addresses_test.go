//go:build unix

package postgres

import (
	"testing"
	"time"
)

// One node at a time has an address. Another node gets the address after the reservation and a
// pause, even if the first node would like to keep it. This is also true after a crash of the
// server.
func TestAnAddressHasOneNode(t *testing.T) {
	t.Parallel()
	const gap = 300 * time.Millisecond
	url := NewDatabase(t)
	a, b := open(t, url, t.TempDir()), open(t, url, t.TempDir())
	defer kill(a)
	defer kill(b)
	try := func(db *node, want bool) (free time.Time) {
		t.Helper()
		free, ok := db.Address("192.0.2.1", gap)
		if ok != want {
			t.Fatalf("taken: %v, want %v", ok, want)
		}
		return free
	}
	age := func(by time.Duration) { // makes all reservations older, as if time had passed
		if _, err := a.pool.Exec(a.ctx, "update address set due = due - $1::interval, wanted = wanted - $1::interval", by); err != nil {
			t.Fatal(err)
		}
		for _, db := range []*node{a, b} {
			db.addresses.mu.Lock()
			for addr := range db.addresses.held {
				db.addresses.held[addr] -= by
			}
			db.addresses.mu.Unlock()
		}
	}
	_, err := a.pool.Exec(a.ctx, "select pg_sleep(extract(epoch from $1::interval + pg_postmaster_start_time() - clock_timestamp()))", addressFor+gap+time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	try(a, true)
	age(addressFor)
	try(a, true) // a extends its own reservation
	if free := time.Until(try(b, false)); free > addressFor+gap || free < 0 {
		t.Errorf("free in %v", free)
	}
	try(a, true) // a needs no query, because its reservation is in memory
	age(addressFor)
	try(a, false) // refused, because b wants the address
	try(b, false) // refused, because of the pause
	age(gap)
	try(a, false)
	try(b, true)
	try(a, false)
	age(addressFor + gap)
	try(b, false) // refused, because a wants the address
	age(time.Second)
	try(b, true) // a has not taken the address, so b gets it again
	age(addressFor + wantedFor)
	try(b, true)
	if _, err := a.pool.Exec(a.ctx, "delete from address"); err != nil { // a crash of the server empties the table
		t.Fatal(err)
	}
	if free, ok := a.Address("192.0.2.1", time.Hour); ok || time.Until(free) > 2*time.Second {
		t.Errorf("the server has just begun: taken %v, free %v", ok, free)
	}
}
