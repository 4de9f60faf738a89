package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/storage/machine"
)

// If a file is no table, or a path cannot be opened, Open returns an error and does not change the
// file.
func TestInvalidTableFiles(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) string{
		"a directory":  func(path string) string { os.Mkdir(path, 0o700); return path },
		"below a file": func(path string) string { os.WriteFile(path, []byte("x"), 0o600); return filepath.Join(path, "x") },
		"a device":     func(string) string { return os.DevNull },
		"too long":     func(path string) string { os.WriteFile(path, make([]byte, 9<<20), 0o600); return path },
		"no path":      func(string) string { return "" },
		"a NUL":        func(path string) string { return path + "\x00" },
		"a huge name":  func(path string) string { return path + strings.Repeat("x", 1<<12) },
		"a circle":     func(path string) string { os.Symlink(path, path); return path },
	} {
		path := prepare(filepath.Join(t.TempDir(), "table"))
		before, _ := os.Stat(path)
		table, err := machine.Open(path)
		if err == nil {
			t.Errorf("%s is a table", name)
			table.Close()
		}
		if after, _ := os.Stat(path); (before == nil) != (after == nil) || before != nil && before.Size() != after.Size() {
			t.Errorf("%s: the file has changed", name)
		}
	}
}

// No method panics or blocks: after Close, with the zero Table, and with any times. A time in the
// far future blocks a site for at most a day.
func TestTablesAndTimesThatAreOdd(t *testing.T) {
	t.Parallel()
	open := func() *machine.Table {
		table, err := machine.Open(filepath.Join(t.TempDir(), "table"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { table.Close() })
		return table
	}
	closed := open()
	for range 2 {
		if err := closed.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	years := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	now := time.Now()
	for name, table := range map[string]*machine.Table{"zero": {}, "closed": closed, "open": open()} {
		for _, odd := range []time.Time{{}, years(-300000), years(-5), years(1960), time.Unix(0, 0), now, years(2262), years(9999), years(300000)} {
			key := name + odd.String()
			for range 3 {
				table.Renew(key, odd)
				table.Release(key, odd)
				if _, ok := table.Reserve(key, odd, odd); !ok && name != "open" {
					t.Errorf("%s, %v: it is taken", name, odd)
				}
				table.Renew(key, odd)
				table.Release(key, odd)
			}
			if taken, ok := table.Reserve(key, now, now.Add(time.Minute)); !ok && taken.Until.Sub(now) > 25*time.Hour {
				t.Errorf("%s, %v: taken until %v", name, odd, taken.Until)
			}
			table.Release(key, now)
		}
		for _, key := range []string{"", "\x00", strings.Repeat("x", 1<<20)} {
			table.Reserve(key, now, now)
			table.Release(key, now)
		}
		if err := table.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If a Table is closed while other goroutines use it, their calls return.
func TestCloseWhileATableIsUsed(t *testing.T) {
	t.Parallel()
	table, err := machine.Open(filepath.Join(t.TempDir(), "table"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 200 {
				table.Reserve("x", time.Now(), time.Now().Add(time.Hour))
				table.Renew("x", time.Now().Add(time.Hour))
				table.Release("x", time.Now())
				if n == 0 {
					if err := table.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}
