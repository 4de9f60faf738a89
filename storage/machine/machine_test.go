package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/machine"
)

var _ frontier.Shared = (*machine.Table)(nil)

func open(t *testing.T, path string) *machine.Table {
	t.Helper()
	table, err := machine.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// Two tables with the same file stand for two processes.
func TestWhatOneReservesTheOtherSees(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "clocks")
	a, b := open(t, path), open(t, path)
	now := time.Now()
	until := now.Add(time.Minute)
	if _, ok := a.Reserve("site x", now, until); !ok {
		t.Fatal("a new name is taken")
	}
	taken, ok := b.Reserve("site x", now, until)
	if ok || !taken.Lease || taken.Until.Before(until) {
		t.Errorf("taken until %v, %v; want %v", taken, ok, until)
	}
	if _, ok := b.Reserve("site y", now, until); !ok {
		t.Error("another name is taken")
	}
	b.Release("site x", now) // no effect, because b has not reserved the key
	if _, ok := b.Reserve("site x", now, until); ok {
		t.Error("released by another table")
	}
	a.Release("site x", now.Add(time.Second))
	if taken, ok := b.Reserve("site x", now, until); ok || taken.Lease || taken.Until.Before(now.Add(time.Second)) {
		t.Errorf("after Release: taken until %v, %v", taken, ok)
	}
	if _, ok := b.Reserve("site x", now.Add(2*time.Second), until); !ok {
		t.Error("still taken when its time is over")
	}
}

func TestAWrongClockBlocksNobodyForLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	a, b := open(t, path), open(t, path)
	now := time.Now()
	a.Reserve("site x", now, now.Add(100*365*24*time.Hour))
	if _, ok := b.Reserve("site x", now, now.Add(time.Minute)); !ok {
		t.Error("a time a century ahead counts")
	}
	a.Reserve("site y", now, now.Add(time.Minute))
	a.Release("site y", now.Add(100*time.Hour))
	if taken, ok := b.Reserve("site y", now, now.Add(time.Minute)); ok || taken.Until.After(now.Add(24*time.Hour)) {
		t.Errorf("taken until %v, %v", taken, ok)
	}
}

func TestOnlyOneReserves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	now := time.Now()
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		table := open(t, path)
		all.Go(func() {
			for k := range 200 {
				if _, ok := table.Reserve("site", now.Add(time.Duration(k)*time.Second), now.Add(time.Duration(k+1)*time.Second)); ok {
					won.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := won.Load(); n > 200 {
		t.Errorf("%d reservations of 200 seconds", n)
	}
}

func TestAFileThatIsNoTableIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	big := strings.Repeat("x", 9<<20)
	if err := os.WriteFile(path, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Open(path); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("got %v", err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != big {
		t.Error("the file was changed")
	}
}

// The places of a few thousand names are in all parts of the table, and never outside of it.
func TestEachOfManyNamesIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	a, b := open(t, path), open(t, path)
	now := time.Now()
	until := now.Add(time.Minute)
	const names = 4000
	shared := 0
	for i := range names {
		key := fmt.Sprintf("host h%d.example", i)
		if _, ok := a.Reserve(key, now, until); !ok {
			shared++ // the name has the same place as an earlier one
		}
		if taken, ok := b.Reserve(key, now, until); ok || !taken.Lease {
			t.Fatalf("%s is free for another process", key)
		}
	}
	if shared > names/100 {
		t.Errorf("%d of %d names share a place with another", shared, names)
	}
}
