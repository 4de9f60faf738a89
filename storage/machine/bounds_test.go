package machine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/storage/machine"
)

// A key is reserved until the given time, and free from then on. A time that is a day or more in
// the future is ignored.
func TestTimesAtTheirBounds(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		until time.Duration
		at    time.Duration // time of the second attempt, from the first
		free  bool
	}{
		{time.Minute, 0, false},
		{time.Minute, time.Minute - 1, false},
		{time.Minute, time.Minute + 1, true}, // the lowest bit marks the lease and adds a nanosecond
		{time.Minute, time.Minute + 2, true},
		{24*time.Hour - 2, 0, false},
		{24 * time.Hour, 0, true},
		{24 * time.Hour, 2, false},
	} {
		path := filepath.Join(t.TempDir(), "clocks")
		a, b := open(t, path), open(t, path)
		if taken, ok := a.Reserve("x", now, now.Add(c.until)); !ok || !taken.Until.IsZero() || taken.Lease {
			t.Fatalf("%+v: %+v, %v", c, taken, ok)
		}
		taken, ok := b.Reserve("x", now.Add(c.at), now.Add(c.at+time.Hour))
		if ok != c.free || !ok && (!taken.Lease || taken.Until.Sub(now) != c.until+1) {
			t.Errorf("%+v: %+v, %v", c, taken, ok)
		}
	}
}

// A release reserves a key for a day less a minute at most. With the zero time the key is free at
// once.
func TestReleaseAtItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		const most = 24*time.Hour - time.Minute
		for until, want := range map[time.Duration]time.Duration{time.Second: time.Second, most - 1: most, most: most, most + 2: most, 100 * time.Hour: most, 3: 4, 4: 4} {
			path := filepath.Join(t.TempDir(), "clocks")
			a, err := machine.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			a.Reserve("x", now, now.Add(time.Minute))
			a.Release("x", now.Add(until))
			if taken, ok := a.Reserve("x", now, now.Add(time.Minute)); ok || taken.Lease || taken.Until.Sub(now) != want {
				t.Errorf("released until %v: %v, %v, want %v", until, taken.Until.Sub(now), ok, want)
			}
			// A key can be released only once.
			a.Release("x", now.Add(time.Hour))
			if taken, _ := a.Reserve("x", now, now.Add(time.Minute)); taken.Until.Sub(now) != want {
				t.Errorf("released again: until %v", taken.Until.Sub(now))
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	table := open(t, filepath.Join(t.TempDir(), "clocks"))
	long := time.Unix(0, 1000)
	if _, ok := table.Reserve("x", long, long.Add(time.Minute)); !ok {
		t.Fatal("a new name is taken")
	}
	table.Release("x", time.Time{})
	if taken, ok := table.Reserve("x", time.Unix(0, -1), long); !ok && taken.Until.After(time.Unix(0, 0)) {
		t.Errorf("until %v", taken.Until)
	}
}

// A table that has released a key can no longer change it, even if another table reserves the key
// until the same time.
func TestWhatWasReleasedIsNotReleasedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	a, b := open(t, path), open(t, path)
	now := time.Now()
	until := now.Add(time.Hour)
	a.Reserve("x", now, until)
	a.Release("x", now)
	if _, ok := b.Reserve("x", now.Add(time.Second), until); !ok {
		t.Fatal("a released key is taken")
	}
	a.Release("x", now)
	if taken, ok := a.Reserve("x", now.Add(time.Second), until); ok || !taken.Lease {
		t.Errorf("released for another: %+v, %v", taken, ok)
	}
}

// A closed table does not block requests, and its reservations stay in the file.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	now := time.Now()
	table, err := machine.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	table.Reserve("x", now, now.Add(time.Minute))
	for range 2 {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
	if taken, ok := table.Reserve("x", now, now.Add(time.Minute)); !ok || taken.Lease {
		t.Errorf("of a closed table: %+v, %v", taken, ok)
	}
	table.Release("x", now)
	if _, ok := open(t, path).Reserve("x", now, now.Add(time.Minute)); ok {
		t.Error("a reserved key is free")
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(file, "below", "clocks"): "mkdir " + file, filepath.Join(file, "clocks"): "mkdir " + file, dir: "open " + dir} {
		if table, err := machine.Open(path); table != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is opened: %v, want %s", path, err, want)
		}
	}
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, make([]byte, 8<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Open(long); err == nil || !strings.Contains(err.Error(), long+" is 8388609 bytes long, not 8388608") {
		t.Errorf("a byte too long: %v", err)
	}
}

// The file has permissions only for the user. So other users can neither read the table nor block
// keys.
func TestOnlyTheUserMayReadIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no modes")
	}
	path := filepath.Join(t.TempDir(), "state", "clocks")
	open(t, path)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
