package crawler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// Add returns the number of seeds that the crawl has not found before. It does so before and during
// a run, with and without a directory.
func TestAddCountsNewSeeds(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href=/linked>1</a>`).Page("/linked", "").Page("/more", "").Page("/early", "")
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Dir: dir, Wire: crawler.Wire{Network: w}}
			o.Same = crawler.StripTracking
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			count := func(want int, seeds ...string) {
				t.Helper()
				if n, err := c.Add(seeds...); n != want || err != nil {
					t.Errorf("Add(%q) = %d, %v, want %d", seeds, n, err, want)
				}
			}
			count(1, "http://a.example/early", "http://a.example/early?utm_source=x", "http://a.example/")
			count(0, "http://a.example/early")
			count(0)
			if err := c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
				if p.URL.Target() != "/linked" {
					return nil
				}
				time.Sleep(time.Second) // until the URLs that were found are committed
				count(0, "http://a.example/", "http://a.example/linked", "http://a.example/linked?utm_source=x", "http://a.example/early")
				count(1, "http://a.example/more", "http://a.example/", "http://a.example/more")
				if n, err := c.Add("http://a.example/new", "no seed"); n != 0 || err == nil {
					t.Errorf("with an invalid seed: %d, %v", n, err)
				}
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Add("http://a.example/late"); n != 0 || !errors.Is(err, crawler.ErrEnded) {
				t.Errorf("after the end: %d, %v", n, err)
			}
			w.AssertFetched("http://a.example/", "http://a.example/early", "http://a.example/linked", "http://a.example/more")
		})
	}
}

// Lookup returns the fate of a URL while the crawl runs.
func TestLookup(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no").Status("/gone", 404).
			Page("/", `<a href=/no>1</a><a href=/busy>2</a><a href=/gone>3</a><a href=/middle>4</a><a href=/queued>5</a>`).
			Flaky("/busy", "", "100", 503).Page("/middle", "").Page("/queued", "")
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Dir: dir, Wire: crawler.Wire{Network: w}}
		o.Same = crawler.StripTracking
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Lookup("http://a.example/"); !errors.Is(err, crawler.ErrEnded) {
			t.Errorf("before the run: %v", err)
		}
		if err := c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			if p.URL.Target() != "/middle" {
				return nil
			}
			time.Sleep(time.Second) // until the URLs that were found are committed
			for url, want := range map[string]frontier.Code{
				"http://a.example/": frontier.Fetched, "http://a.example/?utm_source=x": frontier.Fetched,
				"http://a.example/no": frontier.RobotsDisallowed, "http://a.example/busy": frontier.Waiting,
				"http://a.example/gone": frontier.Fetched, "http://a.example/queued": frontier.Undecided, "http://a.example/middle": frontier.Undecided,
			} {
				if fate, ok, err := c.Lookup(url); !ok || err != nil || fate.Code != want {
					t.Errorf("%s: %v, %v, %v, want %v", url, fate.Code, ok, err, want)
				}
			}
			if fate, ok, err := c.Lookup("http://a.example/none"); ok || err != nil || fate.Code != frontier.Undecided {
				t.Errorf("a URL that was not found: %v, %v, %v", fate, ok, err)
			}
			var bad *crawler.OptionError
			if _, ok, err := c.Lookup("no URL"); ok || !errors.As(err, &bad) {
				t.Errorf("no URL: %v, %v", ok, err)
			}
			return nil
		})); err != nil {
			t.Fatal(err)
		}
	})
}
