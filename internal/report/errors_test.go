package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// reported makes two crawls that have everything that a report reads, and returns their
// directories and the time of the report.
func reported(t *testing.T) (dirs []string, now time.Time) {
	now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	dir, _, _ := crawled(t)
	return []string{dir, queued(t, now), visited(t, now, now.Add(time.Hour))}, now
}

func same(_, value []byte) []byte { return value }

// figures returns a report as JSON.
func figures(t *testing.T, r *report.Report) string {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// If a temporary file fails once, at any step of sorting, the report fails.
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
			if _, err := report.Dir(t.Context(), dir, o); errors.Is(err, broken) != (calls >= n) {
				t.Errorf("%s, call %d of %d: %v", dir, n, calls, err)
			}
		}
	}
}

// If a temporary file is damaged, the report fails.
func TestASortThatIsDamagedIsAnError(t *testing.T) {
	dirs, now := reported(t)
	cut := func(value []byte) []byte { return []byte{value[0], 'x'} }
	for name, of := range map[string]func(key, value []byte) []byte{ // returns the damaged value of a record; nil: leave the record unchanged
		"a line of a site": func(_, value []byte) []byte {
			if value[0] != 'a' {
				return nil
			}
			return cut(value)
		},
		"a request of a site": func(_, value []byte) []byte {
			if value[0] != 'a' || !bytes.Contains(value, []byte("start:")) {
				return nil
			}
			return bytes.Replace(value, []byte("start:"), []byte("start:-"), 1)
		},
		"a line of a URL": func(_, value []byte) []byte {
			if value[0] != '2' || len(value) < 50 {
				return nil
			}
			return cut(value)
		},
		"a queue": func(_, value []byte) []byte {
			if value[0] != 'c' || value[1] != '{' {
				return nil
			}
			return cut(value)
		},
		"a body": func(key, value []byte) []byte {
			if !bytes.HasPrefix(key, []byte("sha1:")) {
				return nil
			}
			return cut(value)
		},
	} {
		failed := false
		for _, dir := range dirs {
			spoilt := false
			o := report.Options{Now: now}
			o.Hook(func() error { return nil }, func(key, value []byte) []byte {
				if bad := of(key, value); bad != nil && !spoilt {
					spoilt = true
					return bad
				}
				return value
			})
			if _, err := report.Dir(t.Context(), dir, o); (err != nil) != spoilt {
				t.Errorf("%s of %s: %v", name, dir, err)
			}
			failed = failed || spoilt
		}
		if !failed {
			t.Errorf("no crawl has %s", name)
		}
	}
}

// statePage is how many bytes of a state are damaged at a time.
const statePage = 4096

// spoil overwrites the bytes from offset from up to offset to in the state file of a crawl.
func spoil(t *testing.T, dir string, from, to int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, store.StateFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(to-from)), from)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// manySites makes a crawl with so many sites that each table of its state has pages of its own.
// It returns the directory.
func manySites(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var links []frontier.Entry
	for i := range 100 {
		u, err := frontier.ParseURL(fmt.Sprintf("http://site%d.test/%s", i%10, strings.Repeat(fmt.Sprint(i%7), 200+i)))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, frontier.Entry{URL: u})
	}
	if err := errors.Join(db.Submit(frontier.Completion{Links: links}), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// One page of the state file is damaged, or the whole file while a report is made. The report
// then fails, or has the same numbers as before.
func TestAStateThatIsDamagedChangesNoFigure(t *testing.T) {
	dirs, now := reported(t)
	for _, dir := range append(dirs, manySites(t)) {
		calls := 0
		o := report.Options{Now: now}
		o.Hook(func() error { calls++; return nil }, same)
		r, err := report.Dir(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		want, failed := figures(t, r), 0
		state := filepath.Join(dir, store.StateFile)
		whole, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		check := func(o report.Options, what string, n int) {
			t.Helper()
			r, err := report.Dir(t.Context(), dir, o)
			if err != nil {
				failed++
			} else if got := figures(t, r); got != want {
				t.Errorf("%s, %s %d: %s\nwant %s", dir, what, n, got, want)
			}
			if err := os.WriteFile(state, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for n := 2; n < len(whole)/statePage; n++ { // skip the first two pages, because they say where all others are
			spoil(t, dir, int64(n)*statePage, int64(n+1)*statePage)
			check(report.Options{Now: now}, "page", n)
		}
		for n := range calls {
			if n > 20 && n < calls-20 { // skip most steps in the middle, because the state is read only at the beginning and at the end
				continue
			}
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

// A directory is in place of a file, so that the file cannot be read. The report fails.
func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	for _, name := range []string{store.LogFile, store.PagesFile, store.LinksFile} {
		dir := written(t, nil)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o755)); err != nil {
			t.Fatal(err)
		}
		if r, err := report.Dir(t.Context(), dir, report.Options{}); r != nil || err == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if err := errors.Join(os.Remove(path), os.Symlink(name, path)); err != nil {
			t.Fatal(err)
		}
		if r, err := report.Dir(t.Context(), dir, report.Options{}); r != nil || err == nil || errors.Is(err, os.ErrInvalid) {
			t.Errorf("%s, a link to itself: %+v, %v", name, r, err)
		}
	}
}

// If the previous crawl is neither damaged nor missing and still cannot be read, the report
// fails.
func TestACrawlBeforeThatCannotBeRead(t *testing.T) {
	was, _ := twice(t)
	_, is := twice(t, func(o *crawler.Options) { o.Previous = was })
	path := filepath.Join(was, store.PagesFile)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, since := range []string{"", was} {
		if r, err := report.Dir(t.Context(), is, report.Options{Since: since}); r != nil || err == nil {
			t.Errorf("since %q: %+v, %v", since, r, err)
		}
	}
}
