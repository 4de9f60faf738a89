package crawler_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// If a rescan was stopped, the next run repeats it even without Rescan. The run after that does
// not.
func TestAnUnfinishedRescanIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func(depth int, rescan, stop bool) (start crawler.Start, fetched []string, rescanned int) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href="/1">1</a>`).Page("/1", `<a href="/2">2</a>`).Page("/2", "x")
			opts := crawler.Options{
				Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Dir: dir, Wire: crawler.Wire{Network: w},
				Seeds: []string{"http://a.example/"}, Follow: crawler.Follow{Depth: depth}, Keep: crawler.Keep{Rescan: rescan},
			}
			var c *crawler.Crawler
			opts.OnStart = func(s crawler.Start) {
				if start = s; stop {
					c.Stop()
				}
			}
			var err error
			if c, err = crawler.New(opts); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(context.Background(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				fetched = append(fetched, p.URL.String())
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			return start, fetched, c.Summary().Rescanned
		}
		run(1, false, false)
		if start, urls, _ := run(2, true, true); start.Rescan || slices.Contains(urls, "http://a.example/2") {
			t.Errorf("the run that was stopped: %+v, %v", start, urls)
		}
		if start, urls, n := run(2, false, false); !start.Rescan || n == 0 || !slices.Contains(urls, "http://a.example/2") {
			t.Errorf("the run after it: %+v, %v, %d pages read again", start, urls, n)
		}
		if start, _, n := run(2, false, false); start.Rescan || n != 0 {
			t.Errorf("the run after that: %+v, %d pages read again", start, n)
		}
	})
}
