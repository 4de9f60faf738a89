package crawler_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// accountOf opens the account of the crawl in dir. It is closed at the end of the test.
func accountOf(t *testing.T, dir string) *account.Account {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// codes returns the codes of the URLs of a site, in the order in which they were
// found.
func codes(t *testing.T, a *account.Account, site frontier.Site) (all []string) {
	t.Helper()
	for l, err := range a.List(site) {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(frontier.Fates(), l.Code) {
			t.Errorf("%s has the code %q, which is unknown", l.URL, l.Code)
		}
		all = append(all, fmt.Sprintf("%s %s %s", l.URL.Target(), l.Code, l.Reason))
	}
	return all
}

// An account applies the budget, the limits and the defaults of the last run.
func TestCodesDependOnTheSettingsOfTheLastRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*crawler.Options)
		want   string
	}{
		"limit":    {func(o *crawler.Options) { o.Limit = 1 }, "/b limit "},
		"bytes":    {func(o *crawler.Options) { o.MaxBytes = 1 }, "/ limit "},
		"budget":   {func(o *crawler.Options) { o.MaxHostPages = 1 }, "/b budget max-host-pages 1"},
		"no limit": {func(*crawler.Options) {}, "/b fetched status 200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", `<a href="/b">`).Page("/b", "y")
				dir := t.TempDir()
				crawl(t, w, func(o *crawler.Options) {
					o.Dir = dir
					c.change(o)
				}, "http://a.example/")
				a := accountOf(t, dir)
				if got := codes(t, a, "http://a.example"); len(got) == 0 || got[len(got)-1] != c.want {
					t.Errorf("%q, want %q as the last", got, c.want)
				}
				if s, ok := a.Stored(); !ok || s.Options.Identity.Token == "" {
					t.Errorf("%+v, %v", s, ok)
				}
				if got := codes(t, a, "http://none.example"); got != nil {
					t.Errorf("a site that is not known has %q", got)
				}
			})
		})
	}
}

// The account of a running crawl can be read, and neither the reader nor the crawl waits for the
// other.
func TestARunningCrawlGivesAccount(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
		t.Fatal(err)
	}
	for settled := 0; settled == 0; {
		g := <-db.Grown()
		if settled = g.Settled; g.Err != nil {
			t.Fatal(g.Err)
		}
	}
	a, err := account.New(&db.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Explain(u)
	if err != nil || x.Code != frontier.Queued || way(x) != "seed http://a.example/" {
		t.Errorf("%+v, %v", x, err)
	}
	if got := codes(t, a, u.Site()); !slices.Equal(got, []string{"/ queued "}) {
		t.Errorf("%q", got)
	}
	other, _ := frontier.ParseURL("http://b.example/")
	if x, err := a.Explain(other); err != nil || x.Known || x.Code != frontier.Unknown {
		t.Errorf("no run has begun: %+v, %v", x, err)
	}
}
