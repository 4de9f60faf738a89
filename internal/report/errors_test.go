package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/storage"
)

// reported are crawls that have all that a report reads, and as of when they are told.
func reported(t *testing.T) (dirs []string, now time.Time) {
	now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	dir, _, _ := crawled(t)
	return []string{dir, queued(t, now), visited(t, now, now.Add(time.Hour))}, now
}

func same(_, value []byte) []byte { return value }

// figures are a report as JSON.
func figures(t *testing.T, r *report.Report) string {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A temporary file that fails once, at any step, is an error of the report.
func TestASortThatFailsIsAnError(t *testing.T) {
	dirs, now := reported(t)
	broken := errors.New("no disk")
	for _, dir := range dirs {
		for n, calls := 1, 1; n <= calls; n++ {
			calls = 0
			o := report.Options{Now: now}
			o.Hook(func() error {
				if calls++; calls == n {
					return broken
				}
				return nil
			}, same)
			if _, err := report.Dir(dir, o); errors.Is(err, broken) != (calls >= n) {
				t.Errorf("%s, call %d of %d: %v", dir, n, calls, err)
			}
		}
	}
}

// A temporary file that is damaged is an error of the report.
func TestASortThatIsDamagedIsAnError(t *testing.T) {
	dirs, now := reported(t)
	for name, of := range map[string]func(key, value []byte) bool{
		"a line of a site": func(_, value []byte) bool { return value[0] == 'a' },
		"a line of a URL":  func(_, value []byte) bool { return value[0] == '2' && len(value) > 50 },
		"a queue":          func(_, value []byte) bool { return value[0] == 'c' && value[1] == '{' },
		"a body":           func(key, _ []byte) bool { return bytes.HasPrefix(key, []byte("sha1:")) },
	} {
		failed := false
		for _, dir := range dirs {
			spoilt := false
			o := report.Options{Now: now}
			o.Hook(func() error { return nil }, func(key, value []byte) []byte {
				if spoilt || !of(key, value) {
					return value
				}
				spoilt = true
				return []byte{value[0], 'x'}
			})
			if _, err := report.Dir(dir, o); (err != nil) != spoilt {
				t.Errorf("%s of %s: %v", name, dir, err)
			}
			failed = failed || spoilt
		}
		if !failed {
			t.Errorf("no crawl has %s", name)
		}
	}
}

// statePage is how many bytes of a state are spoilt at a time.
const statePage = 4096

// spoil writes over a part of the state of a crawl.
func spoil(t *testing.T, dir string, from, to int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, storage.StateFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(to-from)), from)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// If any page of the state is damaged, or all of it while a report is made, the report is an
// error, or as it was.
func TestAStateThatIsDamagedChangesNoFigure(t *testing.T) {
	dirs, now := reported(t)
	for _, dir := range dirs {
		calls := 0
		o := report.Options{Now: now}
		o.Hook(func() error { calls++; return nil }, same)
		r, err := report.Dir(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		want, failed := figures(t, r), 0
		state := filepath.Join(dir, storage.StateFile)
		whole, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		check := func(o report.Options, what string, n int) {
			t.Helper()
			r, err := report.Dir(dir, o)
			if err != nil {
				failed++
			} else if got := figures(t, r); got != want {
				t.Errorf("%s, %s %d: %s\nwant %s", dir, what, n, got, want)
			}
			if err := os.WriteFile(state, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for n := 2; n < len(whole)/statePage; n++ { // the first two say where the others are
			spoil(t, dir, int64(n)*statePage, int64(n+1)*statePage)
			check(report.Options{Now: now}, "page", n)
		}
		for n := range calls {
			calls := 0
			o := report.Options{Now: now}
			o.Hook(func() error {
				if calls++; calls == n+1 {
					spoil(t, dir, 2*statePage, int64(len(whole)))
				}
				return nil
			}, same)
			check(o, "call", n)
		}
		if failed < 3 {
			t.Errorf("%s: %d errors", dir, failed)
		}
	}
}

// A directory in the place of a file cannot be read.
func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	for _, name := range []string{storage.LogFile, storage.PagesFile, storage.LinksFile} {
		dir := written(t, nil)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o755)); err != nil {
			t.Fatal(err)
		}
		if r, err := report.Dir(dir, report.Options{}); r != nil || err == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if err := errors.Join(os.Remove(path), os.Symlink(name, path)); err != nil {
			t.Fatal(err)
		}
		if r, err := report.Dir(dir, report.Options{}); r != nil || err == nil || errors.Is(err, os.ErrInvalid) {
			t.Errorf("%s, a link to itself: %+v, %v", name, r, err)
		}
	}
}
