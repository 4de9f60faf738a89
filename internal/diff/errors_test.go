package diff_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/store"
)

// changed makes two pairs of crawls of a web in which everything changes that Compare looks at.
// The first pair has pages.jsonl, the second only archives.
func changed(t *testing.T) (pairs [][2]string) {
	t.Helper()
	web := func(text string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			to := func(path string) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, path, http.StatusMovedPermanently) }
			}
			s := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no"+text).
				Page("/", "<a href=/text></a><a href=/moved></a><a href=/away></a><a href=/no1></a>").
				Page("/text", "<p>the text<!--"+text+"-->").Page("/no1", "no").Func("/away", to("/away"+text)).Page("/away1", "away").Page("/away2", "away")
			if text == "1" {
				s.Page("/moved", "<p>moved")
			} else {
				s.Func("/moved", to("/place")).Page("/place", "<p>moved<!---->")
			}
			w.Site("http://b.example").Robots("User-agent: *\nDisallow: /"+text).Page("/", "b"+text)
			w.Site("http://c.example").Robots("User-agent: *\nDisallow: /"+text).Page("/1", "c")
		}
	}
	for _, with := range []crawler.Output{crawler.OutputPages, ""} {
		a, b := two(t, web("1"), web("2"), func(o *crawler.Options) {
			o.Seeds = append(o.Seeds, "http://b.example/", "http://c.example/1")
			o.Output = []crawler.Output{crawler.OutputWARC}
			o.Site = func(s frontier.Site) crawler.SiteOptions { // one site has settings of its own
				if s.Host() == "b.example" {
					return crawler.SiteOptions{AllowForbidden: true, Reason: "agreed by mail"}
				}
				return crawler.SiteOptions{}
			}
			if with != "" {
				o.Output = append(o.Output, with)
			}
		})
		pairs = append(pairs, [2]string{a, b})
	}
	return pairs
}

func nothing() error { return nil }

func same(_, value []byte) []byte { return value }

