package crawler_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// A crawl needs a seed from its options or from Add. It needs none if it continues an earlier run,
// or if Limits.Open is set.
func TestACrawlWithoutSeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">`).Page("/1", "")
		dir := filepath.Join(t.TempDir(), "crawl")
		made := func(dir string) *crawler.Crawler {
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Dir: dir, Wire: crawler.Wire{Network: w}})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		for _, dir := range []string{"", dir} {
			var bad *crawler.OptionError
			if err := made(dir).Run(t.Context(), nil); !errors.As(err, &bad) || bad.Field != "Seeds" || !strings.Contains(bad.Reason, "give at least one URL") {
				t.Errorf("%q: %v", dir, err)
			}
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("a refused crawl has left its directory: %v", err)
		}
		if _, err := crawler.PlanOf(t.Context(), crawler.Options{Identity: testIdentity}); err == nil {
			t.Error("there is a plan without seeds")
		}

		c := made(dir)
		if err := errors.Join(c.Allow(func(l *crawler.Limits) { l.Pages = 1 }), second(c.Add("http://a.example/")), c.Run(t.Context(), nil)); err != nil {
			t.Fatal(err)
		}
		w.AssertFetched("http://a.example/")
		if err := made(dir).Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.AssertFetched("http://a.example/", "http://a.example/1")

		c = made("")
		if err := c.Allow(func(l *crawler.Limits) { l.Open = true }); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), nil) }()
		time.Sleep(time.Hour)
		if err := second(c.Add("http://a.example/1")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		c.Stop()
		if err := <-ended; err != nil || w.Fetched("http://a.example/1") != 2 {
			t.Errorf("%v; %d requests", err, w.Fetched("http://a.example/1"))
		}
		w.AssertPolite()
	})
}

// A run without seeds follows links in the scope of the seeds of earlier runs.
func TestARunWithoutSeedsKeepsItsScope(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scope crawler.Scope
		pages int // number of pages of the second run
	}{
		"host": {crawler.SameHost(), 3}, "domain": {crawler.SameDomain(), 3}, "prefix": {crawler.SamePrefix(), 2}, "list": {crawler.SeedsOnly(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/x/", "").Page("/x/1", `<a href="/x/2"></a><a href="/3"></a><a href="http://b.example/"></a>`).Page("/x/2", "").Page("/3", "")
				run := func(limit int, seeds ...string) int {
					c := newCrawl(t, w, func(o *crawler.Options) { o.Dir, o.Scope, o.Limit = dir, test.scope, limit }, seeds...)
					if err := c.Run(t.Context(), nil); err != nil {
						t.Error(err)
					}
					return c.Summary().Fetched
				}
				if n := run(1, "http://a.example/x/", "http://a.example/x/1"); n != 1 {
					t.Errorf("%d pages", n)
				}
				if n := run(0); n != test.pages {
					t.Errorf("%d pages in the second run, want %d", n, test.pages)
				}
				w.AssertPolite()
			})
		})
	}
}
