package crawler_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/purge"
	"github.com/permesso-crawler/permesso/internal/store"
)

func placeList(t *testing.T, text string) *places.List {
	t.Helper()
	l, err := places.Read(strings.NewReader(text), "list")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// For site owners: "`crawl optout purge DIR` removes from a crawl what was captured
// there before: pages, records, and the links that were found on them."
//
// For site owners: "The log still shows that your server was contacted, and when."
func TestAPurgeRemovesTheCapturesOfPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		same := strings.Repeat("the same body in many places ", 9)
		w.Site("http://out.example").Robots("User-agent: *\nDisallow: /no\n").
			Page("/", `words of out.example <a href="/x">x</a> <a href="http://a.example/late">late</a>`).Page("/x", same).Flaky("/y", "words of y", "", 500)
		w.Site("http://a.example").Page("/", `<a href="http://out.example/">text of a</a><a href="http://out.example/y">y</a>`).Page("/late", same)
		change := func(o *crawler.Options) {
			o.Dir, o.Scope = dir, crawler.Anywhere()
			o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputLinks, crawler.OutputBodies}
		}
		crawl(t, w, change, "http://out.example/x")
		crawl(t, w, change, "http://a.example/")
		list := placeList(t, "out.example # asked by mail")
		purge := &purge.Purge{Dir: dir, Places: list, Problem: func(err error) { t.Error(err) }}
		planned, err := purge.Plan(t.Context())
		if err != nil || planned.Records == 0 || planned.Pages == 0 || planned.Links == 0 || planned.Captures == 0 || planned.By["out.example"] != planned.Taken {
			t.Fatalf("%+v, %v", planned, err)
		}
		time.Sleep(24 * time.Hour)
		now := time.Now().UTC().Truncate(time.Second)
		done, err := purge.Run(t.Context())
		if err != nil || done.Taken != planned.Taken || done.Entries < 3 {
			t.Fatalf("%+v, planned %+v, %v", done, planned, err)
		}
		if broken, _, err := purge.Finish(t.Context()); broken != nil || err != nil {
			t.Error(broken, err)
		}
		v, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) })
		if err != nil || v.Bodiless != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		text := func(name string) string {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		if pages := text(store.PagesFile); strings.Contains(pages, "words of") || !strings.Contains(pages, "text of a") {
			t.Error(pages)
		}
		if log := text(store.LogFile); !strings.Contains(log, " http://out.example/ ") || !strings.Contains(log, " http://out.example/robots.txt ") {
			t.Error(log)
		}
		if links := text(store.LinksFile); strings.Contains(links, `"from":"http://out.example`) || !strings.Contains(links, `"to":"http://out.example/y"`) {
			t.Error(links)
		}
		withAccount(t, dir, func(a *account.Account) {
			for _, url := range []string{"http://out.example/", "http://out.example/x", "http://out.example/y"} {
				if x := explain(t, a, url); x.Code != frontier.OptedOut || x.Reason != "out.example" || !x.Purged.Equal(now) || len(x.Tries) == 0 {
					t.Errorf("%s: %+v", url, x)
				}
			}
			late := explain(t, a, "http://a.example/late")
			if late.Code != frontier.Fetched || !late.Purged.IsZero() || late.SameAs != "http://out.example/x" || !late.Gone.Equal(now) {
				t.Errorf("%+v", late)
			}
			if _, err := a.Answer(late.URL); !errors.Is(err, account.ErrNoBody) || !strings.Contains(err.Error(), "http://out.example/x, which was purged at ") {
				t.Error(err)
			}
		})
		asked := len(w.Log())
		crawl(t, w, func(o *crawler.Options) {
			change(o)
			o.OptOut = list.Why
		}, "http://a.example/")
		for _, r := range w.Log()[asked:] {
			if strings.HasPrefix(r.URL(), "http://out.example/") {
				t.Errorf("%s was requested again", r.URL())
			}
		}
		withAccount(t, dir, func(a *account.Account) {
			if x := explain(t, a, "http://out.example/"); !x.Purged.Equal(now) {
				t.Errorf("after another run: %+v", x)
			}
		})
	})
}

// withAccount opens the account of a crawl that is not running, and calls f with it.
func withAccount(t *testing.T, dir string, f func(*account.Account)) {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f(a)
}

// A purge that was interrupted is completed with the places that it has recorded.
func TestAPurgeIsFinishedByItsOwnPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		w.Site("http://out.example").Page("/", "words")
		w.Site("http://a.example").Page("/", "a")
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://out.example/", "http://a.example/")
		now := time.Now().UTC().Truncate(time.Second)
		// This is the file as a purge writes it before it removes anything.
		text := `{"time":"` + now.Format(time.RFC3339) + `"}` + "\n" + `{"place":"out.example"}` + "\n" + `{"end":true}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "purge.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		purge := &purge.Purge{Dir: dir, Places: placeList(t, "a.example")}
		var broken *store.PurgeError
		if _, err := purge.Run(t.Context()); !errors.As(err, &broken) {
			t.Fatal(err)
		}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: []string{"http://a.example/"}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); !errors.As(err, &broken) {
			t.Errorf("a run: %v", err)
		}
		finished, done, err := purge.Finish(t.Context())
		if err != nil || finished == nil || !finished.Time.Equal(now) || done.Entries != 1 {
			t.Fatalf("%+v, %+v, %v", finished, done, err)
		}
		if x := explain(t, accountOf(t, dir), "http://out.example/"); !x.Purged.Equal(now) || x.Fate.Code != frontier.OptedOut {
			t.Errorf("%+v", x)
		}
		if x := explain(t, accountOf(t, dir), "http://a.example/"); x.Code != frontier.Fetched {
			t.Errorf("%+v", x)
		}
	})
}

// A purge fails and removes nothing if its context is nil or has ended.
func TestAPurgeNeedsAContext(t *testing.T) {
	purge := &purge.Purge{Dir: t.TempDir(), Places: new(places.List)}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(context.Context) error{
		"Plan":   func(ctx context.Context) error { _, err := purge.Plan(ctx); return err },
		"Run":    func(ctx context.Context) error { _, err := purge.Run(ctx); return err },
		"Finish": func(ctx context.Context) error { _, _, err := purge.Finish(ctx); return err },
	} {
		if err := call(nil); err == nil || !strings.Contains(err.Error(), "context") {
			t.Errorf("%s of a nil context: %v", name, err)
		}
		if err := call(ended); name != "Finish" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s of a context that has ended: %v", name, err)
		}
	}
}