func figures(t *testing.T, r *diff.Result) string {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// If a temporary file fails once, at any step, or is damaged, Compare fails.
func TestASortThatFailsIsAnError(t *testing.T) {
	broken := errors.New("no disk")
	for _, dirs := range changed(t) {
		last := 0 // the last call is Close, after all facts were read
		for n, calls := 1, 1; n <= calls; n++ {
			calls = 0
			var o diff.Options
			o.Hook(func() error {
				if calls++; calls == n {
					return broken
				}
				return nil
			}, same)
			if r, err := diff.Compare(t.Context(), dirs[0], dirs[1], o); errors.Is(err, broken) == (r != nil) {
				t.Errorf("call %d: %v, %v", n, r, err)
			} else if err == nil {
				last++
			}
		}
		if last != 1 {
			t.Errorf("%d failing calls end without an error, want 1", last)
		}
		records := 0
		var o diff.Options
		o.Hook(nothing, func(_, value []byte) []byte { records++; return value })
		if _, err := diff.Compare(t.Context(), dirs[0], dirs[1], o); err != nil {
			t.Fatal(err)
		}
		for n := range records {
			read := 0
			o.Hook(nothing, func(_, value []byte) []byte {
				if read++; read == n+1 {
					return []byte("x")
				}
				return value
			})
			if r, err := diff.Compare(t.Context(), dirs[0], dirs[1], o); r != nil || err == nil {
				t.Errorf("record %d is damaged: %v, %v", n, r, err)
			}
		}
	}
}

// A comparison ends soon after its context has ended, in each of its steps.
func TestACancelledComparisonEndsSoon(t *testing.T) {
	dirs := changed(t)[0]
	steps := 0
	cancelled := func(at int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		steps = 0
		step := func() error {
			if steps++; steps == at {
				cancel()
			}
			return nil
		}
		o := diff.Options{Begin: func(*diff.Result) error { return step() }, Change: func(*diff.Change) error { return step() }}
		o.Hook(step, same)
		_, err := diff.Compare(ctx, dirs[0], dirs[1], o)
		return err
	}
	if err := cancelled(0); err != nil {
		t.Fatal(err)
	}
	for n := range steps - 2 { // leave out the last URL and the end of the sort
		if err := cancelled(n + 1); !errors.Is(err, context.Canceled) || steps > n+1+2 { // two more steps are allowed, because an open sorter is closed
			t.Errorf("cancelled at step %d, it has made %d: %v", n+1, steps, err)
		}
	}
}

// spoil overwrites the bytes of a crawl's state file between two offsets.
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

// A page of a state file is damaged, or the whole file at some step. Compare returns an error,
// or the same result as before.
func TestAStateThatIsDamagedChangesNothing(t *testing.T) {
	const page = 4096
	for _, dirs := range changed(t)[1:] { // only the second pair, because without pages.jsonl more of the state is read
		steps := 0
		step := func(do func()) (o diff.Options) {
			steps = 0
			next := func() { steps++; do() }
			o.Begin = func(*diff.Result) error { next(); return nil }
			o.Change = func(*diff.Change) error { next(); return nil }
			o.Effect = func(*diff.Effect) error { next(); return nil }
			o.Hook(func() error { next(); return nil }, func(_, value []byte) []byte { next(); return value })
			return o
		}
		r, err := diff.Compare(t.Context(), dirs[0], dirs[1], step(func() {}))
		if err != nil {
			t.Fatal(err)
		}
		want, all, failed := figures(t, r), steps, 0
		for _, dir := range dirs {
			state := filepath.Join(dir, store.StateFile)
			whole, err := os.ReadFile(state)
			if err != nil {
				t.Fatal(err)
			}
			check := func(o diff.Options, what string, n int) {
				t.Helper()
				r, err := diff.Compare(t.Context(), dirs[0], dirs[1], o)
				if err != nil {
					failed++
				} else if got := figures(t, r); got != want {
					t.Errorf("%s, %s %d: %s\nwant %s", dir, what, n, got, want)
				}
				if err := os.WriteFile(state, whole, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for n := 2; n < len(whole)/page; n++ { // skip the first two pages, because they say where all others are
				spoil(t, dir, int64(n)*page, int64(n+1)*page)
				check(diff.Options{}, "page", n)
			}
			for n := range all {
				check(step(func() {
					if steps == n+1 {
						spoil(t, dir, 2*page, int64(len(whole)))
					}
				}), "step", n)
			}
		}
		if failed < 10 {
			t.Errorf("%d errors", failed)
		}
	}
}

// A state is damaged during one step, and later steps can read it again. Compare returns an
// error, or the same result as before. So no step ignores what it cannot read.
func TestAStateThatIsDamagedForAMomentChangesNothing(t *testing.T) {
	t.Parallel()
	for _, dirs := range changed(t) {
		for _, dir := range dirs {
			state := filepath.Join(dir, store.StateFile)
			whole, err := os.ReadFile(state)
			if err != nil {
				t.Fatal(err)
			}
			heal := func() {
				if err := os.WriteFile(state, whole, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			steps := 0
			figuresOf := func(at int) (string, error) {
				steps = 0
				next := func() {
					switch steps++; steps {
					case at:
						spoil(t, dir, 2*4096, int64(len(whole)))
					case at + 1:
						heal()
					}
				}
				step := func() error { next(); return nil }
				o := diff.Options{
					Temp: t.TempDir(), Begin: func(*diff.Result) error { return step() }, Site: func(frontier.Site) bool { next(); return true },
					Change: func(*diff.Change) error { return step() }, Effect: func(*diff.Effect) error { return step() },
				}
				o.Hook(step, func(_, value []byte) []byte { next(); return value })
				o.OnSort(next)
				r, err := diff.Compare(t.Context(), dirs[0], dirs[1], o)
				heal()
				if err != nil {
					return "", err
				}
				return figures(t, r), nil
			}
			want, err := figuresOf(0)
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for n := range steps {
				got, err := figuresOf(n + 1)
				var damaged *store.DamagedError
				switch {
				case errors.As(err, &damaged):
					failed++
				case err != nil:
					t.Errorf("%s, step %d: %v", dir, n+1, err)
				case got != want:
					t.Errorf("%s, step %d: %s\nwant %s", dir, n+1, got, want)
				}
			}
			if failed < 5 {
				t.Errorf("%s: %d errors in %d steps", dir, failed, steps)
			}
		}
	}
}

// If one of the crawls does not know the target of a redirect, the URL has not changed.
func TestARedirectToAnUnknownPlaceHasNotChanged(t *testing.T) {
	web := func(to string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("").Page("/1", "1").Page("/2", "2").
				Func("/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) })
		}
	}
	nothing := func(o *crawler.Options) { o.Output = []crawler.Output{} }
	for i, c := range []struct {
		was, is func(*crawler.Options)
		want    diff.Kind
	}{{nil, nil, diff.Moved}, {nil, nothing, diff.NotModified}, {nothing, nil, diff.NotModified}, {nothing, nothing, diff.NotModified}} {
		a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
		crawl(t, a, web("/1"), c.was)
		crawl(t, b, web("/2"), c.is)
		if r := compare(t, a, b, diff.Options{}); r.Counts.Of(c.want) != 1 {
			t.Errorf("%d: %v, want one %s", i, r.Counts, c.want)
		}
	}
}

// A page has no target, even if its answer has a Location. A redirect in both crawls has both
// targets, from pages.jsonl or from the archive.
func TestOnlyARedirectLeadsElsewhere(t *testing.T) {
	t.Parallel()
	answer := func(status int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			w.Write([]byte("<p>a page"))
		}
	}
	web := func(page, leads http.HandlerFunc) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("").Page("/", "<a href=/page></a><a href=/leads></a>").
				Func("/page", page).Func("/leads", leads).Page("/1", "1").Page("/2", "2")
		}
	}
	for place, output := range map[string][]crawler.Output{
		"http://a.example/2": {crawler.OutputWARC}, "http://a.example/3": {crawler.OutputWARC, crawler.OutputPages},
	} {
		a, b := two(t, web(answer(200, "/1"), answer(302, "/1")), web(answer(302, "/2"), answer(302, "/2")), func(o *crawler.Options) { o.Output = output })
		if len(output) > 1 {
			path := filepath.Join(b, store.PagesFile)
			lines, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.ReplaceAll(lines, []byte(`"http://a.example/2"`), []byte(`"`+place+`"`)), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r := compare(t, a, b, diff.Options{})
		for path, want := range map[string][2]string{"/page": {"", place}, "/leads": {"http://a.example/1", place}} {
			c := r.changes["http://a.example"+path]
			if got := [2]string{c.Was.Location, c.Is.Location}; got != want || c.Kind != diff.Redirected {
				t.Errorf("%v, %s: %q, want %q: %+v", output, path, got, want, c)
			}
		}
	}
}
